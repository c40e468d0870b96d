-- Grants of OAuth: what a person who signed in to the page lets a client do with the key. One row holds a grant with its
-- tokens, of which the database receives only digests. A token names its grant by 128 random bits and is itself one of 256:
-- `secret` is the digest of the only code or refresh token that may be exchanged now, `access` that of the access token. An
-- exchange replaces both, so that whoever shows an earlier one has copied it, and the grant ends. It also ends with its key,
-- after its time, and when the key has made 20 newer ones.

-- open_grant (app; Keys of the HTTP service): opens a grant for the session of the page whose cookie has the digest
-- p_cookie. p_secret is the digest of the code; p_terms is what the code is bound to, with its scopes. Returns false if
-- this tenant has no such session, or its key is revoked, or may only read where a scope is `write`.
CREATE OR REPLACE FUNCTION recall.open_grant(
    p_cookie bytea, p_digest bytea, p_secret bytea, p_terms jsonb, p_seconds int, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_key bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_between(p_seconds, 1, 600, 'p_seconds'),
        recall_private.require_digests(p_digest, p_secret);
    IF jsonb_typeof(p_terms) IS DISTINCT FROM 'object' OR octet_length(p_terms::text) > 4000 THEN
        PERFORM recall_private.raise_invalid('The terms of a grant are an object of at most 4,000 bytes.');
    END IF;
    SELECT k.id INTO v_key FROM recall.page_session s
    JOIN recall.api_key k ON k.tenant = s.tenant AND k.id = s.key_id
    WHERE s.tenant = v_tenant AND s.digest = p_cookie AND s.ends_at > p_now AND k.revoked_at IS NULL
      AND NOT (k.read_only AND p_terms -> 'scopes' ? 'write')
    FOR NO KEY UPDATE OF k;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM recall.oauth_grant g
    WHERE g.tenant = v_tenant AND g.key_id = v_key AND (g.ends_at <= p_now OR g.digest IN (
        SELECT o.digest FROM recall.oauth_grant o WHERE o.tenant = v_tenant AND o.key_id = v_key
        ORDER BY o.ends_at DESC, o.digest OFFSET 19));
    INSERT INTO recall.oauth_grant (tenant, digest, key_id, secret, terms, ends_at)
    VALUES (v_tenant, p_digest, v_key, p_secret, p_terms, p_now + make_interval(secs => p_seconds));
    RETURN true;
EXCEPTION WHEN unique_violation THEN  -- the message of Postgres would reveal that another tenant has this digest
    PERFORM recall_private.raise_invalid('This digest cannot be stored.', 'Create another code.');
END $$;

-- find_grant (app; Keys of the HTTP service): the grant with this digest, of whichever tenant, and whether p_secret is
-- the digest of a token of it that may be used now; then ends_at is when that ends. also_reads is that of the key.
-- Returns no row if the grant or its key has ended, or if a role that is bound to a tenant asks for a grant of another.
-- Counts as a use of the key.
CREATE OR REPLACE FUNCTION recall.find_grant(p_digest bytea, p_secret bytea, p_now timestamptz DEFAULT now())
RETURNS TABLE (tenant text, terms jsonb, usable boolean, ends_at timestamptz, also_reads text[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_grant recall.oauth_grant;
    v_hash bytea;
BEGIN
    SELECT * INTO v_grant FROM recall.oauth_grant g WHERE g.digest = p_digest AND g.ends_at > p_now;
    SELECT k.hash INTO v_hash FROM recall.api_key k WHERE k.tenant = v_grant.tenant AND k.id = v_grant.key_id;
    RETURN QUERY
    SELECT h.tenant, v_grant.terms,
        v_grant.secret = p_secret OR coalesce(v_grant.access = p_secret AND v_grant.access_ends_at > p_now, false),
        CASE WHEN v_grant.access = p_secret THEN v_grant.access_ends_at ELSE v_grant.ends_at END,
        h.also_reads
    FROM recall.key_holder(v_hash, p_now) h;
END $$;

-- exchange_grant (app; Keys of the HTTP service): replaces the tokens of a grant of this tenant: p_secret, which must
-- be the one that may be exchanged, by p_next, and the access token by p_access. Returns false if there is no such
-- grant, if its key is revoked, or if p_secret was exchanged before, which ends the grant.
CREATE OR REPLACE FUNCTION recall.exchange_grant(
    p_digest bytea, p_secret bytea, p_next bytea, p_access bytea, p_access_seconds int, p_seconds int,
    p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_digests(p_next, p_access),
        recall_private.require_between(p_access_seconds, 1, 86400, 'p_access_seconds'),
        recall_private.require_between(p_seconds, 1, 31536000, 'p_seconds');
    UPDATE recall.oauth_grant g
    SET secret = p_next, access = p_access, access_ends_at = p_now + make_interval(secs => p_access_seconds),
        ends_at = p_now + make_interval(secs => p_seconds)
    WHERE g.tenant = v_tenant AND g.digest = p_digest AND g.secret = p_secret AND g.ends_at > p_now AND EXISTS (
        SELECT FROM recall.api_key k WHERE k.tenant = v_tenant AND k.id = g.key_id AND k.revoked_at IS NULL);
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM recall.close_grant(p_digest);
    RETURN false;
END $$;

-- close_grant (app; Keys of the HTTP service): ends a grant of this tenant with all of its tokens. Returns false if
-- there is none.
CREATE OR REPLACE FUNCTION recall.close_grant(p_digest bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.oauth_grant g WHERE g.tenant = recall.current_tenant() AND g.digest = p_digest;
    RETURN FOUND;
END $$;

-- grant_id: what names a grant to people: the beginning of its digest, of which no token can be made.
CREATE OR REPLACE FUNCTION recall_private.grant_id(p_digest bytea) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(substring(p_digest FOR 8), 'hex');

-- grants (app; Keys of the HTTP service): the OAuth grants of this tenant that have not ended, by key. The id names
-- a grant and is no secret; `client` is what the client calls itself, `redirect` the address that it had the code sent
-- to. A grant that is not used ends at ends_at.
CREATE OR REPLACE FUNCTION recall.grants(p_now timestamptz DEFAULT now()) RETURNS TABLE (
    id text, client text, redirect text, scopes text[], key_id bigint, key_name text, ends_at timestamptz
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT recall_private.grant_id(g.digest), coalesce(g.terms ->> 'client_name', ''), coalesce(g.terms ->> 'redirect_uri', ''),
           ARRAY(SELECT s #>> '{}' FROM jsonb_path_query(g.terms, '$.scopes[*]') s), k.id, k.name, g.ends_at
    FROM (SELECT recall_private.own_tenant() AS tenant, recall_private.require_moment(p_now) AS moment OFFSET 0) c
    JOIN recall.oauth_grant g ON g.tenant = c.tenant AND g.ends_at > c.moment
    JOIN recall.api_key k ON k.tenant = g.tenant AND k.id = g.key_id AND k.revoked_at IS NULL
    ORDER BY k.id, g.ends_at DESC, g.digest
$$;

-- end_grant (app; Keys of the HTTP service): ends the grant with this id, of this tenant, with all of its tokens.
-- Returns false if there is none.
CREATE OR REPLACE FUNCTION recall.end_grant(p_id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.oauth_grant g
    WHERE g.tenant = recall.current_tenant() AND recall_private.grant_id(g.digest) = p_id;
    RETURN FOUND;
END $$;

-- require_digests: raises an error unless both are digests.
CREATE OR REPLACE FUNCTION recall_private.require_digests(p_one bytea, p_other bytea) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF octet_length(p_one) IS DISTINCT FROM 32 OR octet_length(p_other) IS DISTINCT FROM 32 THEN
        PERFORM recall_private.raise_invalid('The digest of a token has 32 bytes.', 'Give sha256 of the token.');
    END IF;
END $$;
