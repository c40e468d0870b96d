-- Exports of earlier versions. Before schema 0031 each kind of plan had its own tables, kinds of lines and ids. Session ids
-- had no limit. Before 0043 relevance had a coefficient `phrase`.

-- kind_of_line: the present name of a kind of lines.
CREATE OR REPLACE FUNCTION recall_private.kind_of_line(p_kind text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_kind IN ('prune_plan', 'dedupe_plan') THEN 'plan'
            WHEN p_kind IN ('prune_item', 'dedupe_item') THEN 'plan_item' ELSE p_kind END;

-- rows_of_one_plan: rows of an export with a table for each kind of plan, as rows of today. As in the upgrade, a prune
-- plan keeps its id, and the highest of these is added to the ids of dedupe plans. In cells, whose ids begin at N * 2^40,
-- it is the highest that counts from there.
CREATE OR REPLACE FUNCTION recall_private.rows_of_one_plan(p_tenant text, p_kind text, p_rows jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_added bigint := 0;
BEGIN
    IF p_kind NOT IN ('prune_plan', 'prune_item', 'dedupe_plan', 'dedupe_item', 'archival') THEN
        RETURN p_rows;
    ELSIF p_kind NOT LIKE 'prune%' THEN
        SELECT coalesce(max(p.id % (1::bigint << 40)) + (max(p.id) >> 40 > 0)::int, 0) INTO v_added
        FROM recall.plan p WHERE p.tenant = p_tenant AND p.kind = 'prune';
    END IF;
    RETURN (
        SELECT jsonb_agg(CASE p_kind
            WHEN 'prune_plan' THEN r || '{"kind": "prune"}'
            WHEN 'dedupe_plan' THEN r || jsonb_build_object('kind', 'dedupe', 'id', (r ->> 'id')::bigint + v_added)
            WHEN 'prune_item' THEN r || jsonb_build_object(
                'content_hash', r -> 'impact' -> 'content_hash', 'impact', (r -> 'impact') - 'content_hash')
            WHEN 'dedupe_item' THEN r - 'cluster' || jsonb_build_object(
                'place', r -> 'cluster', 'plan_id', (r ->> 'plan_id')::bigint + v_added)
            ELSE r || CASE r ->> 'reason' WHEN 'merged' THEN
                jsonb_build_object('plan_id', (r ->> 'plan_id')::bigint + v_added) ELSE '{}' END
            END ORDER BY u.place)
        FROM jsonb_array_elements(p_rows) WITH ORDINALITY u(r, place));
END $$;

-- present_row: a row of an export with a session id that can be stored, and without coefficients that are gone.
CREATE OR REPLACE FUNCTION recall_private.present_row(p_kind text, p_row jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_kind = 'relevance_model' AND jsonb_typeof(p_row) = 'object' THEN p_row - 'phrase'
            WHEN octet_length(p_row ->> 'session_id') > 1000 AND jsonb_typeof(p_row -> 'session_id') = 'string'
            THEN p_row || jsonb_build_object('session_id', recall_private.short_session(p_row ->> 'session_id'))
            ELSE p_row END;
