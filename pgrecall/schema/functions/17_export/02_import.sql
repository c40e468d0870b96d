-- Import: restores a tenant from the lines of an export. In one transaction: begin_import with the first line,
-- import_lines with all others in their order, in batches of any size, end_import. Until the end the tenant has the
-- setting `import`, which reveals a transaction that was committed too early.

-- import_problem: why an export with this header cannot be imported, else NULL.
CREATE OR REPLACE FUNCTION recall_private.import_problem(p_header jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN jsonb_typeof(p_header) IS DISTINCT FROM 'object' OR p_header ->> 'pgrecall' IS DISTINCT FROM 'export'
            THEN 'This is not an export of pgrecall: its first line is not a header.'
        WHEN jsonb_typeof(p_header -> 'format') IS DISTINCT FROM 'number'
            OR jsonb_typeof(p_header -> 'counts') IS DISTINCT FROM 'object'
            OR jsonb_typeof(p_header -> 'embeddings') IS DISTINCT FROM 'boolean'
            OR jsonb_typeof(p_header -> 'dimensions') IS DISTINCT FROM 'number'
            OR NOT pg_input_is_valid(coalesce(p_header ->> 'exported_at', ''), 'timestamptz')
            OR jsonb_path_exists(p_header -> 'counts', '$.* ? (
                   @.type() != "number" || @ != @.floor() || @ < 0 || @ > 1000000000000000)')
            THEN 'The first line of this export was changed.'
        WHEN (p_header ->> 'format')::numeric <> 1
            THEN format('The export has format %s; this version of pgrecall reads format 1.', p_header ->> 'format')
        WHEN NOT ARRAY(SELECT k.kind FROM recall_private.export_kinds() k) @> ARRAY(
            SELECT recall_private.kind_of_line(k) FROM jsonb_object_keys(p_header -> 'counts') k)
            THEN 'The export has kinds of lines that this version of pgrecall does not know.' END
$$;

-- tenant_holdings: the data that a tenant already has, in words; NULL if none. Runs of jobs and empty statistics do
-- not count.
CREATE OR REPLACE FUNCTION recall_private.tenant_holdings(p_tenant text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT string_agg(format('%s %s%s', h.many, h.thing, CASE WHEN h.many > 1 THEN h.plural END), ', ' ORDER BY h.place)
    FROM (
        SELECT 1 AS place, count(*) AS many, 'memor' AS thing, 'ies' AS plural
        FROM recall.memory m WHERE m.tenant = p_tenant
        UNION ALL SELECT 2, count(*), 'plan', 's' FROM recall.plan p WHERE p.tenant = p_tenant
        UNION ALL SELECT 3, count(*), 'logged search', 'es' FROM recall.search_log s WHERE s.tenant = p_tenant
        UNION ALL SELECT 4, count(*), 'layer', 's' FROM recall.layer l WHERE l.tenant = p_tenant
        UNION ALL SELECT 5, count(*), 'setting', 's'
        FROM recall.setting s WHERE s.tenant = p_tenant AND s.name NOT IN ('statistics_at', 'changes.era')
        UNION ALL SELECT 6, count(*), 'calibrated model', 's' FROM (
            SELECT FROM recall.relevance_model r WHERE r.tenant = p_tenant
            UNION ALL SELECT FROM recall.rerank_model r WHERE r.tenant = p_tenant) c) h
    WHERE h.many > 0
$$;

-- begin_import (app; Export and import): prepares this tenant, which must be empty, for an export with this header, and
-- returns the header. Nothing else can be stored in the tenant until the transaction ends. Without p_embeddings the
-- vectors of the export are skipped; with them the database must have the same dimensions and embedder.
CREATE OR REPLACE FUNCTION recall.begin_import(p_header text, p_embeddings boolean DEFAULT true) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_header jsonb := CASE WHEN p_header IS JSON OBJECT THEN p_header::jsonb END;
    v_problem text := recall_private.import_problem(v_header);
    v_holdings text;
BEGIN
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(v_problem, 'Give the output of recall.export_lines, memory.export.write() or '
            '`pgrecall export`, to a pgrecall that is not older than the one that wrote it.');
    END IF;
    PERFORM recall_private.lock_rules(v_tenant);
    v_holdings := recall_private.tenant_holdings(v_tenant);
    IF v_holdings IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(
            format('Tenant %L is not empty: it has %s.', v_tenant, v_holdings),
            'Import the export into another tenant, which can have any name.');
    ELSIF NOT EXISTS (SELECT FROM recall.languages() l WHERE l.name = v_header ->> 'language') THEN
        PERFORM recall_private.raise_invalid(
            format('This server does not have %L, the language of the export.', left(v_header ->> 'language', 100)));
    END IF;
    IF p_embeddings AND (v_header ->> 'embeddings')::boolean THEN
        PERFORM recall_private.check_import_vectors(v_header);
    END IF;
    DELETE FROM recall.setting s WHERE s.tenant = v_tenant AND s.name <> 'changes.era';
    DELETE FROM recall.lexeme w WHERE w.tenant = v_tenant;
    DELETE FROM recall.layer_median d WHERE d.tenant = v_tenant;
    INSERT INTO recall.setting (tenant, name, value) VALUES (v_tenant, 'import', jsonb_build_object(
        'line', 1, 'embeddings', p_embeddings, 'came', '{}'::jsonb, 'promised', (
            SELECT jsonb_object_agg(c.kind, c.many) FROM (
                SELECT recall_private.kind_of_line(e.key) AS kind, sum(e.value::numeric) AS many
                FROM jsonb_each(v_header -> 'counts') e GROUP BY 1) c),
        'plans_by_kind', v_header -> 'counts' ?| '{prune_plan, dedupe_plan}'));
    RETURN v_header;
END $$;

-- import_part: stores these lines and returns how many there were of each kind. p_state is that of import_state. Raises an
-- error for a line that cannot be stored.
CREATE OR REPLACE FUNCTION recall_private.import_part(p_tenant text, p_lines text[], p_state jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_embeddings boolean := (p_state ->> 'embeddings')::boolean;
    v_part record;
    v_kind text;
    v_counts jsonb := '{}';
BEGIN
    FOR v_part IN
        SELECT o.key AS kind, count(*) AS many, jsonb_agg(CASE
                   WHEN o.key = 'memory' AND NOT v_embeddings THEN v.row - '{embedded_with, passage_count}'::text[]
                   ELSE v.row END ORDER BY l.place) AS rows,
               bool_and(jsonb_typeof(o.value) = 'object') AS whole
        FROM unnest(p_lines) WITH ORDINALITY l(line, place) CROSS JOIN LATERAL jsonb_each(l.line::jsonb) o
             CROSS JOIN LATERAL (SELECT recall_private.present_row(o.key, o.value) AS row) v
        GROUP BY o.key ORDER BY min(l.place)
    LOOP
        IF NOT v_part.whole THEN
            PERFORM recall_private.raise_invalid(format('its %s is not a JSON object', left(v_part.kind, 100)));
        END IF;
        v_kind := recall_private.kind_of_line(v_part.kind);
        IF (p_state -> 'plans_by_kind')::boolean THEN
            v_part.rows := recall_private.rows_of_one_plan(p_tenant, v_part.kind, v_part.rows);
        END IF;
        IF v_embeddings OR v_kind NOT IN ('vector', 'passage', 'token_signs') THEN
            PERFORM recall_private.import_rows(p_tenant, v_kind, v_part.rows);
        END IF;
        v_counts := recall_private.added_counts(v_counts, jsonb_build_object(v_kind, v_part.many));
    END LOOP;
    RETURN v_counts;
END $$;

-- import_lines (app; Export and import): stores the next lines of the export and returns the number of lines so far,
-- including the first. Raises an error with the number of a line that cannot be stored, and the reason.
CREATE OR REPLACE FUNCTION recall.import_lines(p_lines text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET timezone = 'UTC' AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_state jsonb := recall_private.import_state(v_tenant);
    v_counts jsonb;
    v_line bigint := (v_state ->> 'line')::bigint;
    v_constraint text;
BEGIN
    PERFORM recall_private.analyze_grown_tables(cardinality(p_lines));
    BEGIN
        v_counts := recall_private.import_part(v_tenant, p_lines, v_state);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded OR undefined_object THEN
        -- One by one, to find the line. If each can be stored, their fields differ, and a missing one has its default.
        v_counts := '{}';
        FOR i IN 1 .. cardinality(p_lines) LOOP
            BEGIN
                v_counts := recall_private.added_counts(
                    v_counts, recall_private.import_part(v_tenant, p_lines[i : i], v_state));
            EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded
                        OR undefined_object THEN
                GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
                PERFORM recall_private.raise_invalid(
                    format('Line %s of the export cannot be imported: %s.', v_line + i, coalesce(
                        (SELECT coalesce(obj_description(c.oid), rtrim(left(SQLERRM, 500), '.') || ', which demands '
                                         || pg_get_expr(c.conbin, c.conrelid))
                         FROM pg_constraint c WHERE c.connamespace = 'recall'::regnamespace AND c.conname = v_constraint
                           AND c.contype = 'c' AND c.conparentid = 0 AND c.coninhcount = 0),
                        rtrim(left(SQLERRM, 500), '.'))),
                    'The file is damaged or was changed; nothing was stored.');
            END;
        END LOOP;
    END;
    v_line := v_line + coalesce(cardinality(p_lines), 0);
    UPDATE recall.setting s SET value = v_state || jsonb_build_object('line', v_line, 'came', (
        SELECT jsonb_object_agg(k.kind, coalesce((v_state #>> ARRAY['came', k.kind])::bigint, 0)
                                        + coalesce((v_counts ->> k.kind)::bigint, 0))
        FROM recall_private.export_kinds() k))
    WHERE s.tenant = v_tenant AND s.name = 'import';
    RETURN v_line;
END $$;

-- import_state: the progress of the import of this tenant. Raises an error if none has begun.
CREATE OR REPLACE FUNCTION recall_private.import_state(p_tenant text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_state jsonb;
BEGIN
    SELECT s.value INTO v_state FROM recall.setting s
    WHERE s.tenant = p_tenant AND s.name = 'import' FOR UPDATE;
    IF v_state IS NULL THEN
        PERFORM recall_private.raise_invalid('No import has begun in this tenant.', 'Give the first line to begin_import.');
    END IF;
    RETURN v_state;
END $$;

-- end_import (app; Export and import): checks that all lines announced in the header have arrived, and returns how many
-- there were of each kind.
CREATE OR REPLACE FUNCTION recall.end_import() RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_state jsonb := recall_private.import_state(v_tenant);
    v_missing record;
    v_memory bigint;
BEGIN
    SELECT k.kind, p.promised, p.came INTO v_missing
    FROM recall_private.export_kinds() WITH ORDINALITY k(kind, numbered, place)
    CROSS JOIN LATERAL (
        SELECT coalesce((v_state #>> ARRAY['promised', k.kind])::bigint, 0) AS promised,
               coalesce((v_state #>> ARRAY['came', k.kind])::bigint, 0) AS came) p
    WHERE p.promised <> p.came ORDER BY k.place LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(
            format('The export is incomplete: its first line announces %s lines of the kind %s, but it has %s.',
                   v_missing.promised, v_missing.kind, v_missing.came),
            'The file was cut off or changed; nothing was stored.');
    END IF;
    -- No read would find such a memory: each joins both.
    SELECT m.id INTO v_memory FROM recall.memory m
    LEFT JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE m.tenant = v_tenant AND a.memory_id IS NULL ORDER BY m.id LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('The export has memory %s without its activation.', v_memory),
            'The file was changed; nothing was stored.');
    END IF;
    IF EXISTS (SELECT FROM recall_private.circular_successors(v_tenant)) THEN
        PERFORM recall_private.raise_invalid('The export has a memory that supersedes itself, directly or through others.',
            'The file was changed; nothing was stored.');
    END IF;
    DELETE FROM recall.setting s WHERE s.tenant = v_tenant AND s.name = 'import';
    PERFORM recall_private.check_imported_ids(v_tenant, k.kind) FROM recall_private.export_kinds() k WHERE k.numbered;
    RETURN v_state -> 'came';
END $$;
