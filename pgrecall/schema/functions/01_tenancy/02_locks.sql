-- Locks of a tenant: locks on rows of the table tenant_lock, which only the owner of the schema can reach. Advisory
-- locks would not do: everybody who may log in can read their keys in pg_locks and take them. The purposes are `rules`
-- (layers and language), `vectors`, `vector table`, `lexemes`, `dedupe`, `import`, `supersede`, `prune`, `redact`,
-- `zones`, `job ...`. The lock `partitions` belongs to `*`.
--
-- A lock has a row of its own once a transaction has held it alone. Until then, transactions that share it lock one of
-- 64 common rows: inserting a row would make the first writer of a tenant exclude all others until it commits. A tenant
-- with a bound role always has its own rows, so a bound role can never hold a common row alone.

-- common_lock: the purpose of the common row used for a lock that has no row of its own.
CREATE OR REPLACE FUNCTION recall_private.common_lock(p_tenant text, p_purpose text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_purpose || ' ' || (hashtextextended(p_tenant, 0) & 63);

-- hold_lock: waits for a row of tenant_lock and holds it alone. Returns false if there is none. The row is written, not only
-- locked: Postgres then refuses it (40001) to a transaction of REPEATABLE READ or SERIALIZABLE that began earlier, which would
-- wait for this one and yet see nothing of what it did.
CREATE OR REPLACE FUNCTION recall_private.hold_lock(p_tenant text, p_purpose text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_writer xid := (SELECT l.xmin FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = p_purpose FOR UPDATE);
BEGIN
    IF v_writer IS DISTINCT FROM pg_current_xact_id()::xid THEN  -- once in a transaction
        UPDATE recall.tenant_lock l SET purpose = l.purpose WHERE l.tenant = p_tenant AND l.purpose = p_purpose;
    END IF;
    RETURN v_writer IS NOT NULL;
END $$;

-- lock_tenant: waits until no other transaction holds the lock of a tenant for this purpose, and holds it alone until
-- this transaction ends.
CREATE OR REPLACE FUNCTION recall_private.lock_tenant(p_tenant text, p_purpose text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
BEGIN
    LOOP
        EXIT WHEN recall_private.hold_lock(p_tenant, p_purpose);
        INSERT INTO recall.tenant_lock (tenant, purpose) VALUES (p_tenant, p_purpose) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            PERFORM recall_private.hold_lock('*', recall_private.common_lock(p_tenant, p_purpose));
            EXIT;
        END IF;
    END LOOP;
END $$;

-- lock_rules: holds the lock of the layers and the language of a tenant alone. Those who store memories share it and leave no
-- trace on it, so a transaction that has chosen an older snapshot cannot learn of memories that these rules must be applied to:
-- raises an error for one.
CREATE OR REPLACE FUNCTION recall_private.lock_rules(p_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
       AND current_setting('transaction_isolation') <> current_setting('default_transaction_isolation') THEN
        PERFORM recall_private.raise_invalid(
            format('A transaction of %s may not see all memories that a layer or a language applies to.',
                   upper(current_setting('transaction_isolation'))),
            'Call this in READ COMMITTED.');
    END IF;
    PERFORM recall_private.lock_tenant(p_tenant, 'rules');
END $$;

-- share_tenant_locks: holds the locks of a tenant for these purposes, sorted by name, until this transaction ends. Any
-- number of transactions can share a lock. Waits for a transaction that holds one alone.
CREATE OR REPLACE FUNCTION recall_private.share_tenant_locks(p_tenant text, p_purposes text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $$
DECLARE
    v_locked bigint;
BEGIN
    PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = ANY (p_purposes)
    ORDER BY l.purpose FOR KEY SHARE;
    GET DIAGNOSTICS v_locked = ROW_COUNT;
    IF v_locked < cardinality(p_purposes) THEN
        PERFORM FROM recall.tenant_lock l
        WHERE l.tenant = '*' AND l.purpose = ANY (ARRAY(SELECT recall_private.common_lock(p_tenant, u) FROM unnest(p_purposes) u))
        ORDER BY l.purpose FOR KEY SHARE;
        -- A transaction that held the common row alone has inserted the tenant's own row, which is locked from then on.
        PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = ANY (p_purposes)
        ORDER BY l.purpose FOR KEY SHARE;
    END IF;
END $$;

-- try_lock_tenant: like lock_tenant, but returns false instead of waiting. For locks that are never shared.
CREATE OR REPLACE FUNCTION recall_private.try_lock_tenant(p_tenant text, p_purpose text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO recall.tenant_lock (tenant, purpose) VALUES (p_tenant, p_purpose) ON CONFLICT DO NOTHING;
    PERFORM FROM recall.tenant_lock l WHERE l.tenant = p_tenant AND l.purpose = p_purpose FOR UPDATE SKIP LOCKED;
    RETURN FOUND;
END $$;
