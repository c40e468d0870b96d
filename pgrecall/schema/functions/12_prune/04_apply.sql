-- Applying and undoing prune plans. Apply checks every item again.

-- claim_plan: locks and returns the plan. Only one plan of a tenant is applied or undone at a time, since two
-- transactions would not see what the other one disconnects.
CREATE OR REPLACE FUNCTION recall.claim_plan(p_plan_id bigint) RETURNS recall.prune_plan
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall.lock_tenant(v_tenant, 'prune');
    PERFORM FROM recall.prune_plan p WHERE p.tenant = v_tenant AND p.id = p_plan_id FOR UPDATE;
    RETURN recall.require_plan(p_plan_id);
END $$;

-- check_plan_applies: raises unless a plan of this kind (`Prune` or `Dedupe`) can be applied at p_now: it is still planned,
-- and at most p_days old. p_ended_at is when it was applied or undone.
CREATE OR REPLACE FUNCTION recall.check_plan_applies(
    p_kind text, p_id bigint, p_state text, p_created_at timestamptz, p_ended_at timestamptz, p_days double precision,
    p_now timestamptz
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_state <> 'planned' THEN
        PERFORM recall.raise_invalid(format('%s plan %s was already %s at %s.', p_kind, p_id, p_state, p_ended_at),
            'Create a new plan.');
    ELSIF recall.epoch(recall.require_moment(p_now)) - recall.epoch(p_created_at) > 86400 * p_days THEN
        PERFORM recall.raise_invalid(format('%s plan %s has expired: it was created at %s, more than %s days ago.',
            p_kind, p_id, p_created_at, p_days), 'Create a new plan.');
    ELSIF p_created_at > p_now + interval '5 minutes' THEN
        PERFORM recall.raise_invalid(format('%s plan %s was created for %s, which is in the future.',
            p_kind, p_id, p_created_at), 'Create a plan for now.');
    END IF;
END $$;

-- prune_objections: the items of a plan that must not be archived at p_now, each with its reason.
CREATE OR REPLACE FUNCTION recall.prune_objections(p_plan recall.prune_plan, p_now timestamptz)
RETURNS TABLE (memory_id bigint, note text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET enable_nestloop = off
SET jit = off AS $$
DECLARE
    v_ids bigint[] := ARRAY(
        SELECT i.memory_id FROM recall.prune_item i WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id);
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
            WHEN m.content_hash <> i.impact ->> 'content_hash' THEN 'rewritten since'
            WHEN a.t1 >= recall.epoch(p_plan.created_at) OR e.used THEN 'used since'
            WHEN NOT e.used THEN 'shown in results since'
            WHEN a.last_linked_at >= recall.epoch(p_plan.created_at)
                 OR (f.impact ->> 'links_in')::int > (i.impact ->> 'links_in')::int THEN 'linked since'
            WHEN v.zone <> 'dormant' THEN format('in the zone %s now', v.zone) END AS note
        FROM recall.prune_item i
        JOIN recall.memory m ON m.tenant = p_plan.tenant AND m.id = i.memory_id
        JOIN recall.activation a ON a.tenant = p_plan.tenant AND a.memory_id = i.memory_id
        JOIN recall.link_impacts(p_plan.tenant, v_ids) f ON f.memory_id = i.memory_id
        LEFT JOIN recall.live_memories(p_plan.tenant, p_now, p_ids => v_ids) v ON v.memory_id = i.memory_id
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
CREATE OR REPLACE FUNCTION recall.skip_cutting(p_plan recall.prune_plan) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_net record;
BEGIN
    SELECT k.* INTO v_net
    FROM (SELECT array_agg(i.memory_id) AS ids, array_agg(i.vitality) AS vitalities FROM recall.prune_item i
          WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.outcome IS NULL) c
    CROSS JOIN LATERAL recall.keep_connected(p_plan.tenant, c.ids, c.vitalities) k;
    UPDATE recall.prune_item i
    SET outcome = 'skipped', note = CASE k.cut_size
        WHEN 0 THEN 'memories would be disconnected without it and others of the plan'
        WHEN 1 THEN '1 memory would be disconnected without it'
        ELSE format('%s memories would be disconnected without it', k.cut_size) END
    FROM recall.kept_back_candidates(p_plan.tenant, v_net.nodes, v_net.worth, v_net.piece, v_net.going) k
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = k.memory_id;
    RETURN cardinality(v_net.nodes);
END $$;

-- skip_others: skips the items of a plan that are not among these. Raises an error if one of these is no item of it.
CREATE OR REPLACE FUNCTION recall.skip_others(p_plan recall.prune_plan, p_only bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_strange bigint := (
        SELECT o FROM unnest(p_only) o WHERE NOT EXISTS (
            SELECT FROM recall.prune_item i
            WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND i.memory_id = o) LIMIT 1);
BEGIN
    IF v_strange IS NOT NULL OR array_position(p_only, NULL) IS NOT NULL THEN
        PERFORM recall.raise_invalid(format('Prune plan %s does not contain memory %s.', p_plan.id,
            coalesce(v_strange::text, 'NULL')), 'Give ids of items of the plan.');
    END IF;
    UPDATE recall.prune_item i SET outcome = 'skipped', note = 'not chosen'
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id AND NOT i.memory_id = ANY (p_only);
END $$;

-- apply_prune: archives the memories of a plan in one transaction and returns the outcome of each item, in the order of
-- the plan: archived, or skipped with a note. Items that were used, linked, pinned or changed since, and those
-- without which a memory would now be disconnected, are skipped; with p_only also those that it does not name. Raises
-- an error if the plan is expired, was applied before, would archive more than its share of the live memories, or does
-- not contain all memories that p_only names.
CREATE OR REPLACE FUNCTION recall.apply_prune(
    p_plan_id bigint, p_now timestamptz DEFAULT now(), p_only bigint[] DEFAULT NULL
) RETURNS TABLE (memory_id bigint, outcome text, note text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_plan recall.prune_plan := recall.claim_plan(p_plan_id);
    v_live bigint;
    v_ids bigint[];
BEGIN
    PERFORM recall.check_plan_applies(
        'Prune', v_plan.id, v_plan.state, v_plan.created_at, coalesce(v_plan.undone_at, v_plan.applied_at),
        recall.setting_number(v_plan.tenant, 'prune.plan_days'), p_now);
    IF p_only IS NOT NULL THEN
        PERFORM recall.skip_others(v_plan, p_only);
    END IF;
    -- Locked before any check: an access or a link from now on waits, and then restores its memory.
    PERFORM recall.lock_with_references(v_plan.tenant, ARRAY(
        SELECT i.memory_id FROM recall.prune_item i WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id));
    UPDATE recall.prune_item i SET outcome = 'skipped', note = o.note
    FROM recall.prune_objections(v_plan, p_now) o
    WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id AND i.memory_id = o.memory_id AND i.outcome IS NULL;
    v_live := recall.skip_cutting(v_plan);
    v_ids := ARRAY(SELECT i.memory_id FROM recall.prune_item i
                   WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id AND i.outcome IS NULL);
    IF cardinality(v_ids) > recall.max_archivable(v_plan.options, v_live) THEN
        PERFORM recall.raise_invalid(format(
            'Prune plan %s would archive %s of %s live memories, more than its share of %s.',
            v_plan.id, cardinality(v_ids), v_live, v_plan.options ->> 'max_share'), 'Create a new plan.');
    END IF;
    v_ids := recall.archive_memories(v_plan.tenant, v_ids, 'pruned', v_plan.id, p_now);
    UPDATE recall.prune_item i SET outcome = 'archived'
    WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id AND i.memory_id = ANY (v_ids);
    UPDATE recall.prune_plan p SET state = 'applied', applied_at = p_now
    WHERE p.tenant = v_plan.tenant AND p.id = v_plan.id;
    RETURN QUERY
    SELECT i.memory_id, i.outcome, i.note FROM recall.prune_item i
    WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id ORDER BY i.place;
END $$;

-- undo_prune: restores the memories that a plan archived, except those restored since, and returns how many.
CREATE OR REPLACE FUNCTION recall.undo_prune(p_plan_id bigint, p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_plan recall.prune_plan := recall.claim_plan(p_plan_id);
    v_restored bigint[];
BEGIN
    PERFORM recall.require_moment(p_now);
    IF v_plan.state <> 'applied' THEN
        PERFORM recall.raise_invalid(CASE v_plan.state
            WHEN 'planned' THEN format('Prune plan %s has not been applied, so there is nothing to undo.', v_plan.id)
            ELSE format('Prune plan %s was already undone at %s.', v_plan.id, v_plan.undone_at) END);
    END IF;
    PERFORM recall.lock_with_references(v_plan.tenant, ARRAY(
        SELECT i.memory_id FROM recall.prune_item i
        WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id AND i.outcome = 'archived'));
    v_restored := recall.restore_memories(v_plan.tenant, ARRAY(
        SELECT g.memory_id FROM recall.archival g
        WHERE g.tenant = v_plan.tenant AND g.plan_id = v_plan.id AND g.reason = 'pruned' AND g.restored_at IS NULL),
        p_now);
    UPDATE recall.prune_plan p SET state = 'undone', undone_at = p_now
    WHERE p.tenant = v_plan.tenant AND p.id = v_plan.id;
    RETURN cardinality(v_restored);
END $$;
