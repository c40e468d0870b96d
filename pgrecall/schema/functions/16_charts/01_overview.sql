-- The overview of a tenant's vitality, in one pass over narrow rows; only the titles of listed memories are read.

-- leaves_zone_at: when an activation without further accesses falls below p_threshold, to a thousandth of the time
-- until then; NULL if it takes more than a hundred years.
CREATE OR REPLACE FUNCTION recall_private.leaves_zone_at(
    a recall.activation, w recall.weights, p_threshold double precision, p_now timestamptz
) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_now double precision := recall_private.epoch(p_now);
    v_low double precision := ln(60);
    v_high double precision := ln(100 * 365.25 * 86400);
    v_middle double precision;
BEGIN
    IF recall_private.activation_sum(a, w, v_now + exp(v_high)) >= p_threshold THEN
        RETURN NULL;
    END IF;
    WHILE v_high - v_low > 0.001 LOOP
        v_middle := (v_low + v_high) / 2;
        IF recall_private.activation_sum(a, w, v_now + exp(v_middle)) >= p_threshold THEN
            v_low := v_middle;
        ELSE
            v_high := v_middle;
        END IF;
    END LOOP;
    RETURN p_now + make_interval(secs => exp(v_high));
END $$;

-- overview_place: the value by which a list of the overview is ordered, ascending; NULL if the list does not contain
-- the memory. `alive`: highest vitality first; `leaving`: nearest to the lower bound of their zone, in log-odds;
-- `unused`: never accessed, the oldest first.
CREATE OR REPLACE FUNCTION recall_private.overview_place(
    p_list text, p_activation double precision, p_leaving double precision, p_unused boolean, p_born double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_list
    WHEN 'alive' THEN -p_activation
    WHEN 'leaving' THEN p_activation / p_leaving
    WHEN 'unused' THEN CASE WHEN p_unused THEN p_born END
END;

-- check_overview: raises an error for a list or a layer that does not exist.
CREATE OR REPLACE FUNCTION recall_private.check_overview(p_tenant text, p_lists text[], p_layer text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_unknown text := (SELECT coalesce(u.list, 'NULL') FROM unnest(p_lists) u(list)
                       WHERE u.list IS NULL OR u.list NOT IN ('alive', 'leaving', 'unused') LIMIT 1);
BEGIN
    IF v_unknown IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('There is no list %L.', left(v_unknown, 100)), 'Choose one of: alive, leaving, unused.');
    ELSIF p_layer NOT IN (SELECT l.name FROM recall_private.effective_layers(p_tenant) l) THEN
        PERFORM recall_private.raise_invalid(format('There is no layer %L.', left(p_layer, 100)), format('Use %s.', (
            SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM recall_private.effective_layers(p_tenant) l)));
    END IF;
END $$;

-- overview (reader; Vitality): the vitality of this tenant's live memories (only those of p_layer, if given) at p_now,
-- as one document. `layers`, by name: the number of `memories`, how many are `unused`, how many are in each of `zones`,
-- and `counts` by vitality in p_bins (2 to 200) equal parts of 0 to 1. `lists` has each of p_lists (see
-- overview_place): the number of `memories` in the list, and `items`: p_limit of them (1 to 200) after the first
-- p_offset (at most 100,000). `leaves_at` is when an item leaves its zone without further accesses; NULL if it does
-- not.
CREATE OR REPLACE FUNCTION recall.overview(
    p_lists text[] DEFAULT ARRAY['alive', 'leaving', 'unused'], p_layer text DEFAULT NULL, p_limit int DEFAULT 10,
    p_offset int DEFAULT 0, p_bins int DEFAULT 20, p_now timestamptz DEFAULT now()
) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
BEGIN
    PERFORM recall_private.check_overview(v_tenant, p_lists, p_layer), recall_private.require_between(p_limit, 1, 200, 'p_limit'),
            recall_private.require_between(p_offset, 0, 100000, 'p_offset'), recall_private.require_between(p_bins, 2, 200, 'p_bins'),
            recall_private.require_moment(p_now);
    RETURN (
        WITH known AS MATERIALIZED (
            SELECT v.*, u.used_at, u.memory_id IS NULL AS unused, least(floor(v.vitality * p_bins)::int, p_bins - 1) AS bin
            FROM recall_private.live_memories(v_tenant, p_now, p_layer) v
            LEFT JOIN recall_private.used_memories(v_tenant) u ON u.memory_id = v.memory_id
        ), grouped AS MATERIALIZED (
            SELECT k.layer, k.zone, k.bin, count(*) AS memories, count(*) FILTER (WHERE k.unused) AS unused,
                   count(k.leaving) AS leaving
            FROM known k GROUP BY k.layer, k.zone, k.bin
        ), layer AS (
            SELECT g.layer, jsonb_build_object(
                'layer', g.layer, 'memories', sum(g.memories), 'unused', sum(g.unused),
                'zones', (SELECT jsonb_object_agg(z.zone, z.memories) FROM (
                    SELECT i.zone, sum(i.memories) AS memories FROM grouped i WHERE i.layer = g.layer GROUP BY i.zone) z),
                'counts', (SELECT jsonb_agg(coalesce(c.memories, 0) ORDER BY b.bin) FROM generate_series(0, p_bins - 1) b(bin)
                    LEFT JOIN (SELECT i.bin, sum(i.memories) AS memories FROM grouped i
                               WHERE i.layer = g.layer GROUP BY i.bin) c ON c.bin = b.bin)) AS document
            FROM grouped g GROUP BY g.layer
        ), listed AS (
            SELECT n.list, jsonb_build_object(
                'memories', (SELECT coalesce(sum(CASE n.list WHEN 'alive' THEN g.memories WHEN 'unused' THEN g.unused
                                                 ELSE g.leaving END), 0) FROM grouped g),
                'items', (
                    SELECT coalesce(jsonb_agg(recall_private.overview_item(v_tenant, v_weights, p_now, o.memory_id, o.activation,
                                                                    o.zone, o.leaving, o.used_at) ORDER BY o.place, o.memory_id), '[]')
                    FROM (SELECT k.*, p.place FROM known k
                          CROSS JOIN LATERAL (SELECT recall_private.overview_place(
                              n.list, k.activation, k.leaving, k.unused, k.born) AS place) p
                          WHERE p.place IS NOT NULL
                          ORDER BY p.place, k.memory_id LIMIT p_limit OFFSET p_offset) o)) AS document
            FROM unnest(p_lists) n(list)
        )
        SELECT jsonb_build_object(
            'layers', (SELECT coalesce(jsonb_agg(y.document ORDER BY y.layer), '[]') FROM layer y),
            'lists', (SELECT coalesce(jsonb_object_agg(d.list, d.document), '{}') FROM listed d)));
END $$;

-- overview_item: the entry of a memory in a list of the overview. Without a title, the first words of its body are
-- shown.
CREATE OR REPLACE FUNCTION recall_private.overview_item(
    p_tenant text, w recall.weights, p_now timestamptz, p_memory_id bigint, p_activation double precision,
    p_zone text, p_leaving double precision, p_used_at timestamptz
) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'id', m.id, 'key', m.key, 'layer', m.layer, 'zone', p_zone,
        'title', CASE WHEN m.title <> '' THEN m.title ELSE left(m.body, 200) END,
        'vitality', p_activation / (1 + p_activation), 'accesses', a.n, 'born_at', to_timestamp(a.first_at),
        'used_at', p_used_at,
        'kept', a.protected OR m.pinned,
        'leaves_at', CASE WHEN p_leaving IS NOT NULL THEN recall_private.leaves_zone_at(a, w, p_leaving, p_now) END)
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE m.tenant = p_tenant AND m.id = p_memory_id
$$;

-- zones_over_time (reader; Vitality): the number of live memories in each layer and zone at each of these moments (at
-- most 100), by moment, layer and zone. At most p_sample memories (100 to 100,000) are read, always the same ones, and
-- the counts are scaled up: of memories that are live now, and of archived ones, each to their number, so that the
-- counts of the present add up to the live memories. Exact for a tenant with no more memories; otherwise within 1 /
-- sqrt(p_sample) of all memories with a probability of 95 %.
CREATE OR REPLACE FUNCTION recall.zones_over_time(p_instants timestamptz[], p_sample int DEFAULT 1000)
RETURNS TABLE (at timestamptz, layer text, zone text, memories double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weights recall.weights := recall_private.vitality_weights(v_tenant);
    v_ids bigint[];
    v_live_each double precision;
    v_archived_each double precision;
BEGIN
    PERFORM recall_private.require_between(cardinality(p_instants), 0, 100, 'The number of p_instants'),
            recall_private.require_between(p_sample, 100, 100000, 'p_sample');
    PERFORM recall_private.require_moment(u.at) FROM unnest(p_instants) u(at);
    -- Ids grow with time, so the sample is taken by a hash of them.
    SELECT array_agg(s.id),
           max(s.live)::double precision / nullif(count(*) FILTER (WHERE NOT s.archived), 0),
           max(s.every - s.live)::double precision / nullif(count(*) FILTER (WHERE s.archived), 0)
    INTO v_ids, v_live_each, v_archived_each
    FROM (SELECT m.id, m.archived_at IS NOT NULL AS archived, count(*) OVER () AS every,
                 count(*) FILTER (WHERE m.archived_at IS NULL) OVER () AS live
          FROM recall.memory m
          WHERE m.tenant = v_tenant ORDER BY hashint8(m.id), m.id LIMIT p_sample) s;
    FOR at IN SELECT DISTINCT u.at FROM unnest(p_instants) u(at) ORDER BY u.at LOOP
        RETURN QUERY
        SELECT zones_over_time.at, m.layer, t.zone,
               sum(CASE WHEN m.archived_at IS NULL THEN v_live_each ELSE v_archived_each END)
        FROM recall_private.activations_as_of(v_tenant, coalesce(v_ids, '{}'), zones_over_time.at) a
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = a.memory_id
        JOIN recall_private.effective_layers(v_tenant) l ON l.name = m.layer
        CROSS JOIN LATERAL recall_private.vitality_terms(a, false, l, v_weights, zones_over_time.at) t
        WHERE NOT recall_private.was_archived(v_tenant, m.id, zones_over_time.at)
        GROUP BY m.layer, t.zone ORDER BY m.layer, t.zone;
    END LOOP;
END $$;
