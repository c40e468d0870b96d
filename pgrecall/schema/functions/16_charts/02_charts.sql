-- The data of charts: the accesses of a memory, its vitality in the past and future, the distribution of vitality, and
-- the neighbourhood of a memory in the link graph. Every result has a bounded size.

-- accesses_of (reader; Use and feedback): the newest p_limit (at most 10,000) logged accesses of a memory, newest
-- first, with their logged weights, including repeats and retrievals.
CREATE OR REPLACE FUNCTION recall.accesses_of(p_memory_id bigint, p_limit int DEFAULT 1000)
RETURNS TABLE (id bigint, kind text, weight double precision, at timestamptz, session_id text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT e.id, e.kind, e.weight, e.at, e.session_id
    FROM recall.access e
    WHERE e.tenant = (SELECT recall.current_tenant()) AND e.memory_id = p_memory_id
    ORDER BY e.at DESC, e.id DESC
    LIMIT recall_private.require_between(p_limit, 1, 10000, 'p_limit')
$$;

-- vitality_histogram (reader; Vitality): for each layer with live memories, by name, how many have a vitality in each
-- of p_bins (2 to 200) equal parts of 0 to 1, lowest first.
CREATE OR REPLACE FUNCTION recall.vitality_histogram(p_bins int DEFAULT 20, p_now timestamptz DEFAULT now())
RETURNS TABLE (layer text, memories bigint, counts bigint[])
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH context AS MATERIALIZED (
        SELECT c.tenant, recall_private.epoch(recall_private.require_moment(p_now)) AS moment, recall_private.vitality_weights(c.tenant) AS w,
               recall_private.require_between(p_bins, 2, 200, 'p_bins') AS bins
        FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) c
    ), binned AS MATERIALIZED (
        SELECT m.layer, least(floor(s.activation / (1 + s.activation) * c.bins)::int, c.bins - 1) AS bin,
               count(*) AS memories
        FROM context c
        JOIN recall.memory m ON m.tenant = c.tenant AND m.archived_at IS NULL
        JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
        CROSS JOIN LATERAL (SELECT recall_private.activation_sum(a, c.w, c.moment) AS activation OFFSET 0) s
        GROUP BY m.layer, bin
    )
    SELECT l.layer, l.memories,
           ARRAY(SELECT coalesce(b.memories, 0) FROM context c
                 CROSS JOIN LATERAL generate_series(0, c.bins - 1) g(bin)
                 LEFT JOIN binned b ON b.layer = l.layer AND b.bin = g.bin ORDER BY g.bin)
    FROM (SELECT d.layer, sum(d.memories)::bigint AS memories FROM binned d GROUP BY d.layer) l
    ORDER BY l.layer
$$;

-- vitality_curve (reader; Vitality): vitality, retention and zone of a memory at each of these moments (at most 2,000),
-- by moment. Values up to p_now are those of vitality_as_of; later values assume no further access. Moments before the
-- memory existed are left out.
CREATE OR REPLACE FUNCTION recall.vitality_curve(
    p_memory_id bigint, p_instants timestamptz[], p_now timestamptz DEFAULT now()
) RETURNS TABLE (at timestamptz, vitality double precision, retention double precision, zone text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
    v_layer recall.layer_in_force;
    v_half_life double precision := recall_private.setting_number(v_tenant, 'vitality.spread_half_life_days');
    v_at double precision[];
    v_amounts double precision[];
    v_was recall.activation;
BEGIN
    PERFORM recall_private.require_between(cardinality(p_instants), 0, 2000, 'The number of p_instants');
    PERFORM recall_private.require_moment(u.at) FROM unnest(recall_private.require_one_dimension(p_instants) || p_now) u(at);
    SELECT l.* INTO v_layer
    FROM recall.memory m JOIN recall_private.effective_layers(v_tenant) l ON l.name = m.layer
    WHERE m.tenant = v_tenant AND m.id = p_memory_id;
    -- Reads the boosts from neighbours from the log once, not for each moment.
    SELECT array_agg(recall_private.epoch(e.at) ORDER BY e.id), array_agg(t.amount ORDER BY e.id) INTO v_at, v_amounts
    FROM recall.access e CROSS JOIN LATERAL unnest(e.spread_to, e.spread_by) t(id, amount)
    WHERE e.tenant = v_tenant AND e.spread_to && ARRAY[p_memory_id] AND t.id = p_memory_id;
    -- Planning each time would take longer than execution; this reuses the plan.
    FOR at IN SELECT DISTINCT u.at FROM unnest(p_instants) u(at) WHERE u.at <= p_now ORDER BY u.at LOOP
        FOR v_was IN
            SELECT * FROM recall_private.activations_as_of(v_tenant, ARRAY[p_memory_id], vitality_curve.at, false)
        LOOP
            SELECT coalesce(p.boost[1], 0), p.boost[2] INTO v_was.spread, v_was.spread_at
            FROM (SELECT recall_private.spread_sum(u.amount, u.at, v_half_life ORDER BY u.place) AS boost
                  FROM unnest(v_at, v_amounts) WITH ORDINALITY u(at, amount, place)
                  WHERE u.at <= recall_private.epoch(vitality_curve.at)) p;
            RETURN QUERY
            SELECT vitality_curve.at, t.vitality, t.retention, t.zone
            FROM recall_private.vitality_terms(v_was, false, v_layer, v_weights, vitality_curve.at) t;
        END LOOP;
    END LOOP;
    RETURN QUERY
    SELECT i.at, t.vitality, t.retention, t.zone
    FROM recall_private.activations_as_of(v_tenant, ARRAY[p_memory_id], p_now) a
    CROSS JOIN (SELECT DISTINCT u.at FROM unnest(p_instants) u(at) WHERE u.at > p_now) i
    CROSS JOIN LATERAL recall_private.vitality_terms(a, false, v_layer, v_weights, i.at) t
    ORDER BY i.at;
END $$;

-- memories_within_hops: the live memories at most p_hops links from a memory, in either direction, each with its
-- distance; the memory itself at 0, even if archived. Only the strongest p_limit links of a memory are followed, from
-- at most p_limit memories of each distance.
CREATE OR REPLACE FUNCTION recall_private.memories_within_hops(p_tenant text, p_memory_id bigint, p_hops int, p_limit int)
RETURNS TABLE (memory_id bigint, hops int)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_known bigint[] := ARRAY[p_memory_id];
    v_rim bigint[] := v_known;
BEGIN
    RETURN QUERY SELECT p_memory_id, 0;
    FOR v_hop IN 1 .. p_hops LOOP
        v_rim := ARRAY(
            SELECT f.other
            FROM unnest(v_rim) WITH ORDINALITY r(id, place)
            CROSS JOIN LATERAL (
                SELECT k.other, k.weight FROM (
                    SELECT o.dst AS other, o.weight FROM recall.link o
                    WHERE o.tenant = p_tenant AND o.src = r.id AND recall_private.is_reference(o.relation)
                    UNION ALL
                    SELECT i.src, i.weight FROM recall.link i
                    WHERE i.tenant = p_tenant AND i.dst = r.id AND recall_private.is_reference(i.relation)) k
                JOIN recall.memory m ON m.tenant = p_tenant AND m.id = k.other AND m.archived_at IS NULL
                WHERE k.other <> ALL (v_known)
                ORDER BY k.weight DESC, k.other LIMIT p_limit) f
            GROUP BY f.other ORDER BY max(f.weight) DESC, min(r.place), f.other LIMIT p_limit);
        RETURN QUERY SELECT u.id, v_hop FROM unnest(v_rim) u(id);
        v_known := v_known || v_rim;
    END LOOP;
END $$;

-- neighbourhood (reader; Links): the neighbourhood of a memory as one document; NULL if there is no such memory.
-- `nodes` are at most p_limit (2 to 500) memories up to p_hops (1 to 3) references away, nearest first, then by falling
-- vitality, each with zone and vitality at p_now, `cut_size` (how many memories it alone keeps connected, at the last
-- count) and whether it is protected or pinned. `links` are all references between them. `left_out` counts the memories
-- beyond p_limit.
CREATE OR REPLACE FUNCTION recall.neighbourhood(
    p_memory_id bigint, p_hops int DEFAULT 2, p_limit int DEFAULT 60, p_now timestamptz DEFAULT now()
) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH context AS MATERIALIZED (
        SELECT c.tenant, recall_private.require_moment(p_now) AS moment, recall_private.vitality_weights(c.tenant) AS w,
               recall_private.require_between(p_hops, 1, 3, 'p_hops') AS hops, recall_private.require_between(p_limit, 2, 500, 'p_limit') AS most
        FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) c
    ), node AS MATERIALIZED (
        SELECT m.id, m.key, m.layer, d.hops, m.pinned, m.archived_at IS NOT NULL AS archived, a.cut_size, a.protected,
               t.vitality, t.zone, row_number() OVER (ORDER BY d.hops, t.vitality DESC, m.id) AS place,
               CASE WHEN m.title <> '' THEN m.title ELSE left(m.body, 200) END AS title
        FROM context c
        CROSS JOIN LATERAL recall_private.memories_within_hops(c.tenant, p_memory_id, c.hops, 10 * c.most) d
        JOIN recall.memory m ON m.tenant = c.tenant AND m.id = d.memory_id
        JOIN recall.activation a ON a.tenant = c.tenant AND a.memory_id = m.id
        JOIN recall_private.effective_layers(c.tenant) l ON l.name = m.layer
        CROSS JOIN LATERAL recall_private.vitality_terms(a, m.pinned, l, c.w, c.moment) t
    ), shown AS MATERIALIZED (
        SELECT n.* FROM node n JOIN context c ON n.place <= c.most
    )
    SELECT jsonb_build_object(
        'nodes', jsonb_agg(to_jsonb(s) - 'place' ORDER BY s.place),
        'links', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                      'source', k.src, 'target', k.dst, 'relation', k.relation, 'weight', k.weight)
                      ORDER BY k.src, k.dst, k.relation), '[]')
                  FROM context c
                  JOIN recall.link k ON k.tenant = c.tenant AND recall_private.is_reference(k.relation)
                      AND k.src IN (SELECT o.id FROM shown o) AND k.dst IN (SELECT o.id FROM shown o)),
        'left_out', (SELECT count(*) FROM node n JOIN context c ON n.place > c.most))
    FROM shown s HAVING count(*) > 0
$$;
