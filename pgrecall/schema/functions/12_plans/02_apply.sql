-- Applying, undoing and dropping plans. Apply checks every item again.

-- claim_plan: locks and returns the plan. Only one plan of its kind is applied or undone at a time in a tenant: two
-- transactions that prune would not see what the other one disconnects. While a dedupe plan is applied, no memory is
-- superseded, because together they could close a circle.
CREATE OR REPLACE FUNCTION recall_private.claim_plan(p_plan_id bigint) RETURNS recall.plan
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_kind text := (recall_private.require_plan(p_plan_id)).kind;
BEGIN
    PERFORM recall_private.lock_tenant(v_tenant, v_kind);
    IF v_kind = 'dedupe' THEN
        PERFORM recall_private.lock_tenant(v_tenant, 'supersede');
    ELSIF v_kind = 'redact' THEN  -- it takes words out of dedupe plans and comparisons
        PERFORM recall_private.lock_tenant(v_tenant, 'dedupe');
    END IF;
    PERFORM FROM recall.plan p WHERE p.tenant = v_tenant AND p.id = p_plan_id FOR UPDATE;
    RETURN recall_private.require_plan(p_plan_id);
END $$;

-- check_plan_applies: raises unless a plan can be applied at p_now: it is still planned, and not older than the setting.
CREATE OR REPLACE FUNCTION recall_private.check_plan_applies(p_plan recall.plan, p_now timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_name text := format('%s plan %s', initcap(p_plan.kind), p_plan.id);
    v_days double precision := recall_private.setting_number(p_plan.tenant, p_plan.kind || '.plan_days');
BEGIN
    IF p_plan.state <> 'planned' THEN
        PERFORM recall_private.raise_invalid(format('%s was already %s at %s.', v_name, p_plan.state,
            coalesce(p_plan.undone_at, p_plan.applied_at)), 'Create a new plan.');
    ELSIF recall_private.epoch(recall_private.require_moment(p_now)) - recall_private.epoch(p_plan.created_at) > 86400 * v_days THEN
        PERFORM recall_private.raise_invalid(format('%s has expired: it was created at %s, more than %s days ago.',
            v_name, p_plan.created_at, v_days), 'Create a new plan.');
    ELSIF p_plan.created_at > p_now + interval '5 minutes' THEN
        PERFORM recall_private.raise_invalid(format('%s was created for %s, which is in the future.',
            v_name, p_plan.created_at), 'Create a plan for now.');
    END IF;
END $$;

-- skip_other_parts: skips the items of a plan that do not belong to these parts; NULL means all parts. Raises an error if
-- the plan does not have one of them.
CREATE OR REPLACE FUNCTION recall_private.skip_other_parts(p_plan recall.plan, p_parts bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_part text := CASE p_plan.kind WHEN 'dedupe' THEN 'cluster' ELSE 'memory' END;
    v_unknown bigint;
BEGIN
    SELECT u INTO v_unknown FROM unnest(recall_private.require_one_dimension(p_parts)) u
    WHERE u IS NULL OR u NOT IN (
        SELECT CASE v_part WHEN 'memory' THEN i.memory_id ELSE i.place END FROM recall.plan_item i
        WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id) LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(
            format('%s plan %s has no %s %s.', initcap(p_plan.kind), p_plan.id, v_part, coalesce(v_unknown::text, 'NULL')),
            format('Name %s of the plan, or give NULL for all.', CASE v_part WHEN 'memory' THEN 'memories' ELSE 'clusters' END));
    END IF;
    UPDATE recall.plan_item i SET outcome = 'skipped', note = 'not chosen'
    WHERE i.tenant = p_plan.tenant AND i.plan_id = p_plan.id
      AND NOT CASE v_part WHEN 'memory' THEN i.memory_id ELSE i.place END = ANY (p_parts);
END $$;

-- apply_plan (app; Plans): archives the memories of a prune plan, merges the clusters of a dedupe plan into their
-- keepers, or replaces the secrets of a redact plan by placeholders, in one transaction; with p_parts only these
-- memories, or these clusters of a dedupe plan. Returns the outcome of each item in the order of the plan: archived,
-- kept, merged, redacted, or skipped with a note. Skipped are memories that were rewritten since, and but for a redact
-- plan those that were pinned or archived since; of a prune plan also those that were used or linked since, and those
-- without which a memory would now be disconnected; of a dedupe plan also those that were superseded since, and a
-- cluster if its keeper is skipped. Raises an error if the plan is expired, was applied before, does not have one of
-- p_parts, or would archive more than its share of the live memories.
CREATE OR REPLACE FUNCTION recall.apply_plan(
    p_plan_id bigint, p_now timestamptz DEFAULT now(), p_parts bigint[] DEFAULT NULL
) RETURNS TABLE (memory_id bigint, outcome text, note text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_plan recall.plan := recall_private.claim_plan(p_plan_id);
BEGIN
    PERFORM recall_private.check_plan_applies(v_plan, p_now);
    CASE v_plan.kind
        WHEN 'prune' THEN PERFORM recall_private.archive_planned(v_plan, p_parts, p_now);
        WHEN 'redact' THEN PERFORM recall_private.redact_planned(v_plan, p_parts, p_now);
        ELSE PERFORM recall_private.merge_clusters(v_plan, p_parts, p_now);
    END CASE;
    UPDATE recall.plan p SET state = 'applied', applied_at = p_now
    WHERE p.tenant = v_plan.tenant AND p.id = v_plan.id;
    RETURN QUERY
    SELECT i.memory_id, i.outcome, i.note FROM recall.plan_item i
    WHERE i.tenant = v_plan.tenant AND i.plan_id = v_plan.id
    ORDER BY i.place, NOT i.keeper, i.similarity DESC NULLS LAST, i.memory_id;
END $$;

-- undo_plan (app; Plans): restores the memories that a plan archived, except those restored since, and returns how
-- many. For a dedupe plan it also takes back what merging added to the keepers; a later plan that has merged one of its
-- memories must be undone first. Of a redact plan, it gives back the secrets to texts that did not change since.
CREATE OR REPLACE FUNCTION recall.undo_plan(p_plan_id bigint, p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_plan recall.plan := recall_private.claim_plan(p_plan_id);
    v_name text := format('%s plan %s', initcap(v_plan.kind), v_plan.id);
    v_restored bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now);
    IF v_plan.state <> 'applied' THEN
        PERFORM recall_private.raise_invalid(CASE v_plan.state
            WHEN 'planned' THEN v_name || ' has not been applied, so there is nothing to undo.'
            ELSE format('%s was already undone at %s.', v_name, v_plan.undone_at) END);
    END IF;
    v_restored := CASE v_plan.kind WHEN 'prune' THEN recall_private.restore_planned(v_plan, p_now)
                                   WHEN 'redact' THEN recall_private.unredact(v_plan, p_now)
                                   ELSE recall_private.unmerge_clusters(v_plan, p_now) END;
    UPDATE recall.plan p SET state = 'undone', undone_at = p_now
    WHERE p.tenant = v_plan.tenant AND p.id = v_plan.id;
    RETURN v_restored;
END $$;

-- drop_plan (app; Plans): deletes a plan that was never applied. A redact plan can be dropped in any state: what is
-- kept to undo it goes with it, for good.
CREATE OR REPLACE FUNCTION recall.drop_plan(p_plan_id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_plan recall.plan := recall_private.claim_plan(p_plan_id);
BEGIN
    IF v_plan.state <> 'planned' AND v_plan.kind <> 'redact' THEN
        PERFORM recall_private.raise_invalid(format('%s plan %s was applied, so it cannot be dropped.',
            initcap(v_plan.kind), v_plan.id), 'Undo and past moments need it.');
    END IF;
    DELETE FROM recall.plan p WHERE p.tenant = v_plan.tenant AND p.id = v_plan.id;
    RETURN true;
END $$;

-- wrong_plans: plans that contradict their items or the archivals. Undoing a prune plan closes its archivals; undoing a
-- dedupe plan deletes them.
CREATE OR REPLACE FUNCTION recall_private.wrong_plans(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT coalesce(i.plan_id, v.plan_id)
    FROM (SELECT o.*, p.state, p.kind FROM recall.plan_item o
          JOIN recall.plan p ON p.tenant = p_tenant AND p.id = o.plan_id
          WHERE o.tenant = p_tenant AND p.kind <> 'import') i
    FULL JOIN (
        SELECT o.plan_id, o.memory_id, o.reason, bool_or(o.restored_at IS NULL) AS current FROM recall.archival o
        WHERE o.tenant = p_tenant AND o.plan_id IS NOT NULL GROUP BY o.plan_id, o.memory_id, o.reason
    ) v ON v.plan_id = i.plan_id AND v.memory_id = i.memory_id
    WHERE i.plan_id IS NULL
       OR (i.state = 'planned') <> (i.outcome IS NULL)
       OR (i.kind = 'dedupe') <> (i.keeper IS NOT NULL)
       OR i.outcome NOT IN ('skipped', CASE WHEN i.keeper THEN 'kept' WHEN i.kind = 'prune' THEN 'archived'
                                             WHEN i.kind = 'redact' THEN 'redacted' ELSE 'merged' END)
       OR (v.plan_id IS NOT NULL) <> coalesce(
           i.outcome = 'archived' OR i.outcome = 'merged' AND i.state = 'applied', false)
       OR (v.reason = 'pruned') <> (i.kind = 'prune')
       OR (i.kind = 'prune' AND i.state = 'undone' AND v.current)
$$;
