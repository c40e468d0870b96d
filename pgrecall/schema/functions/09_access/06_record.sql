-- Recording accesses, which are folded in the same transaction. Retrievals that searches log are folded by the job.

-- record_accesses (app; Use and feedback): records accesses of memories and folds each of them into its activation.
-- p_items is a JSON array of {memory_id | key, kind, at, session_id, idempotency_key}. Returns how many were new: an
-- access with a known idempotency key is ignored. The order of arrival does not matter.
CREATE OR REPLACE FUNCTION recall.record_accesses(p_items jsonb, p_now timestamptz DEFAULT now())
RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
    v_partners bigint[];
    v_accesses recall.access[];
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.check_access_forms(p_items);
    PERFORM recall_private.analyze_grown_tables(jsonb_array_length(p_items));
    v_ids := ARRAY(SELECT DISTINCT i.memory_id FROM recall_private.parse_accesses(v_tenant, p_items, p_now) i);
    IF jsonb_path_exists(p_items, '$[*].session_id ? (@ != null)') THEN
        v_partners := recall_private.session_partners(v_tenant, p_items, p_now);
    END IF;
    -- Locked against changes, because a use may restore an archived memory, and until this call has its locks, any of them
    -- can be archived. Partners in the session are locked because a link will refer to them. Restoring a memory changes the
    -- activations of its targets a second time, which checks their keys: so they are locked, and it gets no further ones.
    PERFORM recall_private.lock_around(
        v_tenant, 'SELECT $3 || a.targets AS kept, $2 AS changed, a.archived AS removed '
        'FROM recall_private.archived_with_targets($1, $2) a', v_ids, v_partners);
    -- Checked only now, because a memory may have been deleted while this call waited for locks.
    PERFORM recall_private.check_accesses(v_tenant, p_items, p_now);
    v_accesses := ARRAY(SELECT a FROM recall_private.new_accesses(v_tenant, p_items, p_now) a);
    IF cardinality(v_accesses) > 0 THEN
        PERFORM recall_private.log_and_fold_accesses(v_tenant, v_accesses, v_ids || v_partners, p_now);
    END IF;
    RETURN cardinality(v_accesses);
END $$;

-- archived_with_targets: the archived ones of these memories, and what they link to. One index probe for each.
CREATE OR REPLACE FUNCTION recall_private.archived_with_targets(
    p_tenant text, p_ids bigint[], OUT archived bigint[], OUT targets bigint[]
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    archived := ARRAY(
        SELECT m.id FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            SELECT r.id FROM recall.memory r
            WHERE r.tenant = p_tenant AND r.id = u.id AND r.archived_at IS NOT NULL OFFSET 0) m);
    targets := CASE WHEN archived = '{}' THEN '{}' ELSE ARRAY(
        SELECT l.dst FROM unnest(archived) u(id)
        CROSS JOIN LATERAL (
            SELECT k.dst FROM recall.link k WHERE k.tenant = p_tenant AND k.src = u.id OFFSET 0) l) END;
END $$;

-- record_access (app; Use and feedback): records one access of a memory. Returns false if its idempotency key is known.
CREATE OR REPLACE FUNCTION recall.record_access(
    p_memory_id bigint, p_kind text DEFAULT 'read', p_at timestamptz DEFAULT NULL,
    p_session_id text DEFAULT NULL, p_idempotency_key text DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT recall.record_accesses(jsonb_build_array(jsonb_build_object(
        'memory_id', p_memory_id, 'kind', p_kind, 'at', p_at, 'session_id', p_session_id,
        'idempotency_key', p_idempotency_key)), p_now) = 1
$$;

-- new_accesses: the accesses without a known idempotency key, as rows for the log, in the order of their times, with the
-- amounts that each spreads to its neighbours. They have no ids yet. Stores their idempotency keys.
CREATE OR REPLACE FUNCTION recall_private.new_accesses(p_tenant text, p_items jsonb, p_now timestamptz)
RETURNS SETOF recall.access
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
    WITH wanted AS MATERIALIZED (
        SELECT i.*, row_number() OVER (PARTITION BY i.idempotency_key ORDER BY i.item) AS turn,
               lag(i.at) OVER (PARTITION BY i.memory_id, i.session_id, i.kind ORDER BY i.at, i.item) AS before
        FROM recall_private.parse_accesses(p_tenant, p_items, p_now) i
    ), keyed AS (
        INSERT INTO recall.access_key (tenant, idempotency_key, memory_id)
        SELECT p_tenant, w.idempotency_key, w.memory_id FROM wanted w
        WHERE w.idempotency_key IS NOT NULL AND w.turn = 1
        ORDER BY w.idempotency_key
        ON CONFLICT (tenant, idempotency_key) DO NOTHING
        RETURNING idempotency_key
    )
    SELECT p_tenant, NULL::bigint, w.memory_id, w.kind, w.weight, w.at, w.session_id, p_now, s.ids, s.amounts, NULL::bigint
    FROM wanted w
    LEFT JOIN keyed k ON k.idempotency_key = w.idempotency_key
    LEFT JOIN LATERAL (
        SELECT array_agg(t.id) AS ids, array_agg(t.amount) AS amounts
        FROM recall_private.spread_targets(p_tenant, w.memory_id, least(w.weight, 1), w.at) t
        -- The condition is inside the subquery, so that neighbours are not read if it is false.
        WHERE recall_private.is_active_access(w.kind) AND w.weight > 0 AND w.at > p_now - recall_private.spread_horizon(p_tenant)
          AND NOT recall_private.is_burst_repeat(p_tenant, w.memory_id, w.kind, w.session_id, w.at, w.before)
    ) s ON true
    WHERE w.idempotency_key IS NULL OR (k.idempotency_key IS NOT NULL AND w.turn = 1)
    ORDER BY w.at, w.item;
END $$;

-- log_and_fold_accesses: logs these accesses and folds them. It locks the activations that they change in one order and
-- only then assigns ids, so that boosts, which are at most 1, are added in the order of the log. Then it strengthens
-- associations within sessions among p_memories (locked by the caller), spreads activation, counts sessions, and restores
-- memories that a plan had archived.
CREATE OR REPLACE FUNCTION recall_private.log_and_fold_accesses(
    p_tenant text, p_accesses recall.access[], p_memories bigint[], p_now timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ids bigint[];
    v_since timestamptz[];
    v_spread_to bigint[] := ARRAY(SELECT DISTINCT t FROM unnest(p_accesses) e, unnest(e.spread_to) t);
    v_returning bigint[];
    v_logged bigint[];
BEGIN
    SELECT array_agg(u.id), array_agg(u.since), array_agg(u.id) FILTER (WHERE u.used)
    INTO v_ids, v_since, v_returning
    FROM (
        SELECT e.memory_id AS id, min(e.at) AS since, bool_or(recall_private.is_active_access(e.kind) AND e.weight > 0) AS used
        FROM unnest(p_accesses) e GROUP BY e.memory_id) u;
    v_returning := ARRAY(
        SELECT v.memory_id FROM recall.archival v
        WHERE v.tenant = p_tenant AND v.memory_id = ANY (v_returning) AND v.restored_at IS NULL
          AND v.reason = 'pruned');
    PERFORM recall_private.lock_referenced_activations(p_tenant, v_returning, v_ids || v_spread_to);
    WITH logged AS (
        INSERT INTO recall.access (
            tenant, memory_id, kind, weight, at, session_id, recorded_at, spread_to, spread_by)
        SELECT e.tenant, e.memory_id, e.kind, e.weight, e.at, e.session_id, e.recorded_at, e.spread_to, e.spread_by
        FROM unnest(p_accesses) WITH ORDINALITY e
        ORDER BY e.ordinality
        RETURNING id
    )
    SELECT array_agg(l.id) INTO v_logged FROM logged l;
    IF EXISTS (SELECT FROM unnest(p_accesses) e WHERE e.session_id IS NOT NULL) THEN
        PERFORM recall_private.strengthen_associations(p_tenant, v_logged, p_memories, p_now);
    END IF;
    PERFORM recall_private.apply_spread(p_tenant, v_logged, p_now);
    PERFORM recall_private.count_sessions(p_tenant, v_logged, p_now);
    PERFORM recall_private.fold_memories(p_tenant, v_ids, v_since);
    IF cardinality(v_returning) > 0 THEN
        PERFORM recall_private.restore_memories(p_tenant, v_returning, p_now);
    END IF;
END $$;
