-- Plans: what pruning, merging duplicates or taking out secrets would change, stored so that a person can review, apply
-- and undo it. What differs by kind is in 12_prune, 13_dedupe and 13_redact.

-- require_plan: the plan with this id. Raises an error if there is none.
CREATE OR REPLACE FUNCTION recall_private.require_plan(p_plan_id bigint) RETURNS recall.plan
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_plan recall.plan;
BEGIN
    SELECT * INTO v_plan FROM recall.plan p
    WHERE p.tenant = (SELECT recall.current_tenant()) AND p.id = p_plan_id AND p.kind <> 'import';
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(
            format('There is no plan %s in this tenant.', coalesce(p_plan_id::text, 'NULL')),
            'List them with `pgrecall plan list`.');
    END IF;
    RETURN v_plan;
END $$;

-- add_plan: stores a plan without items and returns its id. Drops stale plans of its kind, except the newest 100.
CREATE OR REPLACE FUNCTION recall_private.add_plan(
    p_tenant text, p_kind text, p_options jsonb, p_report jsonb, p_now timestamptz
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_id bigint := recall_private.unused_row_id(p_tenant, 'plan');
BEGIN
    INSERT INTO recall.plan (tenant, id, kind, created_at, options, report)
    OVERRIDING SYSTEM VALUE
    VALUES (p_tenant, v_id, p_kind, p_now, p_options, p_report);
    PERFORM recall_private.drop_stale_plans(p_tenant, p_kind, 100, p_now);
    RETURN v_id;
END $$;

-- drop_stale_plans: deletes expired plans of a kind that were never applied, except the newest p_keep, and returns how
-- many. Otherwise a plan each day would fill the table.
CREATE OR REPLACE FUNCTION recall_private.drop_stale_plans(p_tenant text, p_kind text, p_keep int, p_now timestamptz)
RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    WITH stale AS MATERIALIZED (
        SELECT s.id FROM recall.plan s
        WHERE s.tenant = p_tenant AND s.kind = p_kind AND s.state = 'planned' AND s.created_at < p_now
              - make_interval(secs => 86400 * recall_private.setting_number(p_tenant, p_kind || '.plan_days'))
        ORDER BY s.id DESC OFFSET p_keep
    ), free AS MATERIALIZED (
        -- Checks the state again: a plan that is being applied is locked, and skipped.
        SELECT p.id FROM recall.plan p
        WHERE p.tenant = p_tenant AND p.id IN (SELECT s.id FROM stale s) AND p.state = 'planned'
        ORDER BY p.id FOR UPDATE SKIP LOCKED
    ), dropped AS (
        DELETE FROM recall.plan p USING free f WHERE p.tenant = p_tenant AND p.id = f.id
        RETURNING p.id
    )
    SELECT count(*) FROM dropped
$$;

-- plans (reader; Plans): the newest plans, newest first; only the one with this id, or those of this kind, `prune`,
-- `dedupe` or `redact`. How many memories each planned to change, and the outcome of its items. A merged or redacted
-- memory counts as archived, so that clients of earlier versions count it. A prune plan also has how many candidates it
-- kept back, a dedupe plan its clusters and the contradictions that it proposes.
CREATE OR REPLACE FUNCTION recall.plans(
    p_limit int DEFAULT 20, p_plan_id bigint DEFAULT NULL, p_kind text DEFAULT NULL
) RETURNS TABLE (
    id bigint, kind text, state text, created_at timestamptz, applied_at timestamptz, undone_at timestamptz,
    planned bigint, archived bigint, skipped bigint, kept_back bigint, clusters bigint, contradictions bigint
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 10000, 'p_limit');
    IF p_kind NOT IN ('prune', 'dedupe', 'redact') THEN
        PERFORM recall_private.raise_invalid(
            format('There is no kind of plan %L.', left(p_kind, 100)), 'Use prune, dedupe or redact.');
    END IF;
    RETURN QUERY
    SELECT p.id, p.kind, p.state, p.created_at, p.applied_at, p.undone_at, (p.report ->> 'planned')::bigint,
           i.archived, i.skipped,
           (p.report ->> 'eligible')::bigint - (p.report ->> 'capped')::bigint - (p.report ->> 'planned')::bigint,
           (p.report ->> 'clusters')::bigint, jsonb_array_length(p.report -> 'contradictions')::bigint
    FROM (
        SELECT * FROM recall.plan x
        WHERE x.tenant = v_tenant AND (p_plan_id IS NULL OR x.id = p_plan_id)
          AND CASE WHEN p_kind IS NULL THEN x.kind <> 'import' ELSE x.kind = p_kind END
        ORDER BY x.id DESC LIMIT p_limit) p
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE y.outcome IN ('archived', 'merged', 'redacted')) AS archived,
               count(*) FILTER (WHERE y.outcome = 'skipped' AND y.keeper IS NOT TRUE) AS skipped
        FROM recall.plan_item y WHERE y.tenant = p.tenant AND y.plan_id = p.id) i
    ORDER BY p.id DESC;
END $$;

-- get_plan (reader; Plans): a plan as one JSON document, with up to p_limit of its parts, in their order, after the
-- first p_offset: the `items` of a prune or redact plan (at most 10,000), or the `clusters` of a dedupe plan (at most
-- 1,000). What merging a cluster would move is computed now. Differences have the first `compared_characters` of each
-- text: 20,000, and fewer if more than 50 memories are merged. Texts that differ are whole in them: clients compare
-- them word by word.
CREATE OR REPLACE FUNCTION recall.get_plan(p_plan_id bigint, p_limit int DEFAULT 1000, p_offset int DEFAULT 0)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_plan recall.plan := recall_private.require_plan(p_plan_id);
    v_most int := CASE v_plan.kind WHEN 'dedupe' THEN 1000 ELSE 10000 END;
BEGIN
    IF NOT coalesce(p_limit BETWEEN 0 AND v_most AND p_offset >= 0, false) THEN
        PERFORM recall_private.raise_invalid(format(
            'A page of %s %s after the first %s cannot be read.', coalesce(p_limit::text, 'NULL'),
            CASE v_plan.kind WHEN 'dedupe' THEN 'clusters' ELSE 'items' END, coalesce(p_offset::text, 'NULL')),
            format('Give a limit from 0 to %s and an offset of at least 0.', to_char(v_most, 'FM99,999')));
    END IF;
    RETURN to_jsonb(v_plan) - 'tenant' || CASE v_plan.kind
        WHEN 'prune' THEN recall_private.prune_plan_parts(v_plan, p_limit, p_offset)
        WHEN 'redact' THEN recall_private.redact_plan_parts(v_plan, p_limit, p_offset)
        ELSE recall_private.dedupe_plan_parts(v_plan, p_limit, p_offset) END;
END $$;
