-- Sessions of the page. A key opens a session, and a cookie of 256 random bits identifies it. The database receives only
-- the digest of the cookie. A session ends when its key is revoked, at sign-out, after its time, or when its key has
-- opened 20 newer sessions.

-- open_page_session (app; Keys of the HTTP service): opens a session for the key with the digest p_key_hash and the
-- cookie with the digest p_digest. Returns false if the key is unknown or revoked.
CREATE OR REPLACE FUNCTION recall.open_page_session(
    p_key_hash bytea, p_digest bytea, p_seconds int, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_key record;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_between(p_seconds, 1, 86400, 'p_seconds');
    IF octet_length(p_digest) IS DISTINCT FROM 32 THEN
        PERFORM recall_private.raise_invalid('The digest of a cookie has 32 bytes.', 'Give sha256 of the cookie.');
    END IF;
    SELECT * INTO v_key FROM recall.key_holder(p_key_hash, p_now);
    IF NOT FOUND THEN
        RETURN false;
    ELSIF recall_private.in_cells() THEN
        PERFORM recall_private.require_resident(v_key.tenant);
    END IF;
    PERFORM FROM recall.api_key k WHERE k.tenant = v_key.tenant AND k.id = v_key.id FOR NO KEY UPDATE;
    DELETE FROM recall.page_session s
    WHERE s.tenant = v_key.tenant AND s.key_id = v_key.id AND (s.ends_at <= p_now OR s.digest IN (
        SELECT o.digest FROM recall.page_session o WHERE o.tenant = v_key.tenant AND o.key_id = v_key.id
        ORDER BY o.ends_at DESC, o.digest OFFSET 19));
    INSERT INTO recall.page_session (tenant, digest, key_id, ends_at)
    VALUES (v_key.tenant, p_digest, v_key.id, p_now + make_interval(secs => p_seconds));
    RETURN true;
EXCEPTION WHEN unique_violation THEN
    PERFORM recall_private.raise_invalid('This digest cannot be stored.', 'Create another cookie.');
END $$;

-- page_session_tenant (app; Keys of the HTTP service): the tenant of the session whose cookie has this digest. NULL if
-- there is none, if it has ended, or if its key was revoked. A role that is bound to a tenant finds only sessions of
-- that tenant. Counts as a use of the key.
CREATE OR REPLACE FUNCTION recall.page_session_tenant(p_digest bytea, p_now timestamptz DEFAULT now()) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_hash bytea := (
        SELECT k.hash FROM recall.page_session s
        JOIN recall.api_key k ON k.tenant = s.tenant AND k.id = s.key_id
        WHERE s.digest = p_digest AND s.ends_at > p_now);
BEGIN
    RETURN (SELECT h.tenant FROM recall.key_holder(v_hash, p_now) h);
END $$;

-- close_page_session (app; Keys of the HTTP service): ends the session whose cookie has this digest. Returns false if
-- there is none.
CREATE OR REPLACE FUNCTION recall.close_page_session(p_digest bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := (
        SELECT s.tenant FROM recall.page_session s
        WHERE s.digest = p_digest AND recall_private.bound_tenant() IN (s.tenant, '*'));
BEGIN
    IF v_tenant IS NULL OR NOT recall_private.lives_here(v_tenant) THEN
        RETURN false;
    ELSIF recall_private.in_cells() THEN
        PERFORM recall_private.require_resident(v_tenant);
    END IF;
    DELETE FROM recall.page_session s WHERE s.tenant = v_tenant AND s.digest = p_digest;
    RETURN FOUND;
END $$;
