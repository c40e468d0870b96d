-- Checks of imported rows: an imported row must pass the checks of the functions that would otherwise have stored it.

-- imported_conditions: conditions on the rows `t` of a kind, each with the reason why a row that violates it is refused. They
-- read other rows, need functions or are long; all others are constraints of the tables (`schema/tables/rules.py`).
CREATE OR REPLACE FUNCTION recall_private.imported_conditions(p_kind text) RETURNS TABLE (condition text, problem text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT c.condition, c.problem FROM (VALUES
    ('memory', 'EXISTS (SELECT FROM recall.languages() l WHERE l.name = t.language)', 'its language is unknown'),
    ('relevance_model', 't.form = ''logistic''', 'its form is not logistic'),
    ('relevance_model', 'NOT EXISTS (SELECT FROM jsonb_each_text(to_jsonb(t) - ''{tenant, embedder, profile, form, '
     'vitality_weight, vitality_mode, fitted_on}''::text[]) c WHERE NOT c.value::double precision BETWEEN CASE WHEN '
     'c.key IN (''intercept'', ''no_similarity'', ''no_token_similarity'') THEN -1000 ELSE 0 END AND 1000)',
     'a coefficient of it is out of bounds'),
    ('rerank_model', 't.reranker <> ''*''', 'the name of its reranker is *'),
    ('lexeme', 'l2_norm(t.mean_embedding) <= 1.01', 'its mean_embedding is longer than 1'),
    ('memory_version', 'octet_length(to_jsonb(t.tags)::text) <= 20000 AND octet_length(to_jsonb(t.aliases)::text) <= 20000',
     'its tags or aliases are too long'),
    ('memory_version', 'recall_private.metadata_problem(t.metadata) IS NULL', 'its metadata is larger than that of a memory may be'),
    ('token_signs', 'cardinality(t.signs) <= 32 AND (SELECT count(*) FILTER (WHERE bit_length(s) BETWEEN 1 AND 1024) '
     '= cardinality(t.signs) AND count(DISTINCT bit_length(s)) <= 1 FROM unnest(t.signs) s)',
     'its signs are not at most 32 of one length of 1 to 1,024 bits'),
    ('activation', 'least(t.first_at, t.t1, t.t2, t.t3, t.t4, t.t5, t.t6, t.t7, t.t8, t.spread_at, t.last_linked_at, '
     't.sessions_at) >= -62135424000 AND greatest(t.first_at, t.t1, t.t2, t.t3, t.t4, t.t5, t.t6, t.t7, t.t8, '
     't.spread_at, t.last_linked_at, t.sessions_at) < 253402128000', 'one of its times lies outside the years 1 to 9999'),
    ('activation', 'NOT EXISTS (SELECT FROM (SELECT u.at, lag(u.at) OVER (ORDER BY u.place) AS newer, u.place '
     'FROM unnest(ARRAY[t.t1, t.t2, t.t3, t.t4, t.t5, t.t6, t.t7, t.t8]) WITH ORDINALITY u(at, place)) o '
     'WHERE o.place > 1 AND o.at IS NOT NULL AND (o.newer >= o.at) IS NOT TRUE)',
     'its times do not go from the newest to the oldest'),
    ('access', 'num_nulls(t.spread_to, t.spread_by) <> 1 AND coalesce(cardinality(t.spread_to) = '
     'cardinality(t.spread_by) AND NOT EXISTS (SELECT FROM unnest(t.spread_to, t.spread_by) u(id, amount) '
     'WHERE (u.id IS NOT NULL AND u.amount BETWEEN 0 AND 1) IS NOT TRUE), true)',
     'its spread_to and spread_by are not as many ids and amounts from 0 to 1'),
    ('plan', 't.kind <> ''redact''', 'an export has no redact plans'),
    ('plan', 'CASE t.kind WHEN ''prune'' THEN recall_private.is_prune_report(t.options, t.report) '
     'WHEN ''import'' THEN recall_private.is_import_report(t.options, t.report) '
     'ELSE recall_private.is_dedupe_report(t.options, t.report) END', 'its options or report cannot be those of a plan'),
    ('plan_item', 't.findings IS NULL', 'an export has no redact plans'),
    ('plan_item', 'CASE WHEN t.before IS NOT NULL THEN ''import'' WHEN t.keeper IS NULL THEN ''prune'' ELSE ''dedupe'' END '
     '= (SELECT p.kind FROM recall.plan p WHERE p.id = t.plan_id AND p.tenant = recall.current_tenant())',
     'it is not an item of a plan of its kind'),
    ('plan_item', 'recall_private.is_import_state(t.before)', 'it does not say what its memory was before'),
    ('plan_item', 't.outcome IS DISTINCT FROM ''kept'' OR num_nulls(t.added_tags, t.added_aliases, '
     't.updated_before, t.folded_before, t.sessions_before) = 0', 'it does not say what its keeper was before'),
    ('search_log', 't.queries IS NULL OR NOT EXISTS (SELECT FROM unnest(t.queries) q WHERE (length(q) <= 10000) IS NOT TRUE)',
     'a query of it is null or has more than 10,000 characters'),
    ('search_log', 'coalesce(t.experiment <= 1000000, true)', 'its experiment is out of bounds')
    ) c(kind, condition, problem) WHERE c.kind = p_kind
$$;

-- is_prune_report: whether these can be the options and the report of a prune plan. Only fields that are read elsewhere
-- are checked.
CREATE OR REPLACE FUNCTION recall_private.is_prune_report(p_options jsonb, p_report jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_typeof(p_options) = 'object' AND jsonb_typeof(p_report) = 'object' AND NOT EXISTS (
        SELECT FROM jsonb_each(p_options || p_report) f
        WHERE jsonb_typeof(f.value) <> CASE
            WHEN f.key IN ('max_count', 'max_share', 'grace_days', 'revival_days', 'live', 'eligible', 'capped',
                           'planned', 'would_cut_off') THEN 'number'
            WHEN f.key IN ('kept_back', 'communities') THEN 'array'
            ELSE jsonb_typeof(f.value) END
            OR f.key = 'layers' AND jsonb_typeof(f.value) NOT IN ('array', 'null'))
$$;

-- is_import_report: whether these can be the options and the report of an import.
CREATE OR REPLACE FUNCTION recall_private.is_import_report(p_options jsonb, p_report jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(jsonb_typeof(p_options -> 'source') = 'string' AND NOT EXISTS (
    SELECT FROM jsonb_each(p_report) f WHERE jsonb_typeof(f.value) <> 'number'), false);

-- is_import_state: whether this can be what an import keeps of a memory; NULL is none.
CREATE OR REPLACE FUNCTION recall_private.is_import_state(p_before jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_before IS NULL OR coalesce(jsonb_typeof(p_before -> 'after') = 'object' AND (
    p_before = jsonb_build_object('after', p_before -> 'after')
    OR jsonb_typeof(p_before -> 'number') = 'number' AND jsonb_typeof(p_before -> 'links') = 'array'
       AND jsonb_typeof(p_before -> 'layer') = 'string' AND jsonb_typeof(p_before -> 'pinned') = 'boolean'), false);

-- column_condition: the condition on the row `t` for every column of this type: times and JSON that clients can read,
-- finite numbers, and arrays of one dimension that begin at 1. NULL for other types.
CREATE OR REPLACE FUNCTION recall_private.column_condition(p_column text, p_type regtype) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN p_type = 'timestamptz'::regtype
        THEN format('t.%1$I >= ''0001-01-03 UTC'' AND t.%1$I < ''9999-12-30 UTC''', p_column)
    WHEN p_type = 'jsonb'::regtype THEN format('recall_private.json_problem(t.%1$I) IS NULL', p_column)
    WHEN p_type = 'double precision'::regtype THEN format('t.%1$I > ''-Infinity'' AND t.%1$I < ''Infinity''', p_column)
    WHEN p_type::text LIKE '%[]' THEN format('array_ndims(t.%1$I) = 1 AND array_lower(t.%1$I, 1) = 1', p_column)
END;

-- check_imported_rows: raises an error for the first of these rows that could not have been stored otherwise.
CREATE OR REPLACE FUNCTION recall_private.check_imported_rows(p_tenant text, p_kind text, p_rows jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_table regclass := to_regclass('recall.' || quote_ident(p_kind));
    v_cases text;
    v_problem text;
BEGIN
    IF p_kind = 'setting' THEN
        PERFORM recall_private.check_imported_setting(r ->> 'name', r -> 'value') FROM jsonb_array_elements(p_rows) r;
    ELSIF p_kind = 'layer' THEN
        -- Checks rows with their defaults, as they will be stored.
        PERFORM recall_private.check_layer(l) FROM recall.layer l
        WHERE l.tenant = p_tenant AND l.name IN (SELECT r ->> 'name' FROM jsonb_array_elements(p_rows) r);
    ELSIF p_kind = 'memory' THEN
        v_problem := recall_private.imported_memory_problem(p_tenant, p_rows);
    END IF;
    -- Conditions of types come first, because other conditions rely on them.
    SELECT string_agg(format('WHEN NOT (%s) THEN %L', c.condition, c.problem), ' ' ORDER BY c.place) INTO v_cases
    FROM (
        SELECT 0 AS place, recall_private.column_condition(a.attname, a.atttypid) AS condition,
               format('its %s is out of bounds', a.attname) AS problem
        FROM pg_attribute a
        WHERE a.attrelid = v_table AND a.attname = ANY (recall_private.importable_columns(p_kind))
        UNION ALL
        SELECT 1, i.condition, i.problem FROM recall_private.imported_conditions(p_kind) i) c
    WHERE c.condition IS NOT NULL;
    IF v_problem IS NULL AND v_cases IS NOT NULL THEN
        EXECUTE format(
            'SELECT p.problem FROM jsonb_populate_recordset(NULL::%s, $1) t CROSS JOIN LATERAL (SELECT CASE %s END) '
            'p(problem) WHERE p.problem IS NOT NULL LIMIT 1', v_table, v_cases)
        INTO v_problem USING p_rows;
    END IF;
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(v_problem);
    END IF;
END $$;

-- check_imported_setting: raises an error unless this is a setting of a tenant with a value that set_setting or
-- set_language could have stored. A number must not be given as text.
CREATE OR REPLACE FUNCTION recall_private.check_imported_setting(p_name text, p_value jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_name = 'language' THEN
        IF NOT EXISTS (SELECT FROM recall.languages() l WHERE to_jsonb(l.name) = p_value) THEN
            PERFORM recall_private.raise_invalid(format('This server has no language %s', left(p_value::text, 100)));
        END IF;
    ELSIF p_name = 'statistics_at' THEN
        IF jsonb_typeof(p_value) <> 'string' OR NOT pg_input_is_valid(p_value #>> '{}', 'timestamptz') THEN
            PERFORM recall_private.raise_invalid(format('statistics_at is %s, which is not a time', left(p_value::text, 100)));
        END IF;
        PERFORM recall_private.require_moment((p_value #>> '{}')::timestamptz);
    ELSE
        PERFORM recall_private.check_setting(p_name, NULL);
        IF jsonb_typeof(p_value) IS DISTINCT FROM 'number' THEN
            PERFORM recall_private.raise_invalid(format('%s is %s, which is not a number', p_name, left(p_value::text, 100)));
        END IF;
        PERFORM recall_private.check_setting(p_name, p_value::double precision);
    END IF;
END $$;

-- imported_memory_problem: why remember would refuse one of these rows, else NULL. Times are compared with the last
-- change of the memory, because a memory keeps its created_at when it is rewritten.
CREATE OR REPLACE FUNCTION recall_private.imported_memory_problem(p_tenant text, p_rows jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_layers text[] := ARRAY(SELECT l.name FROM recall_private.effective_layers(p_tenant) l);
    v_row recall.memory;
    v_problem text;
BEGIN
    FOR v_row IN SELECT * FROM jsonb_populate_recordset(NULL::recall.memory, p_rows) LOOP
        v_row.created_at := greatest(v_row.created_at, v_row.updated_at);
        v_row.tags := coalesce(v_row.tags, '{}');
        v_row.aliases := coalesce(v_row.aliases, '{}');
        v_problem := coalesce(recall_private.draft_type_problem(v_row), recall_private.draft_problem(v_row, v_layers));
        EXIT WHEN v_problem IS NOT NULL;
    END LOOP;
    RETURN v_problem;
END $$;
