-- What applying and undoing a prune plan does.

-- prune_objections: the items of a plan that must not be archived at p_now, each with its reason.
CREATE OR REPLACE FUNCTION recall_private.prune_objections(p_plan recall.plan, p_now timestamptz)
RETURNS TABLE (memory_id bigint, note text)
LANGUAGE plpgsql STABLE
SET enable_nestloop = off AS $$
DECLARE
    v_ids bigint[] := ARRAY(
        SELECT i.memory_id FROM recall.plan_item i WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id);
BEGIN
    RETURN QUERY
    SELECT x.memory_id, x.note
    FROM (
        SELECT i.memory_id, CASE
            WHEN m.archived_at IS NOT NULL THEN coalesce(
                CASE g.reason WHEN 'pruned' THEN 'archived by plan ' || g.plan_id END, g.reason, 'archived') || ' already'
            WHEN m.pinned THEN 'pinned since'
            WHEN a.protected THEN format('protected now: %s memories would be disconnected without it', a.cut_size)
            -- Before the check of accesses: a new text counts as one.
            WHEN m.content_hash <> i.content_hash THEN 'rewritten since'
            WHEN a.t1 >= recall_private.epoch(p_plan.created_at) OR e.used THEN 'used since'
            WHEN NOT e.used THEN 'shown in results since'
            WHEN a.last_linked_at >= recall_private.epoch(p_plan.created_at)
                 OR (f.impact ->> 'links_in')::int > (i.impact ->> 'links_in')::int THEN 'linked since'
            WHEN v.zone <> 'dormant' THEN format('in the zone %s now', v.zone) END AS note
        FROM recall.plan_item i
        JOIN recall.memory m ON m.tenant = p_plan.tenant AND m.id = i.memory_id
        JOIN recall.activation a ON a.tenant = p_plan.tenant AND a.memory_id = i.memory_id
        JOIN recall_private.link_impacts(p_plan.tenant, v_ids) f ON f.memory_id = i.memory_id
        LEFT JOIN recall_private.live_memories(p_plan.tenant, p_now, p_ids => v_ids) v ON v.memory_id = i.memory_id
        LEFT JOIN recall.archival g
            ON g.tenant = p_plan.tenant AND g.memory_id = i.memory_id AND g.restored_at IS NULL
        LEFT JOIN (
            SELECT l.memory_id, bool_or(l.kind <> 'retrieval') AS used FROM recall.access l
            WHERE l.tenant = p_plan.tenant AND l.memory_id = ANY (v_ids) AND l.recorded_at >= p_plan.created_at
            GROUP BY l.memory_id) e ON e.memory_id = i.memory_id
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id) x
    WHERE x.note IS NOT NULL;
END $$;

-- skip_cutting: skips items of a plan without which a remaining memory would be disconnected, given the present links
-- and the items skipped before. Returns the number of live memories.
CREATE OR REPLACE FUNCTION recall_private.skip_cutting(p_plan recall.plan) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_forest record;
BEGIN
    SELECT k.* INTO v_forest
    FROM (SELECT array_agg(i.memory_id) AS ids, array_agg(i.vitality) AS vitalities FROM recall.plan_item i
          WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IS NULL) c
    CROSS JOIN LATERAL recall_private.keep_connected(p_plan.tenant, c.ids, c.vitalities) k;
    UPDATE recall.plan_item i
    SET outcome = 'skipped', note = CASE k.cut_size
        WHEN 0 THEN 'memories would be disconnected without it and others of the plan'
        WHEN 1 THEN '1 memory would be disconnected without it'
        ELSE format('%s memories would be disconnected without it', k.cut_size) END
    FROM recall_private.kept_back_candidates(p_plan.tenant, v_forest.nodes, v_forest.worth, v_forest.piece, v_forest.removal) k
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = k.memory_id;
    RETURN cardinality(v_forest.nodes);
END $$;

-- archive_planned: archives the memories of a prune plan; with p_parts only these. Sets the outcome of each item.
CREATE OR REPLACE FUNCTION recall_private.archive_planned(p_plan recall.plan, p_parts bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_live bigint;
    v_ids bigint[];
BEGIN
    -- Locked before any check: an access or a link from now on waits, and then restores its memory.
    PERFORM recall_private.lock_with_references(p_plan.tenant, ARRAY(
        SELECT i.memory_id FROM recall.plan_item i WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id));
    PERFORM recall_private.skip_other_parts(p_plan, p_parts);
    UPDATE recall.plan_item i SET outcome = 'skipped', note = o.note
    FROM recall_private.prune_objections(p_plan, p_now) o
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = o.memory_id AND i.outcome IS NULL;
    v_live := recall_private.skip_cutting(p_plan);
    v_ids := ARRAY(SELECT i.memory_id FROM recall.plan_item i
                   WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IS NULL);
    IF cardinality(v_ids) > recall_private.max_archivable(p_plan.options, v_live) THEN
        PERFORM recall_private.raise_invalid(format(
            'Prune plan %s would archive %s of %s live memories, more than its share of %s.',
            p_plan.id, cardinality(v_ids), v_live, p_plan.options ->> 'max_share'), 'Create a new plan.');
    END IF;
    v_ids := recall_private.archive_memories(p_plan.tenant, v_ids, 'pruned', p_plan.id, p_now);
    UPDATE recall.plan_item i SET outcome = 'archived'
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = ANY (v_ids);
END $$;

-- restore_planned: restores the memories that a prune plan archived, except those restored since, and returns how many.
CREATE OR REPLACE FUNCTION recall_private.restore_planned(p_plan recall.plan, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.lock_with_references(p_plan.tenant, ARRAY(
        SELECT i.memory_id FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome = 'archived'));
    RETURN cardinality(recall_private.restore_memories(p_plan.tenant, ARRAY(
        SELECT g.memory_id FROM recall.archival g
        WHERE g.tenant = p_plan.tenant AND g.plan_id = p_plan.id AND g.reason = 'pruned' AND g.restored_at IS NULL),
        p_now));
END $$;
