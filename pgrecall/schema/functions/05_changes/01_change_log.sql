-- The log of changes. Its order is (era, xid, id), where xid is the number of the transaction and id that of the row. A
-- change can be read only when no transaction with a smaller number is in progress, so no earlier change can appear
-- later.

-- change_kinds: the kinds of changes that readers get. Readers should ignore unknown kinds, because later versions may
-- log more.
CREATE OR REPLACE FUNCTION recall_private.change_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['new', 'rewritten', 'archived', 'restored', 'superseded', 'merged', 'deleted', 'risen', 'faded'];

-- change_era: the era in which this server logs changes of a tenant. A new era begins when a dump is restored to another
-- server or the tenant has moved to one, where transaction numbers are others, and after a failover or a recovery to an earlier
-- time, which can repeat numbers. The first writer of an era makes other writers of the tenant wait until it commits, and can be
-- in a deadlock with them. An installation begins the first era, for all tenants (`*`).
CREATE OR REPLACE FUNCTION recall_private.change_era(p_tenant text) RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_here text := (SELECT c.system_identifier FROM pg_control_system() c)
                   || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
    v_known jsonb;
BEGIN
    LOOP
        v_known := recall_private.setting_value(p_tenant, 'changes.era');
        IF v_known ->> 'server' = v_here THEN
            RETURN v_known -> 'era';
        END IF;
        INSERT INTO recall.setting AS s (tenant, name, value)
        VALUES (p_tenant, 'changes.era', jsonb_build_object('era', coalesce((v_known -> 'era')::int, 0) + 1, 'server', v_here))
        ON CONFLICT (tenant, name) DO UPDATE SET value = jsonb_build_object(
            'era', (s.value -> 'era')::int + 1, 'server', v_here)
        WHERE s.value ->> 'server' <> v_here;
    END LOOP;
END $$;

-- log_changes: logs a change of this kind for each of these memories. p_other is the memory that replaces them.
CREATE OR REPLACE FUNCTION recall_private.log_changes(
    p_tenant text, p_ids bigint[], p_kind text, p_at timestamptz, p_other bigint DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_era int;
BEGIN
    IF cardinality(p_ids) > 0 THEN
        v_era := recall_private.change_era(p_tenant);
        INSERT INTO recall.memory_change (tenant, era, memory_id, kind, at, other_id)
        SELECT p_tenant, v_era, u.id, p_kind, p_at, p_other
        FROM unnest(p_ids) WITH ORDINALITY u(id, place) WHERE u.id IS NOT NULL ORDER BY u.place;
    END IF;
END $$;

-- expire_changes (worker; Versions and changes): deletes up to p_limit changes of this tenant that are older than the
-- setting changes.days. Returns how many. Records the position of the last one, so that readers with an older cursor
-- are refused. A change with a time of long ago stays until those before it go, and one with a time that is yet to come
-- holds up none.
CREATE OR REPLACE FUNCTION recall.expire_changes(p_limit int DEFAULT 1000, p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_before timestamptz := recall_private.require_moment(p_now) - make_interval(
        secs => 86400 * recall_private.setting_number(v_tenant, 'changes.days'));
    v_gone bigint;
    v_last record;
BEGIN
    WITH oldest AS MATERIALIZED (
        SELECT c.era, c.xid, c.id, c.at FROM recall.memory_change c
        WHERE c.tenant = v_tenant AND c.memory_id IS NOT NULL AND c.at <= p_now
        ORDER BY c.era, c.xid, c.id LIMIT recall_private.require_limit(p_limit) FOR UPDATE SKIP LOCKED
    ), expired AS (
        SELECT o.*, bool_and(o.at < v_before) OVER (ORDER BY o.era, o.xid, o.id) AS whole FROM oldest o
    ), gone AS (
        DELETE FROM recall.memory_change c USING expired o
        WHERE c.tenant = v_tenant AND (c.era, c.xid, c.id) = (o.era, o.xid, o.id) AND o.whole
        RETURNING c.era, c.xid, c.id
    )
    SELECT g.*, count(*) OVER () AS many INTO v_last FROM gone g ORDER BY g.era DESC, g.xid DESC, g.id DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    v_gone := v_last.many;
    DELETE FROM recall.memory_change c
    WHERE c.tenant = v_tenant AND c.memory_id IS NULL AND (c.era, c.xid, c.id) < (v_last.era, v_last.xid, v_last.id);
    INSERT INTO recall.memory_change (tenant, era, xid, id, kind, at) OVERRIDING SYSTEM VALUE
    VALUES (v_tenant, v_last.era, v_last.xid, v_last.id, 'expired', p_now) ON CONFLICT DO NOTHING;
    RETURN v_gone;
END $$;
