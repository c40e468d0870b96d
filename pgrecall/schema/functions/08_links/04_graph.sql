-- The link graph: input of the graph algorithms, and storage of their results.

-- link_graph: the references between live memories of this tenant as a blob of pairs (source, target), most significant
-- byte first. NULL if there are none. If all ids fit into four bytes, the blob is a byte 4 followed by four bytes for
-- each id, which halves the cost of collecting and sending, the largest cost. Otherwise it has eight bytes for each id,
-- without a first byte. It is one aggregate, because a row for each link would cost more than the algorithms. It is
-- PL/pgSQL, because an SQL function cannot use parallel workers.
CREATE OR REPLACE FUNCTION recall.link_graph() RETURNS bytea
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
-- Otherwise the planner might scan the archived memories for each link.
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    -- Both ends of every link exist, so it is enough to exclude archived memories, which are few.
    v_archived bigint[] := ARRAY(
        SELECT m.id FROM recall.memory m WHERE m.tenant = v_tenant AND m.archived_at IS NOT NULL);
    v_narrow boolean := (SELECT min(m.id) >= 0 AND max(m.id) < 2147483648 FROM recall.memory m
                         WHERE m.tenant = v_tenant);
BEGIN
    RETURN (
        SELECT CASE WHEN v_narrow THEN '\x04'::bytea ELSE '' END || string_agg(
            CASE WHEN v_narrow THEN int8send(l.src << 32 | l.dst) ELSE int8send(l.src) || int8send(l.dst) END, '')
        FROM recall.link l
        -- The tenant is hidden from the planner, whose statistics may know only others.
        WHERE l.tenant = (SELECT v_tenant) AND recall.is_reference(l.relation)
          AND l.src <> ALL (v_archived) AND l.dst <> ALL (v_archived));
END $$;

-- store_cut_sizes: stores how many memories each articulation point would disconnect, 0 for all other memories. A memory
-- that would disconnect at least graph.min_cut (3) is protected. Returns how many are protected.
CREATE OR REPLACE FUNCTION recall.store_cut_sizes(
    p_ids bigint[], p_cut_sizes int[], p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
-- A merge join would fetch each row twice, in the order of ids.
SET enable_mergejoin = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_min_cut int := recall.setting_number(v_tenant, 'graph.min_cut')::int;
    v_changed bigint[];
    v_protected bigint;
BEGIN
    IF cardinality(p_ids) IS DISTINCT FROM cardinality(p_cut_sizes) THEN
        PERFORM recall.raise_invalid(format('There are %s ids and %s cut sizes; give one cut size for each id.',
            cardinality(p_ids), cardinality(p_cut_sizes)));
    END IF;
    PERFORM recall.require_moment(p_now);
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
    PERFORM recall.record_floor_changes(v_tenant, v_changed, p_now);
    RETURN v_protected;
END $$;
