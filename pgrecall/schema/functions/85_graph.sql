-- The link graph: what the mathematics reads, and where its result is kept.

-- link_graph: the references between live memories of this tenant as one blob of pairs (source, target), eight
-- bytes each, most significant first; NULL without any. One aggregate: a row a link would cost more than the search.
-- In PL/pgSQL because it can have workers help, which an SQL function cannot.
CREATE OR REPLACE FUNCTION recall.link_graph() RETURNS bytea
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
-- Or the archived would be gone through one by one for each link.
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    -- Every link has its memories, so it is enough to leave out those that are archived, which are few.
    v_archived bigint[] := ARRAY(
        SELECT m.id FROM recall.memory m WHERE m.tenant = v_tenant AND m.archived_at IS NOT NULL);
BEGIN
    RETURN (
        SELECT string_agg(int8send(l.src) || int8send(l.dst), '')
        FROM recall.link l
        WHERE l.tenant = v_tenant AND recall.is_reference(l.relation)
          AND l.src <> ALL (v_archived) AND l.dst <> ALL (v_archived));
END $$;

-- store_cut_sizes: keeps how many memories each articulation point would cut off; the others cut off none.
-- A memory that cuts off at least the setting graph.min_cut (3) is protected. Returns how many are.
CREATE OR REPLACE FUNCTION recall.store_cut_sizes(
    p_ids bigint[], p_cut_sizes int[], p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_min_cut int := recall.setting_number(v_tenant, 'graph.min_cut')::int;
    v_changed bigint[];
BEGIN
    IF cardinality(p_ids) IS DISTINCT FROM cardinality(p_cut_sizes) THEN
        PERFORM recall.reject(format('There are %s ids and %s cut sizes; each id needs one.',
            cardinality(p_ids), cardinality(p_cut_sizes)));
    END IF;
    PERFORM recall.finite(p_now);
    WITH wanted AS MATERIALIZED (
        SELECT a.memory_id, coalesce(u.cut_size, 0) AS cut_size, a.protected AS before
        FROM recall.activation a
        LEFT JOIN unnest(p_ids, p_cut_sizes) u(id, cut_size) ON u.id = a.memory_id
        WHERE a.tenant = v_tenant
          AND (a.cut_size, a.protected)
              IS DISTINCT FROM (coalesce(u.cut_size, 0), coalesce(u.cut_size, 0) >= v_min_cut)
        ORDER BY a.memory_id FOR UPDATE OF a
    ), stored AS (
        UPDATE recall.activation a
        SET cut_size = w.cut_size, protected = w.cut_size >= v_min_cut
        FROM wanted w
        WHERE a.tenant = v_tenant AND a.memory_id = w.memory_id
        RETURNING a.memory_id, a.protected <> w.before AS turned
    )
    SELECT array_agg(s.memory_id) FILTER (WHERE s.turned) INTO v_changed FROM stored s;
    PERFORM recall.note_floors(v_tenant, v_changed, p_now);
    RETURN (SELECT count(*) FROM recall.activation a WHERE a.tenant = v_tenant AND a.protected);
END $$;
