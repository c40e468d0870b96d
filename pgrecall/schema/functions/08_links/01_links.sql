-- Links made by hand, and counts of links.

-- link (app; Links): links two memories of this tenant. Returns false if the link existed.
CREATE OR REPLACE FUNCTION recall.link(
    p_src bigint, p_dst bigint, p_relation text DEFAULT 'links_to', p_weight double precision DEFAULT 1,
    p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_new boolean;
BEGIN
    PERFORM recall_private.analyze_grown_tables(1);
    -- Before the link: deletion also locks the memory first and its links afterwards.
    PERFORM recall_private.lock_memories(v_tenant, ARRAY[p_src, p_dst]);
    PERFORM recall.require_memory(p_src), recall.require_memory(p_dst), recall_private.require_moment(p_now);
    IF p_src = p_dst THEN
        PERFORM recall_private.raise_invalid(format('Memory %s cannot link to itself.', p_src));
    END IF;
    PERFORM recall_private.require_relation(p_relation);
    IF NOT coalesce(p_weight > 0 AND p_weight <= 100, false) THEN
        PERFORM recall_private.raise_invalid(format(
            'The link weight %s is not above 0 and at most 100.', coalesce(p_weight::text, 'NULL')));
    END IF;
    IF p_relation = 'co_access' THEN
        -- Accesses also make such links, after locking the activations.
        PERFORM FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = p_dst FOR UPDATE;
    END IF;
    INSERT INTO recall.link AS l (tenant, src, dst, relation, weight, created_at)
    VALUES (v_tenant, p_src, p_dst, p_relation, p_weight, p_now)
    -- A link made by hand stays when the draft no longer declares it, or a merge that had copied it is undone.
    ON CONFLICT (tenant, src, dst, relation) DO UPDATE SET weight = excluded.weight, drafted = false, merged_from = NULL
    RETURNING l.xmax = 0 INTO v_new;
    PERFORM recall_private.recount_links(v_tenant, ARRAY[p_dst]);
    RETURN v_new;
END $$;

-- unlink (app; Links): removes a link of this tenant; its history records that it existed until now. Without
-- p_relation, removes every relation from p_src to p_dst that people make. Removing a `supersedes` link makes the
-- superseded memory valid again. Returns how many links were removed.
CREATE OR REPLACE FUNCTION recall.unlink(
    p_src bigint, p_dst bigint, p_relation text DEFAULT NULL, p_now timestamptz DEFAULT now()
) RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_relations text[];
BEGIN
    PERFORM recall.require_memory(p_src), recall.require_memory(p_dst), recall_private.require_moment(p_now);
    IF p_relation IS NOT NULL THEN
        PERFORM recall_private.require_relation(p_relation);
    END IF;
    IF coalesce(p_relation, 'supersedes') = 'supersedes' THEN
        PERFORM recall_private.lock_tenant(v_tenant, 'supersede');
    END IF;
    PERFORM recall_private.lock_memories(v_tenant, p_kept => ARRAY[p_src], p_changed => ARRAY[p_dst]);
    PERFORM recall.require_memory(p_src), recall.require_memory(p_dst);
    PERFORM recall_private.lock_activations(v_tenant, ARRAY[p_dst]);
    WITH gone AS (
        DELETE FROM recall.link l
        WHERE l.tenant = v_tenant AND l.src = p_src AND l.dst = p_dst
          AND (l.relation = p_relation OR p_relation IS NULL AND l.relation <> 'co_access')
        RETURNING l.*
    ), remembered AS (
        INSERT INTO recall.link_history (tenant, src, dst, relation, created_at, removed_at)
        SELECT g.tenant, g.src, g.dst, g.relation, g.created_at, greatest(p_now, g.created_at) FROM gone g
        WHERE g.relation <> 'co_access'
    )
    SELECT coalesce(array_agg(g.relation), '{}') INTO v_relations FROM gone g;
    IF 'supersedes' = ANY (v_relations) THEN
        UPDATE recall.memory m SET superseded_by = NULL, updated_at = p_now
        WHERE m.tenant = v_tenant AND m.id = p_dst AND m.superseded_by = p_src;
    END IF;
    PERFORM recall_private.recount_links(v_tenant, ARRAY[p_dst]);
    RETURN cardinality(v_relations);
END $$;

-- count_pending_links (reader; Links): the number of links of this tenant that wait for their target.
CREATE OR REPLACE FUNCTION recall.count_pending_links() RETURNS bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT count(*) FROM recall.pending_link p WHERE p.tenant = (SELECT recall.current_tenant())
$$;

-- recount_links: sets the in-degree (references from live memories) and the time of the newest link. The rows are
-- locked first in one order, which prevents deadlocks, so the count includes every link made until now.
CREATE OR REPLACE FUNCTION recall_private.recount_links(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.lock_activations(p_tenant, p_ids);
    UPDATE recall.activation a
    SET in_degree = c.in_degree, last_linked_at = c.last_linked_at
    FROM (
        SELECT t.id, count(DISTINCT l.src) AS in_degree, recall_private.epoch(max(l.created_at)) AS last_linked_at
        FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) t
        LEFT JOIN LATERAL (
            SELECT k.src, k.created_at
            FROM recall.link k
            -- OFFSET 0 keeps one index probe for each link, whatever the planner estimates.
            CROSS JOIN LATERAL (
                SELECT FROM recall.memory m
                WHERE m.tenant = p_tenant AND m.id = k.src AND m.archived_at IS NULL OFFSET 0) live
            WHERE k.tenant = p_tenant AND k.dst = t.id AND recall_private.is_reference(k.relation) OFFSET 0) l ON true
        GROUP BY t.id
    ) c
    WHERE a.tenant = p_tenant AND a.memory_id = c.id
      AND (a.in_degree, a.last_linked_at) IS DISTINCT FROM (c.in_degree, c.last_linked_at);
END $$;
