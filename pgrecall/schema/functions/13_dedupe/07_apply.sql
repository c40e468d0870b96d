-- What applying and undoing a dedupe plan does.

-- lock_clusters: locks the memories of a plan, then those at the other ends of their links against deletion, then the
-- activations of all.
CREATE OR REPLACE FUNCTION recall_private.lock_clusters(p_tenant text, p_keepers bigint[], p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_around record := recall_private.lock_around(
        p_tenant, 'SELECT recall_private.linked_with($1, $2 || $3) AS kept, $2 AS changed, $3 AS removed', p_keepers, p_ids);
BEGIN
    PERFORM recall_private.lock_activations(p_tenant, v_around.kept || p_keepers || p_ids);
END $$;

-- linked_with: the memories at the other ends of the links of these memories. One index probe for each (OFFSET 0).
CREATE OR REPLACE FUNCTION recall_private.linked_with(p_tenant text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT DISTINCT e.other FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            (SELECT l.dst AS other FROM recall.link l WHERE l.tenant = p_tenant AND l.src = u.id OFFSET 0)
            UNION ALL
            (SELECT l.src FROM recall.link l WHERE l.tenant = p_tenant AND l.dst = u.id OFFSET 0)) e)
$$;

-- dedupe_objections: the items of a plan that must not be merged now, each with its reason. If a keeper has changed, its
-- whole cluster is skipped.
CREATE OR REPLACE FUNCTION recall_private.dedupe_objections(p_plan recall.plan)
RETURNS TABLE (memory_id bigint, note text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH own AS MATERIALIZED (
        SELECT i.memory_id, i.place, i.keeper, m, CASE
            WHEN m.archived_at IS NOT NULL THEN coalesce(g.reason, 'archived') || ' already'
            WHEN m.superseded_by IS NOT NULL THEN 'superseded since'
            WHEN m.pinned AND NOT i.keeper THEN 'pinned since'
            WHEN m.content_hash <> i.content_hash THEN 'rewritten since' END AS note
        FROM recall.plan_item i
        JOIN recall.memory m ON m.tenant = i.tenant AND m.id = i.memory_id
        LEFT JOIN recall.archival g ON g.tenant = i.tenant AND g.memory_id = i.memory_id AND g.restored_at IS NULL
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id
    ), noted AS (
        SELECT o.memory_id, coalesce(o.note, CASE
            WHEN o.keeper THEN NULL
            WHEN k.memory_id IS NULL THEN 'its keeper was deleted since'
            WHEN k.note IS NOT NULL THEN 'its keeper was ' || k.note
            WHEN NOT p_plan.options @> '{"chosen": true}' AND recall_private.attribute_difference(k.m, o.m) IS NOT NULL
                THEN recall_private.attribute_difference(k.m, o.m) || ' since'
            WHEN recall_private.are_apart(p_plan.tenant, o.memory_id, ARRAY[k.memory_id])
                THEN 'linked to its keeper since' END) AS note
        FROM own o LEFT JOIN own k ON k.place = o.place AND k.keeper
    )
    SELECT t.memory_id, t.note FROM noted t WHERE t.note IS NOT NULL
$$;

-- merge_clusters: merges the clusters of a dedupe plan into their keepers; with p_parts only these clusters. Sets the
-- outcome of each item.
CREATE OR REPLACE FUNCTION recall_private.merge_clusters(p_plan recall.plan, p_parts bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_cluster record;
BEGIN
    PERFORM recall_private.analyze_grown_tables(1);
    -- Locked before all checks, so that changes wait from now on.
    PERFORM recall_private.lock_clusters(p_plan.tenant, array_agg(i.memory_id) FILTER (WHERE i.keeper),
                                 array_agg(i.memory_id) FILTER (WHERE NOT i.keeper))
    FROM recall.plan_item i WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id HAVING count(*) > 0;
    PERFORM recall_private.skip_other_parts(p_plan, p_parts);
    UPDATE recall.plan_item i SET outcome = 'skipped', note = o.note
    FROM recall_private.dedupe_objections(p_plan) o
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = o.memory_id AND i.outcome IS NULL;
    FOR v_cluster IN
        SELECT i.place, max(i.memory_id) FILTER (WHERE i.keeper) AS keeper,
               array_agg(i.memory_id ORDER BY i.memory_id) FILTER (WHERE NOT i.keeper) AS ids
        FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IS NULL
        GROUP BY i.place ORDER BY i.place
    LOOP
        IF v_cluster.ids IS NULL THEN
            UPDATE recall.plan_item i SET outcome = 'skipped', note = 'nothing is left to merge into it'
            WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = v_cluster.keeper;
        ELSE
            PERFORM recall_private.merge_cluster(p_plan.tenant, p_plan.id, v_cluster.keeper, v_cluster.ids, p_now);
        END IF;
    END LOOP;
END $$;

-- later_merge: the newest other plan that has since merged a memory of this plan, as keeper or into another. NULL if
-- there is none. Merges of one memory must be undone in reverse order.
CREATE OR REPLACE FUNCTION recall_private.later_merge(p_plan recall.plan) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT max(p.id)
    FROM recall.plan_item i
    JOIN recall.plan_item o ON o.tenant = i.tenant AND o.memory_id = i.memory_id AND o.plan_id <> i.plan_id
        AND o.outcome IN ('kept', 'merged')
    JOIN recall.plan p ON p.tenant = o.tenant AND p.id = o.plan_id AND p.state = 'applied'
        AND (p.applied_at, p.id) > (p_plan.applied_at, p_plan.id)
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IN ('kept', 'merged')
$$;

-- unmerge_clusters: undoes the merges of a plan and returns how many memories it restored. Memories that were restored
-- before, for example because they were remembered again, stay as they are.
CREATE OR REPLACE FUNCTION recall_private.unmerge_clusters(p_plan recall.plan, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_later bigint := recall_private.later_merge(p_plan);
    v_cluster record;
    v_keeper recall.plan_item;
    v_back bigint := 0;
BEGIN
    IF v_later IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(
            format('Dedupe plan %s has merged a memory of plan %s since.', v_later, p_plan.id),
            format('Undo plan %s first.', v_later));
    END IF;
    PERFORM recall_private.lock_clusters(p_plan.tenant, coalesce(array_agg(i.memory_id) FILTER (WHERE i.keeper), '{}'),
                                 coalesce(array_agg(i.memory_id) FILTER (WHERE NOT i.keeper), '{}'))
    FROM recall.plan_item i
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IN ('kept', 'merged') HAVING count(*) > 0;
    FOR v_cluster IN
        SELECT max(i.memory_id) FILTER (WHERE i.keeper) AS keeper,
               coalesce(array_agg(i.memory_id ORDER BY i.memory_id) FILTER (WHERE NOT i.keeper), '{}') AS ids
        FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IN ('kept', 'merged')
        GROUP BY i.place ORDER BY i.place DESC
    LOOP
        SELECT i.* INTO v_keeper FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = v_cluster.keeper;
        v_back := v_back + recall_private.unmerge_cluster(p_plan, v_keeper, v_cluster.ids, p_now);
    END LOOP;
    RETURN v_back;
END $$;
