-- Making prune plans: which memories could be archived, why, and what that does to the links. A new plan changes nothing
-- else. Nested loops are off where whole tenants are read, because the planner expects few rows of a function or an
-- array.

-- live_memories: the live memories of a tenant at p_now, optionally only those of one layer or with these ids.
-- `leaving` is the activation S below which a memory leaves its zone, NULL if there is no lower zone or the protection
-- floor keeps it. `born` is when it was stored (epoch seconds).
CREATE OR REPLACE FUNCTION recall_private.live_memories(
    p_tenant text, p_now timestamptz, p_layer text DEFAULT NULL, p_ids bigint[] DEFAULT NULL
) RETURNS TABLE (
    memory_id bigint, layer text, activation double precision, vitality double precision, zone text,
    leaving double precision, born double precision
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan  -- for some memories or for all
SET enable_nestloop = off AS $$
DECLARE
    v_weights recall.weights := recall_private.vitality_weights(p_tenant);
    v_now double precision := recall_private.epoch(p_now);
BEGIN
    RETURN QUERY
    SELECT m.id, m.layer, s.activation, v.vitality, recall_private.zone_of(r.retention, l),
           CASE WHEN b.bound > 0 AND NOT (s.floored AND v_weights.protection_floor >= b.bound)
                THEN b.bound / (1 - b.bound) END,
           a.first_at
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
    -- OFFSET 0: the activation is computed once for each row, and used several times.
    CROSS JOIN LATERAL (
        SELECT recall_private.activation_sum(a, v_weights, v_now) AS activation, a.protected OR m.pinned AS floored OFFSET 0) s
    CROSS JOIN LATERAL (SELECT s.activation / (1 + s.activation) AS vitality) v
    CROSS JOIN LATERAL (SELECT recall_private.retention_of(v.vitality, s.floored, v_weights) AS retention) r
    CROSS JOIN LATERAL (
        SELECT CASE WHEN r.retention >= l.active THEN l.active WHEN r.retention >= l.stale THEN l.stale
               WHEN r.retention >= l.fading THEN l.fading ELSE 0 END AS bound) b
    WHERE m.tenant = p_tenant AND m.archived_at IS NULL
      AND (p_layer IS NULL OR m.layer = p_layer) AND (p_ids IS NULL OR m.id = ANY (p_ids));
END $$;

-- prune_options: the options of a plan, with the setting for each NULL. Raises an error for an invalid value.
CREATE OR REPLACE FUNCTION recall_private.prune_options(
    p_tenant text, p_max_count int, p_max_share double precision, p_grace_days double precision, p_layers text[]
) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_unknown text;
BEGIN
    PERFORM recall_private.check_setting('prune.max_count', p_max_count),
            recall_private.check_setting('prune.max_share', p_max_share),
            recall_private.check_setting('prune.grace_days', p_grace_days);
    SELECT coalesce(u.name, 'NULL') INTO v_unknown
    FROM unnest(p_layers) WITH ORDINALITY u(name, place) LEFT JOIN recall_private.effective_layers(p_tenant) l ON l.name = u.name
    WHERE l.name IS NULL ORDER BY u.place LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('There is no layer %L.', left(v_unknown, 100)), format('Use %s.', (
            SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM recall_private.effective_layers(p_tenant) l)));
    ELSIF cardinality(p_layers) = 0 THEN
        PERFORM recall_private.raise_invalid('p_layers is empty.', 'Name layers, or give NULL for all of them.');
    END IF;
    RETURN jsonb_build_object(
        'max_count', coalesce(p_max_count, recall_private.setting_number(p_tenant, 'prune.max_count')::int),
        'max_share', coalesce(p_max_share, recall_private.setting_number(p_tenant, 'prune.max_share')),
        'grace_days', coalesce(p_grace_days, recall_private.setting_number(p_tenant, 'prune.grace_days')),
        'revival_days', recall_private.setting_number(p_tenant, 'prune.revival_days'),
        'layers', p_layers);
END $$;

-- prune_candidates (reader; Plans): live memories in the dormant zone of their layer at p_now, lowest vitality first.
-- They are neither pinned nor protected, got no link within prune.revival_days, and were stored and last accessed
-- before the grace period (NULL means the setting). What had happened more than a day before it was stored, as in an
-- import of old notes, was dormant at once: it is a candidate only if any memory was shown or used since, before the
-- grace period, so that it could have been used too. Links are not checked: archiving them may disconnect others.
CREATE OR REPLACE FUNCTION recall.prune_candidates(
    p_grace_days double precision DEFAULT NULL, p_layers text[] DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS TABLE (memory_id bigint, vitality double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET enable_nestloop = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_options jsonb := recall_private.prune_options(v_tenant, NULL, NULL, p_grace_days, p_layers);
    v_now double precision := recall_private.epoch(recall_private.require_moment(p_now));
    v_quiet double precision := v_now - 86400 * (v_options ->> 'grace_days')::double precision;
    v_unlinked double precision := v_now - 86400 * (v_options ->> 'revival_days')::double precision;
    v_in_use double precision;
BEGIN
    -- Of all accesses there is no index by time; a plan reads all memories anyway.
    SELECT recall_private.epoch(max(x.at)) INTO v_in_use FROM recall.access x
    WHERE x.tenant = v_tenant AND x.kind <> 'write' AND recall_private.epoch(x.at) < v_quiet;
    RETURN QUERY
    SELECT v.memory_id, v.vitality
    FROM recall_private.live_memories(v_tenant, p_now) v
    JOIN recall.memory m ON m.tenant = v_tenant AND m.id = v.memory_id
    JOIN recall.activation a ON a.tenant = v_tenant AND a.memory_id = v.memory_id
    WHERE v.zone = 'dormant' AND NOT m.pinned AND NOT a.protected
      AND recall_private.epoch(m.created_at) < v_quiet AND a.t1 < v_quiet
      AND coalesce(a.last_linked_at < v_unlinked, true)
      AND (m.occurred_at >= m.created_at - interval '1 day' OR m.occurred_at IS NULL
           OR recall_private.epoch(m.created_at) < v_in_use)
      AND (p_layers IS NULL OR v.layer = ANY (p_layers))
    ORDER BY v.vitality, v.memory_id;
END $$;

-- plan_prune (app; Plans): stores a plan of what would be archived at p_now and returns its id; nothing else changes.
-- NULL means the setting. Candidates without which a remaining memory would be disconnected stay. Of the others, at
-- most p_max_count and at most p_max_share of the live memories are planned, lowest vitality first where the links
-- allow it. Of expired plans that were never applied, the newest 100 are kept.
CREATE OR REPLACE FUNCTION recall.plan_prune(
    p_max_count int DEFAULT NULL, p_max_share double precision DEFAULT NULL,
    p_grace_days double precision DEFAULT NULL, p_layers text[] DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_options jsonb := recall_private.prune_options(v_tenant, p_max_count, p_max_share, p_grace_days, p_layers);
    v_ids bigint[];
    v_vitalities double precision[];
    v_forest record;
    v_planned bigint[];
    v_plan bigint;
BEGIN
    SELECT array_agg(c.memory_id), array_agg(c.vitality) INTO v_ids, v_vitalities
    FROM recall.prune_candidates(p_grace_days, p_layers, p_now) c;
    SELECT * INTO v_forest FROM recall_private.keep_connected(v_tenant, v_ids, v_vitalities);
    v_planned := ARRAY(
        SELECT u.id FROM unnest(v_forest.nodes, v_forest.removal) u(id, removal)
        WHERE u.removal <= least((v_options ->> 'max_count')::int,
                               recall_private.max_archivable(v_options, cardinality(v_forest.nodes)))
        ORDER BY u.removal);
    -- Waits for transactions that archive or delete one of them, in the order of their locks. Memories that were
    -- deleted meanwhile are not planned.
    PERFORM recall_private.lock_memories(v_tenant, v_planned);
    v_planned := ARRAY(
        SELECT u.id FROM unnest(v_planned) WITH ORDINALITY u(id, place)
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = u.id ORDER BY u.place);
    v_plan := recall_private.add_plan(v_tenant, 'prune', v_options, (
        SELECT jsonb_build_object(
                   'live', cardinality(v_forest.nodes),
                   'eligible', count(*) FILTER (WHERE u.worth < 2),
                   'capped', count(u.removal) - cardinality(v_planned),
                   'planned', cardinality(v_planned),
                   'would_cut_off', recall_private.count_disconnected(v_forest.worth, v_forest.piece, v_forest.component),
                   'kept_back', (
                       SELECT coalesce(jsonb_agg(jsonb_build_object(
                           'id', k.memory_id, 'cut_size', k.cut_size, 'examples', k.examples)
                           ORDER BY k.cut_size DESC, k.memory_id), '[]')
                       FROM recall_private.kept_back_candidates(
                           v_tenant, v_forest.nodes, v_forest.worth, v_forest.piece, v_forest.removal, 1000) k),
                   'communities', recall_private.communities(v_tenant, v_planned, p_now))
               || recall_private.vitality_distribution(v_tenant, p_now) || recall_private.ending_links(v_tenant, v_planned, p_now)
        FROM unnest(v_forest.worth, v_forest.removal) u(worth, removal)), p_now);
    PERFORM recall_private.add_prune_items(v_tenant, v_plan, v_planned, p_now);
    RETURN v_plan;
END $$;

-- max_archivable: how many of p_live live memories a plan with these options may archive. Computed as numeric, since
-- 0.29 * 100 is below 29 in floating point.
CREATE OR REPLACE FUNCTION recall_private.max_archivable(p_options jsonb, p_live bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor((p_options ->> 'max_share')::numeric * p_live)::bigint;

-- link_impacts: for each memory, how many references to and from live memories end when it is archived, and the other
-- ends of the first ten. One query for all: one by one would cost a lookup for each link.
CREATE OR REPLACE FUNCTION recall_private.link_impacts(p_tenant text, p_ids bigint[])
RETURNS TABLE (memory_id bigint, impact jsonb)
LANGUAGE sql STABLE
SET search_path FROM CURRENT
SET enable_nestloop = off AS $$
    WITH wanted AS MATERIALIZED (SELECT DISTINCT u.id FROM unnest(p_ids) u(id)),
    reference AS MATERIALIZED (
        SELECT l.src, l.dst, l.relation FROM recall.link l
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation)
    ), ending AS (
        SELECT w.id, r.src AS other, r.relation, false AS outgoing
        FROM wanted w JOIN reference r ON r.dst = w.id
        UNION ALL
        SELECT w.id, r.dst, r.relation, true FROM wanted w JOIN reference r ON r.src = w.id
    ), placed AS (
        SELECT e.*, row_number() OVER (PARTITION BY e.id ORDER BY e.outgoing, e.other, e.relation) AS place
        FROM ending e
        JOIN recall.memory o ON o.tenant = p_tenant AND o.id = e.other AND o.archived_at IS NULL
    )
    SELECT w.id, jsonb_build_object(
        'links_in', count(p.id) FILTER (WHERE NOT p.outgoing), 'links_out', count(p.id) FILTER (WHERE p.outgoing),
        'ends', coalesce(jsonb_agg(jsonb_build_object(
            'id', p.other, 'relation', p.relation, 'outgoing', p.outgoing) ORDER BY p.place)
            FILTER (WHERE p.place <= 10), '[]'))
    FROM wanted w LEFT JOIN placed p ON p.id = w.id GROUP BY w.id
$$;

-- add_prune_items: writes the items of a plan, lowest vitality first.
CREATE OR REPLACE FUNCTION recall_private.add_prune_items(
    p_tenant text, p_plan_id bigint, p_planned bigint[], p_now timestamptz
) RETURNS void
LANGUAGE sql VOLATILE
SET enable_nestloop = off AS $$
    INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, terms, reason, impact, content_hash)
    SELECT p_tenant, p_plan_id, m.id, row_number() OVER (ORDER BY t.vitality, m.id), t.vitality, to_jsonb(t),
           format('Vitality %s, below the threshold %s of layer %s; %s; stored %s days ago%s.',
               round(t.vitality::numeric, 3), l.fading, l.name,
               CASE t.accesses WHEN 1 THEN '1 access, ' ELSE t.accesses || ' accesses, the last ' END
                   || floor((recall_private.epoch(p_now) - a.t1) / 86400) || ' days ago',
               floor((recall_private.epoch(p_now) - recall_private.epoch(m.created_at)) / 86400),
               '; superseded by memory ' || m.superseded_by),
           i.impact, m.content_hash
    FROM (SELECT recall_private.vitality_weights(p_tenant) AS w OFFSET 0) x
    CROSS JOIN recall_private.link_impacts(p_tenant, p_planned) i
    JOIN recall.memory m ON m.id = i.memory_id
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall_private.vitality_terms(a, m.pinned, l, x.w, p_now) t
    WHERE m.tenant = p_tenant
$$;
