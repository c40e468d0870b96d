-- Storing one memory, with its fields as arguments.

-- remember (app; Remember): stores one memory and returns its id. A memory with the same key keeps the fields that are
-- not given (NULL), changes those that are, and is restored if it was archived. A text, a list, metadata or links are
-- cleared by '' or an empty value; times are cleared by `edit`.
CREATE OR REPLACE FUNCTION recall.remember(
    p_body text, p_title text DEFAULT NULL, p_key text DEFAULT NULL, p_layer text DEFAULT NULL,
    p_role text DEFAULT NULL, p_author text DEFAULT NULL, p_context text DEFAULT NULL,
    p_tags text[] DEFAULT NULL, p_aliases text[] DEFAULT NULL, p_metadata jsonb DEFAULT NULL,
    p_occurred_at timestamptz DEFAULT NULL, p_links jsonb DEFAULT NULL,
    p_embedding halfvec DEFAULT NULL, p_embedded_with text DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_embedder text := CASE WHEN p_embedding IS NOT NULL THEN coalesce(p_embedded_with, 'sql') END;
    v_rules record := recall_private.lock_tenant_rules(recall.current_tenant(), v_embedder, p_now);
    v_draft recall.memory;
    v_given jsonb;
    v_links jsonb := CASE WHEN p_links <> 'null' AND (p_links <> '[]' OR p_key IS NOT NULL) THEN p_links END;
    v_problem text;
BEGIN
    PERFORM recall_private.analyze_grown_tables(CASE WHEN jsonb_typeof(p_links) = 'array' THEN jsonb_array_length(p_links) ELSE 1 END);
    SELECT v_rules.tenant, recall_private.unused_id(v_rules.tenant), p_key, coalesce(p_layer, 'knowledge'),
           coalesce(p_title, ''), coalesce(p_body, ''), nullif(p_role, ''), nullif(p_author, ''), coalesce(p_context, ''),
           coalesce(p_tags, '{}'), coalesce(p_aliases, '{}'), CASE WHEN p_metadata <> 'null' THEN p_metadata ELSE '{}' END, p_occurred_at,
           false, p_now, p_now, v_embedder, v_rules.language
    INTO v_draft.tenant, v_draft.id, v_draft.key, v_draft.layer,
         v_draft.title, v_draft.body, v_draft.role, v_draft.author, v_draft.context,
         v_draft.tags, v_draft.aliases, v_draft.metadata, v_draft.occurred_at,
         v_draft.pinned, v_draft.created_at, v_draft.updated_at, v_draft.embedded_with, v_draft.language;
    IF p_key IS NOT NULL THEN
        v_given := recall_private.given_fields(jsonb_build_object(
            'body', p_body, 'title', p_title, 'layer', p_layer, 'role', p_role, 'author', p_author, 'context', p_context,
            'tags', p_tags, 'aliases', p_aliases, 'metadata', p_metadata, 'occurred_at', p_occurred_at));
    END IF;
    v_problem := coalesce(
        CASE WHEN v_draft.tags <> '{}' OR v_draft.aliases <> '{}' OR v_draft.metadata <> '{}'
             THEN recall_private.draft_type_problem(v_draft) END,
        CASE WHEN p_key IS NOT NULL THEN recall_private.kept_draft_problem(v_draft, v_given, v_rules.layers)
             ELSE recall_private.draft_problem(v_draft, v_rules.layers) END,
        CASE WHEN p_embedding IS NOT NULL THEN recall_private.vector_direction_problem(p_embedding, v_rules.dimensions) END,
        CASE WHEN v_links IS NOT NULL THEN recall_private.links_problem(v_links) END);
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('The draft cannot be stored: %s.', v_problem));
    END IF;
    RETURN (recall_private.remember_parsed_drafts(
        v_rules, ARRAY[v_draft], ARRAY[v_draft.id], ARRAY[p_key], CASE WHEN v_links IS NOT NULL THEN ARRAY[v_links] END,
        CASE WHEN v_given IS NOT NULL THEN ARRAY[v_given] END,
        p_key IS NOT NULL OR v_draft.title <> '' OR v_draft.aliases <> '{}', false,
        CASE WHEN p_embedding IS NOT NULL THEN ARRAY[p_embedding] END, true, p_now)).ids[1];
END $$;
