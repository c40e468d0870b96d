-- The link graph: which memories hold it together, and their protection.

-- refresh_graph (app; Jobs and maintenance): finds the articulation points of the references between live memories of
-- this tenant, and stores how many memories each would disconnect (see store_cut_sizes). Counts linked memories, linked
-- pairs, articulation points and protected memories. `bridges` are the pairs of ids, smaller first, whose link alone
-- connects two parts. Links that are still pending do not count: call resolve_pending_links first.
CREATE OR REPLACE FUNCTION recall.refresh_graph(p_now timestamptz DEFAULT now())
RETURNS TABLE (memories bigint, links bigint, points bigint, bridges bigint[], protected bigint)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
-- Otherwise the planner might scan the archived memories for each link.
SET plan_cache_mode = force_custom_plan
SET enable_nestloop = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    -- Both ends of every link exist, so it is enough to exclude archived memories, which are few.
    v_archived bigint[] := ARRAY(
        SELECT m.id FROM recall.memory m WHERE m.tenant = v_tenant AND m.archived_at IS NOT NULL);
    v_ids bigint[];
    v_ones int[];
    v_twos int[];
    v_points bigint[];
    v_cut_sizes int[];
BEGIN
    PERFORM recall_private.require_moment(p_now);
    WITH pair AS MATERIALIZED (
        SELECT DISTINCT least(l.src, l.dst) AS one, greatest(l.src, l.dst) AS two
        FROM recall.link l
        -- The tenant is hidden from the planner, whose statistics may know only others.
        WHERE l.tenant = (SELECT v_tenant) AND recall_private.is_reference(l.relation)
          AND l.src <> ALL (v_archived) AND l.dst <> ALL (v_archived)
    ), node AS MATERIALIZED (
        SELECT u.id, row_number() OVER (ORDER BY u.id)::int AS number
        FROM (SELECT p.one AS id FROM pair p UNION SELECT p.two FROM pair p) u
    )
    SELECT coalesce((SELECT array_agg(n.id ORDER BY n.number) FROM node n), '{}'),
           coalesce(array_agg(o.number), '{}'), coalesce(array_agg(t.number), '{}'), count(*)
    INTO v_ids, v_ones, v_twos, links
    FROM pair p JOIN node o ON o.id = p.one JOIN node t ON t.id = p.two;
    memories := cardinality(v_ids);
    WITH tree AS MATERIALIZED (
        SELECT u.id, v_ids[u.parent] AS parent, u.number = u.low AND u.parent > 0 AS bridge,
               t.total - 1 - greatest(u.largest, t.total - 1 - u.apart) AS cut_size
        FROM recall_private.depth_first_forest(
            array_fill(1, ARRAY[cardinality(v_ids)]), v_ones || v_twos, v_twos || v_ones) f
        CROSS JOIN LATERAL unnest(v_ids, f.parent, f.root, f.number, f.low, f.apart, f.largest)
            u(id, parent, root, number, low, apart, largest)
        CROSS JOIN LATERAL (SELECT f.below[u.root] AS total) t
    )
    SELECT array_agg(t.id) FILTER (WHERE t.cut_size > 0), array_agg(t.cut_size) FILTER (WHERE t.cut_size > 0),
           (SELECT coalesce(array_agg(ARRAY[b.one, b.two] ORDER BY b.one, b.two), '{}')
            FROM (SELECT least(x.id, x.parent) AS one, greatest(x.id, x.parent) AS two FROM tree x WHERE x.bridge) b)
    INTO v_points, v_cut_sizes, bridges FROM tree t;
    points := coalesce(cardinality(v_points), 0);
    protected := recall_private.store_cut_sizes(v_points, v_cut_sizes, p_now);
    RETURN NEXT;
END $$;

-- store_cut_sizes: stores how many memories each articulation point would disconnect, 0 for all other memories. A memory
-- that would disconnect at least graph.min_cut (3) is protected. Returns how many are protected.
CREATE OR REPLACE FUNCTION recall_private.store_cut_sizes(
    p_ids bigint[], p_cut_sizes int[], p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
-- A merge join would fetch each row twice, in the order of ids. Few rows change, which refresh_graph does not know.
SET enable_mergejoin = off
SET enable_nestloop = on AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_min_cut int := recall_private.setting_number(v_tenant, 'graph.min_cut')::int;
    v_changed bigint[];
    v_protected bigint;
BEGIN
    -- Most memories are not articulation points, before or after; changes are found without joining them.
    WITH held AS MATERIALIZED (
        SELECT a.memory_id, a.cut_size, a.protected FROM recall.activation a
        WHERE a.tenant = v_tenant AND (a.cut_size <> 0 OR a.protected)
    ), changed AS MATERIALIZED (
        SELECT coalesce(h.memory_id, u.id) AS id, coalesce(u.cut_size, 0) AS cut_size
        FROM held h
        FULL JOIN unnest(p_ids, p_cut_sizes) u(id, cut_size) ON u.id = h.memory_id
        WHERE (coalesce(h.cut_size, 0), coalesce(h.protected, false))
              IS DISTINCT FROM (coalesce(u.cut_size, 0), coalesce(u.cut_size, 0) >= v_min_cut)
    ), wanted AS MATERIALIZED (
        SELECT a.memory_id, c.cut_size, a.protected AS before
        FROM changed c
        JOIN recall.activation a ON a.tenant = v_tenant AND a.memory_id = c.id
        ORDER BY a.memory_id FOR UPDATE OF a
    ), stored AS (
        UPDATE recall.activation a
        SET cut_size = w.cut_size, protected = w.cut_size >= v_min_cut
        FROM wanted w
        WHERE a.tenant = v_tenant AND a.memory_id = w.memory_id
        RETURNING a.memory_id, a.protected, a.protected <> w.before AS turned
    )
    SELECT array_agg(s.memory_id) FILTER (WHERE s.turned),
           (SELECT count(*) FROM held h WHERE h.protected) + count(*) FILTER (WHERE s.turned AND s.protected)
           - count(*) FILTER (WHERE s.turned AND NOT s.protected)
    INTO v_changed, v_protected FROM stored s;
    PERFORM recall_private.record_floor_changes(v_tenant, v_changed, p_now);
    RETURN v_protected;
END $$;
