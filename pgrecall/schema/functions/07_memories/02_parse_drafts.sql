-- Drafts in JSON, parsed into rows of recall.memory.

-- unused_id: the id of a new memory. An imported memory can have an id that the sequence has yet to reach; such ids are
-- skipped.
CREATE OR REPLACE FUNCTION recall_private.unused_id(p_tenant text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_id bigint;
    v_next bigint;
BEGIN
    LOOP
        v_id := nextval('recall.memory_id_seq');
        v_next := (SELECT min(m.id) FROM recall.memory m WHERE m.tenant = p_tenant AND m.id >= v_id);
        EXIT WHEN v_next IS NULL OR v_next > v_id + recall_private.reach_of_ids()
            OR NOT recall_private.pass_imported_ids(p_tenant, 'memory', v_id) AND v_next > v_id;
    END LOOP;
    RETURN v_id;
END $$;

-- vector_or_null: this text as a vector; NULL if it is not one.
CREATE OR REPLACE FUNCTION recall_private.vector_or_null(p_text text) RETURNS halfvec
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_text::halfvec;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END $$;

-- parsed_embeddings: the embeddings of these drafts in the order of the drafts, NULL for a draft without one or with
-- one that cannot be read; NULL if no draft has any. All are parsed in one attempt, and one by one only if that
-- fails, because each attempt is a subtransaction.
CREATE OR REPLACE FUNCTION recall_private.parsed_embeddings(p_items jsonb) RETURNS halfvec[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT jsonb_path_exists(p_items, '$[*].embedding ? (@ != null)') THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT (e.value ->> 'embedding')::halfvec FROM jsonb_array_elements(p_items) WITH ORDINALITY e
        ORDER BY e.ordinality);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN ARRAY(
        SELECT recall_private.vector_or_null(e.value ->> 'embedding') FROM jsonb_array_elements(p_items) WITH ORDINALITY e
        ORDER BY e.ordinality);
END $$;

-- parse_drafts: the drafts as rows of `memory` with new ids, with their keys and links, and in `problems` why a draft
-- cannot be stored; its row and id are then NULL. All arrays have the order of the drafts. p_blank has the values of
-- missing fields. `rejected` is the position of the first problem, 0 if there is none; `linked` says whether any
-- draft has links, `named` whether any has a name by which it may exist or be waited for, and `pinned` whether any is
-- pinned. Embeddings are those of p_embeddings; if it is NULL, those of the drafts. With p_keep, memories with these keys
-- keep the fields that a draft does not give; `given` has those that it gives, or is NULL if no draft has a key. Its links
-- are then an empty array if it gives none, and NULL if it leaves them as they are.
CREATE OR REPLACE FUNCTION recall_private.parse_drafts(
    p_items jsonb, p_embeddings halfvec[], p_embedded_with text, p_blank recall.memory, p_layers text[],
    p_dimensions int, p_keep boolean,
    OUT drafts recall.memory[], OUT ids bigint[], OUT keys text[], OUT links jsonb[], OUT given jsonb[],
    OUT problems text[], OUT rejected int, OUT linked boolean, OUT named boolean, OUT pinned boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_repeated CONSTANT jsonb := CASE WHEN jsonb_array_length(p_items) > 1 THEN recall_private.repeated_keys(p_items) END;
    v_item jsonb;
    v_draft recall.memory;
    v_links jsonb;
    v_keeps boolean;
    v_problem text;
BEGIN
    rejected := 0;
    linked := false;
    named := false;
    pinned := false;
    FOR i IN 1 .. jsonb_array_length(p_items) LOOP
        v_item := p_items -> (i - 1);
        v_keeps := false;
        IF p_keep THEN
            v_item := recall_private.given_fields(v_item);
            v_keeps := v_item ? 'key';
        END IF;
        v_problem := recall_private.draft_form_problem(v_item);
        IF v_problem IS NULL THEN
            v_draft := recall_private.draft_row(p_blank, v_item);
            v_links := CASE WHEN v_keeps OR v_item -> 'links' NOT IN ('[]', 'null') THEN v_item -> 'links' END;
            v_problem := coalesce(CASE
                WHEN v_keeps THEN recall_private.kept_draft_problem(v_draft, v_item, p_layers)
                ELSE recall_private.draft_problem(v_draft, p_layers) END, CASE
                WHEN p_embeddings[i] IS NOT NULL THEN recall_private.vector_direction_problem(p_embeddings[i], p_dimensions)
                WHEN v_item ->> 'embedding' IS NOT NULL
                    THEN recall_private.vector_problem(v_item ->> 'embedding', p_dimensions) END, CASE
                WHEN v_repeated ? v_draft.key THEN format(
                    'its key %L stands in this call %s times; a key names one memory', v_draft.key,
                    v_repeated ->> v_draft.key) END, CASE
                WHEN v_links IS NOT NULL THEN recall_private.links_problem(v_links) END,
                CASE WHEN v_item ? 'tokens' THEN recall_private.tokens_problem(v_item -> 'tokens') END,
                CASE WHEN v_item ? 'passages' THEN recall_private.passages_problem(
                    v_item -> 'passages', length(v_draft.body), p_dimensions) END,
                CASE WHEN p_embeddings[i] IS NULL AND v_item -> 'passages' NOT IN ('[]', 'null')
                     THEN 'it has passages and no embedding' END);
        END IF;
        IF v_problem IS NULL THEN
            v_draft.id := recall_private.unused_id(p_blank.tenant);
            v_draft.embedded_with := CASE WHEN p_embeddings[i] IS NOT NULL THEN p_embedded_with END;
            v_draft.passage_count := CASE WHEN p_embeddings[i] IS NOT NULL
                                          THEN recall_private.passages_counted(v_item -> 'passages') END;
            drafts[i] := v_draft;
            ids[i] := v_draft.id;
            named := named OR v_draft.key IS NOT NULL OR v_draft.title <> '' OR v_draft.aliases <> '{}';
            pinned := pinned OR v_draft.pinned;
            links[i] := v_links;
            IF v_keeps THEN
                given[i] := v_item - ARRAY['key', 'embedding', 'tokens', 'passages', 'links'];
            END IF;
            linked := linked OR v_links IS NOT NULL;
        ELSE
            drafts[i] := NULL;
            ids[i] := NULL;
            links[i] := NULL;
            rejected := coalesce(nullif(rejected, 0), i);
        END IF;
        keys[i] := v_item ->> 'key';
        problems[i] := v_problem;
    END LOOP;
END $$;

-- draft_row: the row of a draft, with values from p_blank for missing fields.
CREATE OR REPLACE FUNCTION recall_private.draft_row(p_blank recall.memory, p_item jsonb) RETURNS recall.memory
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF jsonb_path_exists(p_item, '$.* ? (@ == null)') THEN
        RETURN jsonb_populate_record(p_blank, (
            SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(p_item) e WHERE e.value <> 'null'));
    END IF;
    RETURN jsonb_populate_record(p_blank, p_item);
END $$;

-- repeated_keys: the keys that occur in more than one of these drafts, and in how many.
CREATE OR REPLACE FUNCTION recall_private.repeated_keys(p_items jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(r.key, r.many) FROM (
            SELECT e.value ->> 'key' AS key, count(*) AS many FROM jsonb_array_elements(p_items) e
            WHERE e.value ->> 'key' IS NOT NULL GROUP BY 1 HAVING count(*) > 1) r);
END $$;
