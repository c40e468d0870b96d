-- Export: all data of a tenant as lines of JSON, from which import_lines restores it. Ids are kept, so references to
-- them stay valid. Accesses, archivals and histories have no ids; their order matters instead. Data of the server is
-- not exported: keys of the HTTP service, bindings of roles, runs of jobs, the log of changes.

-- export_kinds: the kinds of lines of an export in their order, named after the tables. A line comes after all lines
-- that it refers to. `numbered` kinds have an id that others refer to.
CREATE OR REPLACE FUNCTION recall_private.export_kinds() RETURNS TABLE (kind text, numbered boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    VALUES ('setting', false), ('layer', false), ('layer_median', false), ('relevance_model', false),
           ('rerank_model', false), ('lexeme', false), ('memory', true), ('memory_version', false), ('vector', false), ('passage', false),
           ('token_signs', false),
           ('supersession', false),
           ('activation', false), ('link', false), ('pending_link', false), ('link_history', false),
           ('access', false), ('access_key', false), ('access_queue', false), ('plan', true),
           ('plan_item', false), ('archival', false), ('floor_change', false), ('search_log', true),
           ('judgement', false)
$$;

-- exported_settings: the settings of a tenant, and those of the database that differ from the default.
CREATE OR REPLACE FUNCTION recall_private.exported_settings(p_tenant text) RETURNS SETOF recall.setting
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT ON (s.name COLLATE "C") s.* FROM recall.setting s
    WHERE s.tenant = p_tenant AND s.name NOT IN ('import', 'changes.era')
       OR s.tenant = '*' AND (s.name = 'language' OR s.name IN (SELECT k.name FROM recall_private.known_settings() k))
    ORDER BY s.name COLLATE "C", s.tenant = '*'
$$;

-- exported_layers: the layers of a tenant, and those of the database that differ from the shipped ones.
CREATE OR REPLACE FUNCTION recall_private.exported_layers(p_tenant text) RETURNS SETOF recall.layer
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT ON (l.name COLLATE "C") l.*
    FROM recall.layer l
    LEFT JOIN recall.presets() p ON p.preset = 'default' AND p.layer = l.name
    WHERE l.tenant = p_tenant OR l.tenant = '*' AND (
        l.metabolic_rate, l.reading, l.base_decay, l.birth_weight, l.active, l.stale, l.fading) IS DISTINCT FROM (
        p.metabolic_rate, p.reading, p.base_decay, p.birth_weight, p.active, p.stale, p.fading)
    ORDER BY l.name COLLATE "C", l.tenant = '*'
$$;

-- exported_plans: the plans of a tenant but for redact plans: what they took out must leave with no file, and what they
-- found is found again.
CREATE OR REPLACE FUNCTION recall_private.exported_plans(p_tenant text) RETURNS SETOF recall.plan
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT p.* FROM recall.plan p WHERE p.tenant = p_tenant AND p.kind <> 'redact' ORDER BY p.id
$$;

-- export_counts: the number of lines of each kind in an export of this tenant, with or without vectors.
CREATE OR REPLACE FUNCTION recall_private.export_counts(p_tenant text, p_embeddings boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_counts jsonb := '{}';
    v_kind text;
    v_count bigint;
BEGIN
    FOR v_kind IN SELECT k.kind FROM recall_private.export_kinds() k LOOP
        EXECUTE CASE v_kind
            WHEN 'setting' THEN 'SELECT count(*) FROM recall_private.exported_settings($1)'
            WHEN 'layer' THEN 'SELECT count(*) FROM recall_private.exported_layers($1)'
            WHEN 'vector' THEN
                'SELECT count(*) FROM recall_private.stored_vectors($1, NULL) WHERE $2'
            WHEN 'passage' THEN 'SELECT count(*) FROM recall_private.stored_passages($1, NULL) WHERE $2'
            WHEN 'token_signs' THEN 'SELECT count(*) FROM recall.token_signs s WHERE s.tenant = $1 AND $2'
            WHEN 'plan' THEN 'SELECT count(*) FROM recall_private.exported_plans($1)'
            WHEN 'plan_item' THEN 'SELECT count(*) FROM recall.plan_item i WHERE i.tenant = $1 AND i.findings IS NULL'
            WHEN 'supersession' THEN
                'SELECT count(*) FROM recall.memory m WHERE m.tenant = $1 AND m.superseded_by IS NOT NULL'
            ELSE format('SELECT count(*) FROM recall.%I t WHERE t.tenant = $1', v_kind) END
        INTO v_count USING p_tenant, p_embeddings;
        v_counts := v_counts || jsonb_build_object(v_kind, v_count);
    END LOOP;
    RETURN v_counts;
END $$;

-- export_header: the first line of an export: version, origin, time, and the number of lines that follow.
CREATE OR REPLACE FUNCTION recall_private.export_header(p_embeddings boolean, p_made_by text, p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'pgrecall', 'export', 'format', 1, 'tenant', t.tenant, 'made_by', p_made_by, 'revision', i.revision,
        'exported_at', recall_private.require_moment(p_now), 'dimensions', i.dimensions, 'language', recall_private.language(t.tenant),
        'embeddings', p_embeddings, 'embedder', recall_private.setting_value('*', 'embedding.model'),
        'counts', recall_private.export_counts(t.tenant, p_embeddings))
    FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) t CROSS JOIN recall.installation() i
$$;

-- export_line: a row of a table as a line of an export.
CREATE OR REPLACE FUNCTION recall_private.export_line(p_kind text, p_row jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_object(p_kind, p_row - 'tenant')::text;

-- export_lines (reader; Export and import): all data of this tenant, one line of JSON a row: a header, then the kinds
-- in the order of export_kinds, from one snapshot. In the select list (SELECT recall.export_lines()) rows are computed
-- while they are fetched, so a cursor needs little memory for any size. Without p_embeddings vectors are left out; a
-- worker computes them again.
CREATE OR REPLACE FUNCTION recall.export_lines(
    p_embeddings boolean DEFAULT true, p_made_by text DEFAULT 'SQL', p_now timestamptz DEFAULT now()
) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT
-- Fixes the output format of times and numbers, and the order of the parts.
SET timezone = 'UTC'
SET extra_float_digits = 1
SET max_parallel_workers_per_gather = 0
SET enable_sort = off AS $$
    SELECT recall_private.export_header(p_embeddings, p_made_by, p_now)::text
    UNION ALL (SELECT recall_private.export_line('setting', to_jsonb(s))
        FROM recall_private.exported_settings((SELECT recall.current_tenant())) s)
    UNION ALL (SELECT recall_private.export_line('layer', to_jsonb(l))
        FROM recall_private.exported_layers((SELECT recall.current_tenant())) l)
    UNION ALL (SELECT recall_private.export_line('layer_median', to_jsonb(d))
        FROM recall.layer_median d WHERE d.tenant = (SELECT recall.current_tenant()) ORDER BY d.layer)
    UNION ALL (SELECT recall_private.export_line('relevance_model', to_jsonb(r))
        FROM recall.relevance_model r WHERE r.tenant = (SELECT recall.current_tenant()) ORDER BY r.embedder, r.profile)
    UNION ALL (SELECT recall_private.export_line('rerank_model', to_jsonb(r))
        FROM recall.rerank_model r WHERE r.tenant = (SELECT recall.current_tenant()) ORDER BY r.reranker)
    UNION ALL (SELECT recall_private.export_line('lexeme', jsonb_strip_nulls(to_jsonb(w)))
        FROM recall.lexeme w WHERE w.tenant = (SELECT recall.current_tenant()) ORDER BY w.word)
    UNION ALL (SELECT recall_private.export_line('memory', jsonb_strip_nulls(
            to_jsonb(m) - '{metadata, search_text, content_hash, happened_at, superseded_by}'::text[]
            - CASE WHEN p_embeddings THEN '{}' ELSE '{embedded_with, passage_count}'::text[] END)
            || jsonb_build_object('metadata', m.metadata))
        FROM recall.memory m WHERE m.tenant = (SELECT recall.current_tenant()) ORDER BY m.id)
    UNION ALL (SELECT recall_private.export_line('memory_version', jsonb_strip_nulls(to_jsonb(v) - 'metadata')
            || jsonb_build_object('metadata', v.metadata))
        FROM recall.memory_version v WHERE v.tenant = (SELECT recall.current_tenant()) ORDER BY v.memory_id, v.number)
    UNION ALL (SELECT recall_private.export_line('vector', jsonb_build_object('memory_id', v.id, 'embedding', v.embedding))
        FROM recall_private.stored_vectors((SELECT recall.current_tenant()), NULL) v WHERE p_embeddings)
    UNION ALL (SELECT recall_private.export_line('passage', to_jsonb(p))
        FROM recall_private.stored_passages((SELECT recall.current_tenant()), NULL) p WHERE p_embeddings)
    UNION ALL (SELECT recall_private.export_line('token_signs', to_jsonb(s))
        FROM recall.token_signs s
        WHERE s.tenant = (SELECT recall.current_tenant()) AND p_embeddings ORDER BY s.memory_id)
    UNION ALL (SELECT recall_private.export_line('supersession', jsonb_build_object('id', m.id, 'superseded_by', m.superseded_by))
        FROM recall.memory m
        WHERE m.tenant = (SELECT recall.current_tenant()) AND m.superseded_by IS NOT NULL ORDER BY m.id)
    UNION ALL (SELECT recall_private.export_line('activation', jsonb_strip_nulls(to_jsonb(a)))
        FROM recall.activation a WHERE a.tenant = (SELECT recall.current_tenant()) ORDER BY a.memory_id)
    UNION ALL (SELECT recall_private.export_line('link', jsonb_strip_nulls(to_jsonb(l)))
        FROM recall.link l WHERE l.tenant = (SELECT recall.current_tenant()) ORDER BY l.src, l.dst, l.relation)
    UNION ALL (SELECT recall_private.export_line('pending_link', to_jsonb(p))
        FROM recall.pending_link p
        WHERE p.tenant = (SELECT recall.current_tenant()) ORDER BY p.src, p.target, p.relation)
    UNION ALL (SELECT recall_private.export_line('link_history', to_jsonb(h) - 'id')
        FROM recall.link_history h WHERE h.tenant = (SELECT recall.current_tenant()) ORDER BY h.id)
    UNION ALL (SELECT recall_private.export_line('access', jsonb_strip_nulls(to_jsonb(e)) - 'id')
        FROM recall.access e WHERE e.tenant = (SELECT recall.current_tenant()) ORDER BY e.id)
    UNION ALL (SELECT recall_private.export_line('access_key', to_jsonb(k))
        FROM recall.access_key k WHERE k.tenant = (SELECT recall.current_tenant()) ORDER BY k.idempotency_key)
    UNION ALL (SELECT recall_private.export_line('access_queue', to_jsonb(q) - 'id')
        FROM recall.access_queue q WHERE q.tenant = (SELECT recall.current_tenant()) ORDER BY q.id)
    UNION ALL (SELECT recall_private.export_line('plan', to_jsonb(p))
        FROM recall_private.exported_plans((SELECT recall.current_tenant())) p ORDER BY p.id)
    UNION ALL (SELECT recall_private.export_line('plan_item', to_jsonb(i))
        FROM recall.plan_item i WHERE i.tenant = (SELECT recall.current_tenant()) AND i.findings IS NULL
        ORDER BY i.plan_id, i.memory_id)
    UNION ALL (SELECT recall_private.export_line('archival', jsonb_strip_nulls(to_jsonb(v)) - 'id')
        FROM recall.archival v WHERE v.tenant = (SELECT recall.current_tenant()) ORDER BY v.id)
    UNION ALL (SELECT recall_private.export_line('floor_change', to_jsonb(f) - 'id')
        FROM recall.floor_change f WHERE f.tenant = (SELECT recall.current_tenant()) ORDER BY f.id)
    -- Lists of shown memories have gaps, so nulls are kept.
    UNION ALL (SELECT recall_private.export_line('search_log', to_jsonb(s))
        FROM recall.search_log s WHERE s.tenant = (SELECT recall.current_tenant()) ORDER BY s.id)
    UNION ALL (SELECT recall_private.export_line('judgement', to_jsonb(j))
        FROM recall.judgement j WHERE j.tenant = (SELECT recall.current_tenant()) ORDER BY j.search_id, j.memory_id)
$$;
