-- Rows of an export: each kind has columns, by which its lines are read, checked and stored.

-- check_import_vectors: raises an error unless the vectors of an export with this header can be stored and compared
-- in this database.
CREATE OR REPLACE FUNCTION recall_private.check_import_vectors(p_header jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_dimensions int := recall_private.setting_value('*', 'embedding.dimensions')::int;
BEGIN
    IF p_header ->> 'dimensions' IS DISTINCT FROM v_dimensions::text THEN
        PERFORM recall_private.raise_invalid(
            format('The export has embeddings with %s dimensions, this database %s.',
                   left(p_header ->> 'dimensions', 20), v_dimensions),
            'Import it without embeddings; a worker computes them again.');
    END IF;
    PERFORM recall_private.require_embedder(p_header ->> 'embedder');
END $$;

-- importable_columns: the columns that lines of this kind can have; an export is checked and read by these.
CREATE OR REPLACE FUNCTION recall_private.importable_columns(p_kind text) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN k.kind = 'supersession' THEN '{id, superseded_by}'::text[]
                WHEN k.kind = 'vector' THEN '{memory_id, embedding}'::text[]
                WHEN k.kind = 'passage'
                    THEN '{memory_id, part, passage_start, passage_end, embedding}'::text[] ELSE ARRAY(
        SELECT a.attname::text FROM pg_attribute a
        WHERE a.attrelid = to_regclass('recall.' || quote_ident(k.kind)) AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attgenerated = '' AND a.attname <> 'tenant' AND (k.numbered OR a.attname <> 'id')
          AND (k.kind, a.attname) <> ('memory', 'superseded_by')) END
    FROM recall_private.export_kinds() k WHERE k.kind = p_kind
$$;

-- import_rows: stores rows of one kind, in the order given. Raises an error for an unknown field, and for a row that
-- could not have been stored otherwise.
CREATE OR REPLACE FUNCTION recall_private.import_rows(p_tenant text, p_kind text, p_rows jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_columns text[] := recall_private.importable_columns(p_kind);
    v_given text[] := ARRAY(SELECT DISTINCT k FROM jsonb_array_elements(p_rows) r, jsonb_object_keys(r) k ORDER BY k);
    v_unknown text := (SELECT min(g) FROM unnest(v_given) g WHERE g <> ALL (v_columns));
    v_list text;
    v_changed bigint;
BEGIN
    IF v_columns IS NULL THEN
        PERFORM recall_private.raise_invalid(format('there is no kind of line %L', left(p_kind, 100)));
    ELSIF v_unknown IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('no line of the kind %s has a field %L', p_kind, left(v_unknown, 100)));
    ELSIF p_kind = 'supersession' THEN
        UPDATE recall.memory m SET superseded_by = s.superseded_by
        FROM jsonb_to_recordset(p_rows) s(id bigint, superseded_by bigint)
        WHERE m.tenant = p_tenant AND m.id = s.id;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed < (SELECT count(DISTINCT r -> 'id') FROM jsonb_array_elements(p_rows) r) THEN
            PERFORM recall_private.raise_invalid('a supersession is of a memory that is not there');
        END IF;
    ELSIF p_kind = 'vector' THEN
        PERFORM recall_private.import_vectors(p_tenant, array_agg(v.memory_id), array_agg(v.embedding))
        FROM jsonb_populate_recordset(NULL::recall.vector_shared, p_rows) v;
    ELSIF p_kind = 'passage' THEN
        PERFORM recall_private.import_passages(p_tenant, p_rows);
    ELSE
        v_list := (SELECT string_agg(quote_ident(g), ', ') FROM unnest(v_given) g);
        EXECUTE format(
            'INSERT INTO recall.%I (tenant, %s) OVERRIDING SYSTEM VALUE '
            'SELECT $1, %2$s FROM jsonb_populate_recordset(NULL::recall.%1$I, $2)', p_kind, v_list)
        USING p_tenant, p_rows;
    END IF;
    IF p_kind = 'memory' THEN
        PERFORM recall_private.log_changes(p_tenant, ARRAY(
            SELECT (r ->> 'id')::bigint FROM jsonb_array_elements(p_rows) WITH ORDINALITY u(r, place) ORDER BY u.place),
            'new', now());
    END IF;
    PERFORM recall_private.check_imported_rows(p_tenant, p_kind, p_rows);
END $$;

-- import_vectors: stores the vectors of memories that have none.
CREATE OR REPLACE FUNCTION recall_private.import_vectors(p_tenant text, p_ids bigint[], p_embeddings halfvec[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF EXISTS (SELECT FROM recall_private.stored_vectors(p_tenant, p_ids))
       OR cardinality(p_ids) > (SELECT count(DISTINCT u) FROM unnest(p_ids) u) THEN
        PERFORM recall_private.raise_invalid('a memory has two vectors');
    ELSIF EXISTS (SELECT FROM unnest(p_embeddings) e WHERE l2_norm(e) = 0) THEN
        PERFORM recall_private.raise_invalid('its embedding is zero and so has no direction');
    END IF;
    PERFORM recall_private.replace_vectors(p_tenant, p_ids, p_embeddings);
END $$;

-- import_passages: stores passages of memories that have a vector.
CREATE OR REPLACE FUNCTION recall_private.import_passages(p_tenant text, p_rows jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_stored bigint;
BEGIN
    IF EXISTS (
        SELECT FROM jsonb_populate_recordset(NULL::recall.vector_shared, p_rows) v
        LEFT JOIN recall.memory m ON m.tenant = p_tenant AND m.id = v.memory_id
        WHERE NOT coalesce(v.part BETWEEN 1 AND 1200 AND v.passage_start >= 0 AND v.passage_start < v.passage_end
                           AND v.passage_end <= length(m.body) AND l2_norm(v.embedding) > 0, false)) THEN
        PERFORM recall_private.raise_invalid('a passage has no embedding, or does not lie within the body of a memory');
    END IF;
    PERFORM recall_private.lock_vectors_shared(p_tenant);
    EXECUTE format(
        'INSERT INTO recall.%I (tenant, memory_id, archived, embedding, part, passage_start, passage_end) '
        'SELECT $1, m.id, m.archived_at IS NOT NULL, v.embedding, v.part, v.passage_start, v.passage_end '
        'FROM jsonb_populate_recordset(NULL::recall.vector_shared, $2) v '
        'JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = v.memory_id '
        'WHERE m.embedded_with IS NOT NULL ORDER BY m.id, v.part', recall_private.vector_table(p_tenant))
    USING p_tenant, p_rows;
    GET DIAGNOSTICS v_stored = ROW_COUNT;
    IF v_stored < jsonb_array_length(p_rows) THEN
        PERFORM recall_private.raise_invalid('a passage is of a memory without a vector');
    END IF;
END $$;
