-- Drafts that change a memory: fields that they do not give are kept.

-- given_fields: the fields that a draft gives. Null is not given. An empty text clears a field that may be missing, and
-- becomes null; other fields are cleared by the empty values of their types.
CREATE OR REPLACE FUNCTION recall_private.given_fields(p_item jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF NOT jsonb_path_exists(p_item, '$.* ? (@ == null || @ == "")') THEN
        RETURN p_item;
    END IF;
    RETURN (
        SELECT coalesce(jsonb_object_agg(e.key, CASE
            WHEN e.value = '""' AND e.key IN ('role', 'author', 'source', 'session_id', 'occurred_at', 'valid_from',
                                              'valid_until', 'expires_at', 'speech_act') THEN 'null'
            ELSE e.value END), '{}')
        FROM jsonb_each(p_item) e WHERE e.value <> 'null');
END $$;

-- items_in_project: drafts in JSON, of which those that give metadata without a project get this one. The others get it
-- from the blank draft, and only if they are new: a memory keeps its metadata where a draft gives none.
CREATE OR REPLACE FUNCTION recall_private.items_in_project(p_items jsonb, p_project text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_agg(CASE
        WHEN jsonb_typeof(e.value -> 'metadata') = 'object' THEN e.value || jsonb_build_object(
            'metadata', jsonb_build_object('project', p_project) || (e.value -> 'metadata'))
        ELSE e.value END ORDER BY e.place), '[]')
    FROM jsonb_array_elements(p_items) WITH ORDINALITY e(value, place)
$$;

-- kept_draft_problem: why a draft of which a memory may keep the rest cannot be stored, whatever is kept, else NULL.
-- Whether it has a text is known only then.
CREATE OR REPLACE FUNCTION recall_private.kept_draft_problem(d recall.memory, p_given jsonb, p_layers text[]) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF d.title = '' AND NOT p_given ?& ARRAY['title', 'body'] THEN
        d.title := '-';
    END IF;
    RETURN recall_private.draft_problem(d, p_layers);
END $$;

-- complete_drafts: drafts (NULL: rejected) with the fields that memories with their keys keep. p_given has the fields that
-- each gives, without vectors and links; a draft where it is NULL stays as it is. p_earlier has the memories, which are
-- locked, by key as objects with an id. `changed` has the names of fields that differ from those of the memory, as JSON
-- arrays. `stale` says which drafts have the vector of another text: p_given has the digest of the text of the vector, and
-- the title or the memory has changed since the caller read it. Raises an error if a draft and what is kept make no memory.
CREATE OR REPLACE FUNCTION recall_private.complete_drafts(
    p_tenant text, p_drafts recall.memory[], p_keys text[], p_given jsonb[], p_earlier jsonb,
    OUT drafts recall.memory[], OUT changed jsonb[], OUT stale boolean[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_stored recall.memory;
    v_draft recall.memory;
    v_problem text;
BEGIN
    drafts := p_drafts;
    FOR i IN 1 .. cardinality(p_drafts) LOOP
        CONTINUE WHEN p_given[i] IS NULL OR (p_drafts[i]).id IS NULL;
        v_draft := p_drafts[i];
        IF p_earlier ? p_keys[i] THEN
            SELECT m.* INTO v_stored FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = (p_earlier -> p_keys[i] -> 'id')::bigint;
            v_draft := recall_private.merged_draft(v_stored, v_draft, p_given[i]);
            IF NOT p_given[i] ? 'session_id' THEN
                v_draft.session_id := recall_private.short_session(v_draft.session_id);
            END IF;
            changed[i] := recall_private.changed_fields(v_stored, v_draft);
        END IF;
        v_problem := recall_private.draft_problem(v_draft, ARRAY[v_draft.layer]);
        IF v_problem IS NOT NULL THEN
            PERFORM recall_private.raise_invalid(format(
                '%s cannot be stored: %s.',
                CASE WHEN cardinality(p_drafts) = 1 THEN 'The draft' ELSE 'Draft ' || i END, v_problem));
        END IF;
        IF v_draft.embedded_with IS NOT NULL
           AND p_given[i] ->> 'content_hash' <> md5(v_draft.title || chr(31) || v_draft.body) THEN
            v_draft.embedded_with := NULL;
            v_draft.passage_count := NULL;
            stale[i] := true;
        END IF;
        drafts[i] := v_draft;
    END LOOP;
END $$;

-- merged_draft: the memory p_stored with the fields that a draft gives. It can pin but not unpin. Its speech act is NULL
-- if it stays as it is; `act_marked` is false if it shall be found out again.
CREATE OR REPLACE FUNCTION recall_private.merged_draft(p_stored recall.memory, p_draft recall.memory, p_given jsonb)
RETURNS recall.memory
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_merged recall.memory := jsonb_populate_record(p_stored, p_given - 'content_hash');
BEGIN
    v_merged.id := p_draft.id;
    v_merged.pinned := p_stored.pinned OR p_draft.pinned;
    v_merged.speech_act := p_draft.speech_act;
    v_merged.act_marked := CASE WHEN p_given -> 'speech_act' = 'null' THEN false END;
    v_merged.created_at := p_draft.created_at;  -- now, against which the time of an event is checked
    v_merged.updated_at := p_draft.updated_at;
    v_merged.embedded_with := p_draft.embedded_with;
    v_merged.passage_count := p_draft.passage_count;
    RETURN v_merged;
END $$;

-- changed_fields: the names of the fields in which a merged draft differs from the memory, as a JSON array.
CREATE OR REPLACE FUNCTION recall_private.changed_fields(p_stored recall.memory, p_merged recall.memory) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    o CONSTANT recall.memory := p_stored;
    n CONSTANT recall.memory := p_merged;
BEGIN
    RETURN to_jsonb(array_remove(ARRAY[
        CASE WHEN n.title <> o.title THEN 'title' END,
        CASE WHEN n.body <> o.body THEN 'body' END,
        CASE WHEN n.layer <> o.layer THEN 'layer' END,
        CASE WHEN n.role IS DISTINCT FROM o.role THEN 'role' END,
        CASE WHEN n.author IS DISTINCT FROM o.author THEN 'author' END,
        CASE WHEN n.context <> o.context THEN 'context' END,
        CASE WHEN n.source IS DISTINCT FROM o.source THEN 'source' END,
        CASE WHEN n.session_id IS DISTINCT FROM o.session_id THEN 'session_id' END,
        CASE WHEN n.tags <> o.tags THEN 'tags' END,
        CASE WHEN n.aliases <> o.aliases THEN 'aliases' END,
        CASE WHEN n.metadata <> o.metadata THEN 'metadata' END,
        CASE WHEN n.occurred_at IS DISTINCT FROM o.occurred_at THEN 'occurred_at' END,
        CASE WHEN n.valid_from IS DISTINCT FROM o.valid_from THEN 'valid_from' END,
        CASE WHEN n.valid_until IS DISTINCT FROM o.valid_until THEN 'valid_until' END,
        CASE WHEN n.expires_at IS DISTINCT FROM o.expires_at THEN 'expires_at' END,
        CASE WHEN n.pinned <> o.pinned THEN 'pinned' END,
        CASE WHEN n.speech_act IS NOT NULL AND (n.speech_act, true) IS DISTINCT FROM (o.speech_act, o.act_marked)
                  OR NOT n.act_marked AND o.act_marked THEN 'speech_act' END], NULL));
END $$;
