-- The texts of a memory without its secrets. What a redact plan took out is kept for undo in redacted_text, which no function
-- shows and no export holds, until the plan is undone or dropped or the memory is deleted.

-- replaced_spans: a text in which each of these spans, [start, length, text] in characters from 0, has this text instead.
CREATE OR REPLACE FUNCTION recall_private.replaced_spans(p_text text, p_spans jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_span jsonb;
BEGIN
    FOR v_span IN
        SELECT s.value FROM jsonb_array_elements(p_spans) WITH ORDINALITY s(value, place) ORDER BY s.place DESC
    LOOP
        p_text := overlay(p_text PLACING v_span ->> 2 FROM (v_span ->> 0)::int + 1 FOR (v_span ->> 1)::int);
    END LOOP;
    RETURN p_text;
END $$;

-- redacted_place: a text without its secrets, and the spans that give them back. Each becomes what capture writes instead.
CREATE OR REPLACE FUNCTION recall_private.redacted_place(p_text text, p_spans jsonb, OUT redacted text, OUT taken jsonb)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_new jsonb;
BEGIN
    SELECT jsonb_agg(jsonb_build_array(x.start, x.length, x.mark) ORDER BY x.start),
           jsonb_agg(jsonb_build_array(x.start + x.moved, length(x.mark), substr(p_text, x.start + 1, x.length), x.mark)
                     ORDER BY x.start)
    INTO v_new, taken
    FROM (
        SELECT s.*, coalesce(sum(length(s.mark) - s.length) OVER (
                   ORDER BY s.start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::int AS moved
        FROM (SELECT (e ->> 0)::int AS start, (e ->> 1)::int AS length, '[removed: ' || (e ->> 2) || ']' AS mark
              FROM jsonb_array_elements(p_spans) e) s) x;
    redacted := recall_private.replaced_spans(p_text, v_new);
END $$;

-- path_of: the path of a place as an array.
CREATE OR REPLACE FUNCTION recall_private.path_of(p_place jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT jsonb_array_elements_text(p_place -> 'path'));

-- renamed_field: JSON in which the field at this path has another name.
CREATE OR REPLACE FUNCTION recall_private.renamed_field(p_json jsonb, p_path text[], p_name text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_set(p_json #- p_path, trim_array(p_path, 1) || p_name, p_json #> p_path);

-- redacted_name: the texts in which the field at this path has a name without its secrets, and what undo needs. A plus sign
-- tells it from fields that have this name already. NULL if it is not a field of the metadata.
CREATE OR REPLACE FUNCTION recall_private.redacted_name(
    p_texts jsonb, p_path text[], p_spans jsonb, OUT texts jsonb, OUT taken jsonb
)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_fields jsonb := p_texts #> trim_array(p_path, 1);
    v_done record := recall_private.redacted_place(p_path[cardinality(p_path)], p_spans);
    v_more text := '';
BEGIN
    IF p_path[1] <> 'metadata' OR cardinality(p_path) < 2 OR jsonb_typeof(v_fields) IS DISTINCT FROM 'object'
       OR p_texts #> p_path IS NULL THEN
        RETURN;
    END IF;
    WHILE v_fields ? (v_done.redacted || v_more) LOOP
        v_more := v_more || '+';
    END LOOP;
    texts := recall_private.renamed_field(p_texts, p_path, v_done.redacted || v_more);
    taken := jsonb_build_array(jsonb_build_object(
        'path', to_jsonb(trim_array(p_path, 1) || (v_done.redacted || v_more)), 'name', true,
        'spans', v_done.taken || jsonb_build_array(jsonb_build_array(length(v_done.redacted), length(v_more), ''))));
END $$;

-- redacted_unit: the texts of a version without the secrets that a plan found, and what undo needs: {version, places}, of
-- which a place has the digest of its text without secrets.
CREATE OR REPLACE FUNCTION recall_private.redacted_unit(p_texts jsonb, p_unit jsonb, OUT texts jsonb, OUT taken jsonb)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_place jsonb;
    v_path text[];
    v_done record;
BEGIN
    texts := p_texts;
    taken := '[]';
    FOR v_place IN
        -- Names last and from within, so that the paths of the others lead where they did.
        SELECT p.value FROM jsonb_array_elements(p_unit -> 'places') p
        ORDER BY p.value -> 'name' = 'true' NULLS FIRST, jsonb_array_length(p.value -> 'path') DESC
    LOOP
        v_path := recall_private.path_of(v_place);
        IF v_place -> 'name' = 'true' THEN
            v_done := recall_private.redacted_name(texts, v_path, v_place -> 'spans');
            CONTINUE WHEN v_done.texts IS NULL;
            texts := v_done.texts;
            taken := taken || v_done.taken;
            CONTINUE;
        END IF;
        CONTINUE WHEN jsonb_typeof(texts #> v_path) IS DISTINCT FROM 'string';
        v_done := recall_private.redacted_place(texts #>> v_path, v_place -> 'spans');
        texts := jsonb_set(texts, v_path, to_jsonb(v_done.redacted));
        taken := taken || jsonb_build_array(jsonb_build_object(
            'path', v_place -> 'path', 'spans', v_done.taken, 'digest', md5(v_done.redacted)));
    END LOOP;
    taken := jsonb_build_object('version', p_unit -> 'version', 'places', taken);
END $$;

-- write_texts: gives a version of a memory, which is locked, these texts: no new version, because the earlier texts are
-- what must not stay, and no new time, because it says the same: summaries of it stay current. A new text of the memory has
-- no vectors until the job embed makes them. Returns the words that left.
CREATE OR REPLACE FUNCTION recall_private.write_texts(p_tenant text, p_memory_id bigint, p_version int, p_texts jsonb)
RETURNS text[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_tags text[] := ARRAY(SELECT jsonb_array_elements_text(p_texts -> 'tags'));
    v_aliases text[] := ARRAY(SELECT jsonb_array_elements_text(p_texts -> 'aliases'));
    v_old recall.memory;
    v_new recall.memory;
BEGIN
    IF p_version > 0 THEN
        UPDATE recall.memory_version v SET title = p_texts ->> 'title', body = p_texts ->> 'body', tags = v_tags,
            aliases = v_aliases, author = p_texts ->> 'author', metadata = p_texts -> 'metadata'
        WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.number = p_version;
        RETURN '{}';
    END IF;
    SELECT m.* INTO v_old FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = p_memory_id;
    UPDATE recall.memory m SET title = p_texts ->> 'title', body = p_texts ->> 'body', context = p_texts ->> 'context',
        key = p_texts ->> 'key', tags = v_tags, aliases = v_aliases, author = p_texts ->> 'author', source = p_texts ->> 'source',
        session_id = p_texts ->> 'session_id', metadata = p_texts -> 'metadata',
        embedded_with = CASE WHEN (m.title, m.body) = (p_texts ->> 'title', p_texts ->> 'body') THEN m.embedded_with END,
        passage_count = CASE WHEN (m.title, m.body) = (p_texts ->> 'title', p_texts ->> 'body') THEN m.passage_count END
    WHERE m.tenant = p_tenant AND m.id = p_memory_id
    RETURNING m.* INTO v_new;
    WITH changed AS (
        SELECT l.*, p_texts -> 'links' ->> (row_number() OVER (ORDER BY l.target, l.relation) - 1)::int AS new_target
        FROM recall.pending_link l WHERE l.tenant = p_tenant AND l.src = p_memory_id
    ), gone AS (
        DELETE FROM recall.pending_link l USING changed c
        WHERE l.tenant = p_tenant AND l.src = p_memory_id AND (l.target, l.relation) = (c.target, c.relation)
          AND c.new_target <> c.target
    )
    INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at)
    SELECT c.tenant, c.src, c.new_target, c.relation, c.weight, c.created_at FROM changed c WHERE c.new_target <> c.target
    ON CONFLICT DO NOTHING;
    IF v_new.content_hash <> v_old.content_hash THEN
        PERFORM recall_private.delete_vectors(p_tenant, p_memory_id);
    END IF;
    RETURN ARRAY(SELECT unnest(tsvector_to_array(v_old.search_text))
                 EXCEPT SELECT unnest(tsvector_to_array(v_new.search_text)));
END $$;

-- with_own_key: the result of redacted_unit; with the id of the memory after its key, if another memory has that.
CREATE OR REPLACE FUNCTION recall_private.with_own_key(
    p_item recall.plan_item, p_texts jsonb, p_taken jsonb, OUT texts jsonb, OUT taken jsonb
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_key text := p_texts ->> 'key';
    v_more text := '+' || p_item.memory_id;
BEGIN
    texts := p_texts;
    taken := p_taken;
    IF EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_item.tenant AND m.key = v_key AND m.id <> p_item.memory_id) THEN
        texts := jsonb_set(texts, '{key}', to_jsonb(v_key || v_more));
        taken := jsonb_set(taken, '{places}', (
            SELECT jsonb_agg(CASE WHEN p.value -> 'path' = '["key"]' THEN p.value || jsonb_build_object(
                       'spans', p.value -> 'spans' || jsonb_build_array(jsonb_build_array(length(v_key), length(v_more), '')),
                       'digest', md5(v_key || v_more)) ELSE p.value END ORDER BY p.place)
            FROM jsonb_array_elements(taken -> 'places') WITH ORDINALITY p(value, place)));
    END IF;
END $$;

-- redact_memory: replaces the secrets of an item of a plan, whose memory is locked. Returns why it was skipped, or the words
-- that left.
CREATE OR REPLACE FUNCTION recall_private.redact_memory(p_item recall.plan_item, OUT note text, OUT words text[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_unit jsonb;
    v_texts jsonb;
    v_done record;
    v_written jsonb[] := '{}';
    v_taken jsonb := '[]';
BEGIN
    words := '{}';
    FOR v_unit IN SELECT * FROM jsonb_array_elements(p_item.findings) LOOP
        v_texts := recall_private.version_texts(p_item.tenant, p_item.memory_id, (v_unit ->> 'version')::int);
        CONTINUE WHEN v_texts IS NULL;  -- a version that was deleted since
        IF md5(v_texts::text) <> v_unit ->> 'digest' THEN
            note := 'rewritten since';
            RETURN;
        END IF;
        v_done := recall_private.redacted_unit(v_texts, v_unit);
        v_done := recall_private.with_own_key(p_item, v_done.texts, v_done.taken);
        IF length(v_done.texts ->> 'title') > 1000 OR length(v_done.texts ->> 'body') > 1000000
           OR greatest(length(v_done.texts ->> 'key'), (
                  SELECT max(length(l)) FROM jsonb_array_elements_text(v_done.texts -> 'links') l)) > 1000
           OR greatest(octet_length(v_done.texts ->> 'author'), octet_length(v_done.texts ->> 'source'),
                       octet_length(v_done.texts ->> 'key')) > 2000
           OR octet_length(v_done.texts ->> 'session_id') > 1000
           OR recall_private.metadata_problem(v_done.texts -> 'metadata') IS NOT NULL THEN
            note := 'too long with the placeholder';
            RETURN;
        END IF;
        v_written := v_written || v_done.texts;
        v_taken := v_taken || jsonb_build_array(v_done.taken);
    END LOOP;
    BEGIN
        FOR i IN 1 .. cardinality(v_written) LOOP
            words := words || recall_private.write_texts(
                p_item.tenant, p_item.memory_id, (v_taken -> (i - 1) ->> 'version')::int, v_written[i]);
        END LOOP;
    EXCEPTION WHEN unique_violation THEN
        note := 'another memory has its key with the placeholder';
        words := '{}';
        RETURN;
    END;
    INSERT INTO recall.redacted_text (tenant, plan_id, memory_id, taken)
    VALUES (p_item.tenant, p_item.plan_id, p_item.memory_id, v_taken);
END $$;
