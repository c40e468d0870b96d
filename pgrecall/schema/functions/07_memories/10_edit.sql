-- Changing fields of a memory.

-- edit (app; Remember): changes the fields of a memory that the JSON object p_changes contains; null empties a
-- field. Returns `outcome`: updated, or unchanged if the memory already has these values, and the names of the
-- fields that changed. A new text removes the vector. The new vector is p_embedded, an object {content_hash,
-- embedding, tokens, passages} as for store_embeddings, made by the embedder p_embedded_with. Without it, or if it
-- belongs to another text, the job embed makes a vector. Links, key, source and accesses stay; a new text logs a
-- write, which does not count as a use. The previous values are kept as a version.
CREATE OR REPLACE FUNCTION recall.edit(
    p_memory bigint, p_changes jsonb, p_embedded jsonb DEFAULT NULL, p_embedded_with text DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS TABLE (id bigint, key text, outcome text, changed text[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_fields CONSTANT text[] := ARRAY[
        'layer', 'title', 'body', 'role', 'author', 'context', 'session_id', 'tags', 'aliases', 'metadata',
        'occurred_at', 'valid_from', 'valid_until', 'expires_at', 'speech_act'];
    v_rules record := recall_private.lock_tenant_rules(
        recall.current_tenant(), CASE WHEN p_embedded IS NOT NULL THEN p_embedded_with END, p_now);
    v_old recall.memory;
    v_new recall.memory;
    v_problem text;
    v_waiting bigint[];
    v_rewritten boolean;
    v_changed text[];
BEGIN
    IF jsonb_typeof(p_changes) IS DISTINCT FROM 'object' THEN
        PERFORM recall_private.raise_invalid('The changes must be a JSON object.');
    ELSIF p_embedded IS NOT NULL AND jsonb_typeof(p_embedded) <> 'object' THEN
        PERFORM recall_private.raise_invalid('The embedding must be a JSON object with content_hash and embedding.');
    ELSIF p_changes - v_fields <> '{}' THEN
        PERFORM recall_private.raise_invalid(
            format('%s cannot be edited.', left((
                SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(p_changes - v_fields) k), 200)),
            'Fields that can be edited: ' || array_to_string(v_fields, ', ') || '.');
    END IF;
    PERFORM recall.require_memory(p_memory);
    v_problem := recall_private.draft_form_problem(p_changes);
    v_waiting := ARRAY(  -- memories whose links wait for a name that this one takes
        SELECT DISTINCT p.src FROM recall.pending_link p
        WHERE p.tenant = v_rules.tenant AND v_problem IS NULL AND lower(p.target) IN (
            SELECT lower(p_changes ->> 'title') UNION ALL SELECT lower(a)
            FROM jsonb_array_elements_text(
                CASE jsonb_typeof(p_changes -> 'aliases') WHEN 'array' THEN p_changes -> 'aliases' ELSE '[]' END) a));
    -- What superseded it, against deletion: its row changes twice, for the edit and for its new vector, which checks its keys.
    PERFORM recall_private.lock_around(v_rules.tenant, $a$
        SELECT ARRAY(SELECT m.superseded_by FROM recall.memory m
                     WHERE m.tenant = $1 AND m.id = ANY ($2) AND m.superseded_by IS NOT NULL) AS kept,
               $2 || $3 AS changed, '{}'::bigint[] AS removed $a$, ARRAY[p_memory], v_waiting);
    SELECT m.* INTO v_old FROM recall.memory m WHERE m.tenant = v_rules.tenant AND m.id = p_memory;
    IF NOT FOUND THEN  -- deleted while this waited for the lock
        PERFORM recall.require_memory(p_memory);
    END IF;
    IF v_problem IS NULL THEN
        v_new := jsonb_populate_record(v_old, p_changes);
        v_new.title := coalesce(v_new.title, '');
        v_new.body := coalesce(v_new.body, '');
        v_new.context := coalesce(v_new.context, '');
        v_new.tags := coalesce(v_new.tags, '{}');
        v_new.aliases := coalesce(v_new.aliases, '{}');
        v_new.metadata := CASE WHEN v_new.metadata <> 'null' THEN v_new.metadata ELSE '{}' END;
        v_new.layer := coalesce(v_new.layer, v_old.layer);
        IF NOT p_changes ? 'session_id' THEN
            v_new.session_id := recall_private.short_session(v_new.session_id);
        END IF;
        IF p_changes ? 'speech_act' THEN
            v_new.act_marked := v_new.speech_act IS NOT NULL;  -- null: it is found out again
        END IF;
        v_new.created_at := p_now;  -- a time of an event is checked against now
        v_problem := coalesce(recall_private.draft_type_problem(v_new), recall_private.draft_problem(v_new, v_rules.layers));
    END IF;
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('Memory %s cannot be edited: %s.', p_memory, v_problem));
    END IF;
    v_new.created_at := v_old.created_at;
    IF v_new IS NOT DISTINCT FROM v_old THEN
        RETURN QUERY SELECT v_old.id, v_old.key, 'unchanged', '{}'::text[];
        RETURN;
    END IF;
    SELECT array_agg(k ORDER BY k) INTO v_changed
    FROM to_jsonb(v_old) o, to_jsonb(v_new) n, jsonb_object_keys(p_changes) k WHERE o -> k IS DISTINCT FROM n -> k;
    v_rewritten := (v_new.title, v_new.body) <> (v_old.title, v_old.body);
    PERFORM recall_private.note_rewrites(v_rules.tenant, ARRAY[v_new], p_now);
    UPDATE recall.memory m SET
        layer = v_new.layer, title = v_new.title, body = v_new.body, role = v_new.role, author = v_new.author,
        context = v_new.context, session_id = v_new.session_id, tags = v_new.tags, aliases = v_new.aliases,
        metadata = v_new.metadata, occurred_at = v_new.occurred_at, valid_from = v_new.valid_from,
        valid_until = v_new.valid_until, expires_at = v_new.expires_at,
        speech_act = v_new.speech_act, act_marked = v_new.act_marked, updated_at = p_now,
        embedded_with = CASE WHEN NOT v_rewritten THEN m.embedded_with END,
        passage_count = CASE WHEN NOT v_rewritten THEN m.passage_count END
    WHERE m.tenant = v_rules.tenant AND m.id = p_memory;
    IF v_rewritten THEN
        PERFORM recall_private.delete_vectors(v_rules.tenant, p_memory);
        IF p_embedded IS NOT NULL THEN
            PERFORM recall.store_embeddings(
                jsonb_build_array(p_embedded || jsonb_build_object('id', p_memory)), p_embedded_with);
        END IF;
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
        VALUES (v_rules.tenant, p_memory, 'write', recall_private.access_weight(v_rules.tenant, 'write'), p_now, p_now);
        PERFORM recall_private.fold_memories(v_rules.tenant, ARRAY[p_memory], ARRAY[p_now]);
    END IF;
    PERFORM recall_private.retune_memories(v_rules.tenant, ARRAY[p_memory]);
    IF v_waiting <> '{}' THEN
        PERFORM recall_private.recount_links(
            v_rules.tenant, recall_private.resolve_pending_links_to(v_rules.tenant, ARRAY[p_memory], v_waiting));
    END IF;
    PERFORM recall_private.record_floor_changes(v_rules.tenant, ARRAY[p_memory], p_now);
    RETURN QUERY SELECT v_old.id, v_old.key, 'updated', coalesce(v_changed, '{}');
END $$;
