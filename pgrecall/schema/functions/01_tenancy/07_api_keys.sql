-- Keys of the HTTP service. A key acts for the tenant that created it and for no other. The database receives only its
-- SHA-256 digest, so no log of the server can contain the key. A slow digest would protect nothing: 256 random bits
-- cannot be guessed.

-- check_key: raises an error for a name or a digest that no key can have.
CREATE OR REPLACE FUNCTION recall_private.check_key(p_name text, p_hash bytea) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF coalesce(length(btrim(p_name)), 0) NOT BETWEEN 1 AND 200 THEN
        PERFORM recall_private.raise_invalid(format('The name of a key has 1 to 200 characters, not %s.',
            coalesce(length(btrim(p_name)), 0)), 'Name it after the person or program that uses it.');
    ELSIF octet_length(p_hash) IS DISTINCT FROM 32 THEN
        PERFORM recall_private.raise_invalid('The digest of a key has 32 bytes.', 'Give sha256 of the key.');
    END IF;
END $$;

-- check_also_reads: raises an error for what cannot be the shared tenants of a key. Whether they are shared is asked at every
-- search, because that changes.
CREATE OR REPLACE FUNCTION recall_private.check_also_reads(p_tenant text, p_also_reads text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_wrong text := (
        SELECT coalesce(u, 'NULL') FROM unnest(recall_private.require_one_dimension(p_also_reads)) u
        WHERE u IS NULL OR length(u) NOT BETWEEN 1 AND 200 OR u IN ('*', p_tenant) LIMIT 1);
BEGIN
    IF v_wrong IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('%s cannot be a tenant that tenant %s also reads.',
            left(quote_literal(v_wrong), 100), p_tenant), 'Name other tenants, each by 1 to 200 characters.');
    ELSIF cardinality(p_also_reads) > 10
       OR cardinality(p_also_reads) > (SELECT count(DISTINCT u) FROM unnest(p_also_reads) u) THEN
        PERFORM recall_private.raise_invalid('A key also reads at most 10 tenants, each named once.');
    END IF;
END $$;

-- create_key (app; Keys of the HTTP service): stores the digest of a new key of this tenant and returns its row,
-- without the digest. p_read_only is for keys that begin with `pgr_read_`, with which the service allows only reading.
-- p_also_reads names the shared tenants that its searches also rank, in this order, where they are shared with this
-- tenant (add_reader).
CREATE OR REPLACE FUNCTION recall.create_key(
    p_name text, p_hash bytea, p_now timestamptz DEFAULT now(), p_read_only boolean DEFAULT false,
    p_also_reads text[] DEFAULT '{}'
) RETURNS TABLE (
    id bigint, name text, created_at timestamptz, last_used_at timestamptz, revoked_at timestamptz, read_only boolean,
    also_reads text[]
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.check_key(p_name, p_hash), recall_private.require_moment(p_now),
        recall_private.check_also_reads(v_tenant, p_also_reads);
    RETURN QUERY
    INSERT INTO recall.api_key AS k (tenant, name, hash, created_at, read_only, also_reads)
    VALUES (v_tenant, btrim(p_name), p_hash, p_now, coalesce(p_read_only, false), coalesce(p_also_reads, '{}'))
    RETURNING k.id, k.name, k.created_at, k.last_used_at, k.revoked_at, k.read_only, k.also_reads;
EXCEPTION WHEN unique_violation THEN  -- the message of Postgres would reveal that another tenant has this digest
    PERFORM recall_private.raise_invalid('This digest cannot be stored.', 'Create another key.');
END $$;

-- revoke_key (app; Keys of the HTTP service): revokes a key. Returns false if it was revoked before.
CREATE OR REPLACE FUNCTION recall.revoke_key(p_id bigint, p_now timestamptz DEFAULT now()) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_moment(p_now);
    UPDATE recall.api_key k SET revoked_at = p_now
    WHERE k.tenant = v_tenant AND k.id = p_id AND k.revoked_at IS NULL;
    IF FOUND THEN
        RETURN true;
    ELSIF NOT EXISTS (SELECT FROM recall.api_key k WHERE k.tenant = v_tenant AND k.id = p_id) THEN
        PERFORM recall_private.raise_invalid(format('There is no key %s in this tenant.', coalesce(p_id::text, 'NULL')),
            '`pgrecall keys list` shows them.');
    END IF;
    RETURN false;
END $$;

-- keys (app; Keys of the HTTP service): the keys of this tenant, newest first, including revoked keys.
CREATE OR REPLACE FUNCTION recall.keys()
RETURNS TABLE (
    id bigint, name text, created_at timestamptz, last_used_at timestamptz, revoked_at timestamptz, read_only boolean,
    also_reads text[]
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT k.id, k.name, k.created_at, k.last_used_at, k.revoked_at, k.read_only, k.also_reads FROM recall.api_key k
    WHERE k.tenant = (SELECT recall_private.own_tenant())
    ORDER BY k.id DESC
$$;

-- has_active_key (app; Keys of the HTTP service): whether any tenant that lives here, and that this role may act for,
-- has a key that is not revoked. The service checks this at its start.
CREATE OR REPLACE FUNCTION recall.has_active_key() RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM (SELECT recall_private.bound_tenant() AS tenant OFFSET 0) b
        JOIN recall.api_key k ON b.tenant IN (k.tenant, '*')
        WHERE k.revoked_at IS NULL AND recall_private.lives_here(k.tenant));
END $$;

-- key_holder (app; Keys of the HTTP service): the tenant and id of the key with this digest, and the shared tenants
-- that its searches also rank. Returns no row if the key is unknown or revoked, or if it belongs to another tenant than
-- the one that the role is bound to. No tenant needs to be set, because this finds it. Records the time of the use at
-- most once a minute, if the database can be written to.
CREATE OR REPLACE FUNCTION recall.key_holder(p_hash bytea, p_now timestamptz DEFAULT now())
RETURNS TABLE (tenant text, id bigint, also_reads text[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_key recall.api_key;
BEGIN
    SELECT * INTO v_key FROM recall.api_key k
    WHERE k.hash = p_hash AND k.revoked_at IS NULL AND recall_private.bound_tenant() IN (k.tenant, '*');
    IF NOT FOUND OR NOT recall_private.lives_here(v_key.tenant) THEN
        RETURN;
    END IF;
    IF coalesce(v_key.last_used_at NOT BETWEEN p_now - interval '1 minute' AND p_now + interval '1 minute', true)
       AND NOT current_setting('transaction_read_only')::boolean AND NOT recall_private.is_moving(v_key.tenant) THEN
        -- SKIP LOCKED: a transaction that holds the row is recording the same.
        PERFORM FROM recall.api_key k WHERE k.tenant = v_key.tenant AND k.id = v_key.id FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE recall.api_key k SET last_used_at = p_now WHERE k.tenant = v_key.tenant AND k.id = v_key.id;
        END IF;
    END IF;
    RETURN QUERY SELECT v_key.tenant, v_key.id, v_key.also_reads;
END $$;
