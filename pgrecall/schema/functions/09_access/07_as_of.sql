-- Vitality at a past time, computed from the log and the histories with the current rates and settings. An access
-- counts from its own time on, whenever it was recorded.

-- was_archived: whether a memory was archived at that moment.
CREATE OR REPLACE FUNCTION recall_private.was_archived(p_tenant text, p_memory_id bigint, p_as_of timestamptz)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM recall.archival v
        WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.archived_at <= p_as_of
          AND (v.restored_at IS NULL OR v.restored_at > p_as_of))
$$;

-- references_as_of: the references to these memories (NULL means all) that existed at p_as_of, from memories that were
-- live then.
CREATE OR REPLACE FUNCTION recall_private.references_as_of(p_tenant text, p_ids bigint[], p_as_of timestamptz)
RETURNS TABLE (src bigint, dst bigint, created_at timestamptz)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT l.src, l.dst, l.created_at
    FROM (
        SELECT k.src, k.dst, k.relation, k.created_at FROM recall.link k
        WHERE k.tenant = p_tenant AND p_ids IS NULL
        UNION ALL
        -- A condition for both cases would read all links for one memory.
        SELECT k.src, k.dst, k.relation, k.created_at FROM recall.link k
        WHERE k.tenant = p_tenant AND k.dst = ANY (p_ids)
        UNION ALL
        SELECT h.src, h.dst, h.relation, h.created_at FROM recall.link_history h
        WHERE h.tenant = p_tenant AND p_ids IS NULL AND h.removed_at > p_as_of
        UNION ALL
        SELECT h.src, h.dst, h.relation, h.created_at FROM recall.link_history h
        WHERE h.tenant = p_tenant AND h.dst = ANY (p_ids) AND h.removed_at > p_as_of
    ) l
    WHERE l.created_at <= p_as_of AND recall_private.is_reference(l.relation)
      AND NOT recall_private.was_archived(p_tenant, l.src, p_as_of)
$$;

-- activations_as_of: the activation rows of these memories (NULL means all) as they were at p_as_of, for memories that
-- existed then. `protected` means that the protection floor applied, including pins. Without p_with_spread, spread is 0,
-- because computing it reads the whole log.
CREATE OR REPLACE FUNCTION recall_private.activations_as_of(
    p_tenant text, p_ids bigint[], p_as_of timestamptz, p_with_spread boolean DEFAULT true
) RETURNS SETOF recall.activation
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    WITH summary AS MATERIALIZED (
        SELECT g.* FROM (
            SELECT array_agg(e.memory_id) AS ids, count(*)::int AS many FROM (
                SELECT a.memory_id FROM recall.activation a WHERE a.tenant = p_tenant AND p_ids IS NULL
                UNION ALL
                SELECT a.memory_id FROM recall.activation a
                WHERE a.tenant = p_tenant AND a.memory_id = ANY (p_ids)) e) d
        CROSS JOIN LATERAL recall_private.summarize_accesses(
            p_tenant, d.ids, array_fill('-infinity'::timestamptz, ARRAY[d.many]),
            array_fill(p_as_of, ARRAY[d.many]), array_fill(0, ARRAY[d.many])) g
        WHERE g.units > 0
    ), reference AS (
        SELECT r.dst, count(DISTINCT r.src) AS in_degree, recall_private.epoch(max(r.created_at)) AS last_linked_at
        FROM recall_private.references_as_of(p_tenant, p_ids, p_as_of) r GROUP BY r.dst
    ), spreading AS (
        SELECT * FROM recall_private.spread_as_of(p_tenant, p_ids, p_as_of) WHERE p_with_spread
    )
    SELECT x.*
    FROM summary s
    JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = s.memory_id
    LEFT JOIN reference r ON r.dst = s.memory_id
    LEFT JOIN spreading p ON p.memory_id = s.memory_id
    LEFT JOIN LATERAL (
        SELECT c.floored FROM recall.floor_change c
        WHERE c.tenant = p_tenant AND c.memory_id = s.memory_id AND c.at <= p_as_of
        ORDER BY c.at DESC, c.id DESC LIMIT 1) f ON true
    CROSS JOIN LATERAL jsonb_populate_record(a, jsonb_build_object(
        'n', s.units, 'first_at', s.first_at, 't1', s.newest[1], 't2', s.newest[2], 't3', s.newest[3],
        't4', s.newest[4], 't5', s.newest[5], 't6', s.newest[6], 't7', s.newest[7], 't8', s.newest[8],
        'credit', s.credit, 'in_degree', coalesce(r.in_degree, 0), 'last_linked_at', r.last_linked_at,
        'spread', coalesce(p.boost[1], 0), 'spread_at', p.boost[2],
        'protected', coalesce(f.floored, false))) x;
END $$;

-- vitality_as_of (reader; Vitality): every term of a memory's vitality at a past moment, as explain_vitality returned
-- it then. No row if the memory did not exist yet.
CREATE OR REPLACE FUNCTION recall.vitality_as_of(p_memory_id bigint, p_as_of timestamptz)
RETURNS TABLE (
    accesses bigint, recent double precision, tail double precision, spread double precision,
    revival double precision, activation double precision, base double precision,
    vitality double precision, retention double precision, zone text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT t.*
    FROM (SELECT recall.current_tenant() AS tenant, recall_private.require_moment(p_as_of) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall_private.vitality_weights(c.tenant) AS w OFFSET 0) x
    CROSS JOIN LATERAL recall_private.activations_as_of(c.tenant, ARRAY[p_memory_id], c.moment) a
    JOIN recall.memory m ON m.tenant = c.tenant AND m.id = p_memory_id
    JOIN recall_private.effective_layers(c.tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall_private.vitality_terms(a, false, l, x.w, c.moment) t
$$;

-- zones_as_of (reader; Vitality): how many live memories each layer had in each zone at a past moment, by layer and
-- zone.
CREATE OR REPLACE FUNCTION recall.zones_as_of(p_as_of timestamptz)
RETURNS TABLE (layer text, zone text, memories bigint)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.layer, t.zone, count(*)
    FROM (SELECT recall.current_tenant() AS tenant, recall_private.require_moment(p_as_of) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall_private.vitality_weights(c.tenant) AS w OFFSET 0) x
    CROSS JOIN LATERAL recall_private.activations_as_of(c.tenant, NULL, c.moment) a
    JOIN recall.memory m ON m.tenant = c.tenant AND m.id = a.memory_id
    JOIN recall_private.effective_layers(c.tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall_private.vitality_terms(a, false, l, x.w, c.moment) t
    WHERE NOT recall_private.was_archived(c.tenant, m.id, c.moment)
    GROUP BY m.layer, t.zone ORDER BY m.layer, t.zone
$$;
