-- Locks of a tenant: locks on rows of the table tenant_lock, which only the owner of the schema reaches. Advisory locks
-- would not do: everybody who may log in reads their keys in pg_locks and can take them. The purposes are `rules`
-- (layers and language), `vectors`, `vector table`, `lexemes`, `dedupe`, `supersede`, `prune`, `zones` and `job ...`;
-- `partitions` of `*`.
--
-- A row exists once somebody has held the lock alone. Until then those who share it lock one of 64 common rows, since
-- inserting a row would make the first writer of a tenant exclude all others until it commits. Tenants with a bound role
-- always have their rows, so what an outsider holds alone is never a common row.

-- common_lock: the purpose of the common row that stands for the lock of a tenant without a row.
CREATE OR REPLACE FUNCTION recall.common_lock(p_tenant text, p_purpose text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_purpose || ' ' || (hashtextextended(p_tenant, 0) & 63);

-- lock_tenant: waits until no other transaction holds the lock of a tenant for this purpose, and holds it alone until
-- this transaction ends.
CREATE OR REPLACE FUNCTION recall.lock_tenant(p_tenant text, p_purpose text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
BEGIN
    LOOP
        PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = p_purpose FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO recall.tenant_lock (tenant, purpose) VALUES (p_tenant, p_purpose) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            PERFORM FROM recall.tenant_lock l
            WHERE l.tenant = '*' AND l.purpose = recall.common_lock(p_tenant, p_purpose) FOR UPDATE;
            EXIT;
        END IF;
    END LOOP;
END $$;

-- share_tenant_locks: holds the locks of a tenant for these purposes, sorted by name, until this transaction ends,
-- together with any number of transactions that share them. Waits for one that holds a lock alone.
CREATE OR REPLACE FUNCTION recall.share_tenant_locks(p_tenant text, p_purposes text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
DECLARE
    v_locked bigint;
BEGIN
    PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = ANY (p_purposes)
    ORDER BY l.purpose FOR KEY SHARE;
    GET DIAGNOSTICS v_locked = ROW_COUNT;
    IF v_locked < cardinality(p_purposes) THEN
        PERFORM FROM recall.tenant_lock l
        WHERE l.tenant = '*' AND l.purpose = ANY (ARRAY(SELECT recall.common_lock(p_tenant, u) FROM unnest(p_purposes) u))
        ORDER BY l.purpose FOR KEY SHARE;
        -- Whoever held the common row alone has inserted the tenant's, which others lock from then on.
        PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = ANY (p_purposes)
        ORDER BY l.purpose FOR KEY SHARE;
    END IF;
END $$;

-- try_lock_tenant: like lock_tenant, but returns false instead of waiting. For locks that nobody shares.
CREATE OR REPLACE FUNCTION recall.try_lock_tenant(p_tenant text, p_purpose text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO recall.tenant_lock (tenant, purpose) VALUES (p_tenant, p_purpose) ON CONFLICT DO NOTHING;
    PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = p_purpose FOR UPDATE SKIP LOCKED;
    RETURN FOUND;
END $$;
