-- Sharing: copying a memory into another tenant, whose owner allows it (add_reader).

-- share (app; Readers of a shared tenant): copies a memory of this tenant into the tenant p_to, which must allow it.
-- p_memory is the memory as `get` returns it: id, key, layer, title, body, role, author, tags and occurred_at are
-- copied, and everything else is left out. The copy has the key TENANT#ID, and as `origin` in its metadata the tenant,
-- the id and the key. Repeated, it updates the copy. A directive becomes a statement. Works in the cell of p_to,
-- wherever this tenant lives; nothing else there is read, changed or locked but its layers and language. Returns the id and the
-- key of the copy, and the outcome, as remember_many does. Raises an error without the right, and for a copy that p_to has forgotten.
CREATE OR REPLACE FUNCTION recall.share(p_to text, p_memory jsonb, p_now timestamptz DEFAULT now())
RETURNS TABLE (id bigint, key text, outcome text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_from text := recall_private.named_tenant();
    v_rules record;
    v_origin jsonb;
    v_copy record;
    v_draft recall.memory;
    v_given jsonb;
    v_problem text;
    v_stored record;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_sharing(v_from, p_to);
    IF pg_input_is_valid(p_memory ->> 'id', 'bigint') IS NOT TRUE THEN
        PERFORM recall_private.raise_invalid('The memory to share has no id.', 'Give it as recall.get returns it.');
    END IF;
    v_rules := recall_private.lock_tenant_rules(p_to, NULL, p_now);
    v_origin := jsonb_build_object('tenant', v_from, 'id', (p_memory ->> 'id')::bigint);
    key := v_from || '#' || (p_memory ->> 'id')::bigint;
    LOOP
        v_copy := recall_private.locked_copy(p_to, key, v_origin);
        v_given := recall_private.shared_fields(p_memory, v_rules.layers) || jsonb_build_object('metadata', v_copy.metadata
            || jsonb_build_object('origin', v_origin || jsonb_build_object('key', p_memory -> 'key')));
        v_problem := recall_private.draft_form_problem(v_given);
        IF v_problem IS NULL THEN
            v_draft := recall_private.draft_row(recall_private.default_draft(p_to, v_rules.language, p_now), v_given);
            v_draft.id := recall_private.unused_id(p_to);
            v_draft.key := key;
            v_problem := recall_private.draft_problem(v_draft, v_rules.layers);
        END IF;
        IF v_problem IS NOT NULL THEN
            PERFORM recall_private.raise_invalid(format('The memory cannot be shared: %s.', v_problem));
        END IF;
        v_stored := recall_private.store_copy(p_to, v_draft, v_given, v_copy.known, p_now);
        EXIT WHEN NOT v_stored.overtaken;  -- else the other tenant has just stored a memory with this key
    END LOOP;
    id := v_stored.id;
    outcome := v_stored.outcome;
    RETURN NEXT;
END $$;

-- store_copy: stores a copy, new or over the locked one that p_known describes as store_drafts wants it. Only the copy is
-- written and locked: links of the other tenant that wait for its name wait for the job `graph`. `overtaken`: nothing is stored.
CREATE OR REPLACE FUNCTION recall_private.store_copy(
    p_tenant text, p_draft recall.memory, p_given jsonb, p_known jsonb, p_now timestamptz,
    OUT id bigint, OUT outcome text, OUT overtaken boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_drafts recall.memory[] := (recall_private.complete_drafts(
        p_tenant, ARRAY[p_draft], ARRAY[p_draft.key], ARRAY[p_given], p_known)).drafts;
    v_stored record := recall_private.store_drafts(p_tenant, v_drafts, ARRAY[p_draft.key], p_known, false, p_now);
BEGIN
    id := v_stored.ids[1];
    outcome := v_stored.outcomes[1];
    overtaken := v_stored.overtaken;
    IF outcome = 'updated' THEN
        PERFORM recall_private.apply_draft_effects(
            p_tenant, v_drafts, NULL, v_stored.ids, v_stored.outcomes, v_stored.rewritten, '{}', p_now, true),
            recall_private.record_floor_changes(p_tenant, v_stored.ids, p_now);
    END IF;
END $$;

-- require_sharing: raises an error unless p_to lets p_from copy memories into it now, lives here, and is not being read in this
-- transaction. Whether there is such a tenant makes no difference to what is not allowed.
CREATE OR REPLACE FUNCTION recall_private.require_sharing(p_from text, p_to text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('recall.shared_tenant', true) <> '' THEN
        PERFORM recall.current_tenant();  -- refuses what is not read-only; Postgres refuses to write in the rest
    ELSIF recall_private.in_cells() THEN
        PERFORM recall_private.require_resident(p_to);
    END IF;
    IF NOT EXISTS (SELECT FROM recall.reader r WHERE r.tenant = p_to AND r.reader = p_from AND r.may_share) THEN
        PERFORM recall_private.raise_invalid(
            format('Tenant %s does not let tenant %s share memories with it.', coalesce(left(p_to, 200), 'NULL'), p_from),
            'Whoever owns it allows it: `pgrecall readers add --may-share`.');
    END IF;
END $$;

-- locked_copy: locks the memory with the key of a copy, and returns its metadata ('{}' if there is none), and what store_drafts
-- wants to know. Raises an error if it is archived, or of another origin than p_origin: nobody changes that any more.
CREATE OR REPLACE FUNCTION recall_private.locked_copy(
    p_tenant text, p_key text, p_origin jsonb, OUT metadata jsonb, OUT known jsonb
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_archived timestamptz;
BEGIN
    SELECT m.metadata, m.archived_at,
           jsonb_build_object(p_key, jsonb_build_object('id', m.id, 'hash', m.content_hash, 'archived', false))
    INTO metadata, v_archived, known
    FROM recall.memory m WHERE m.tenant = p_tenant AND m.key = p_key FOR NO KEY UPDATE;
    IF NOT coalesce(metadata -> 'origin' @> p_origin, metadata IS NULL) THEN
        PERFORM recall_private.raise_invalid(
            format('Tenant %s has a memory of its own with the key %s.', p_tenant, p_key), 'Its owner renames or forgets it.');
    ELSIF v_archived IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(
            format('Tenant %s has forgotten its copy of this memory.', p_tenant), 'Its owner restores it: `pgrecall unarchive`.');
    END IF;
    metadata := coalesce(metadata, '{}');
END $$;

-- shared_fields: what a copy has of a memory. Its layer only if the other tenant has it; a directive is a statement there.
CREATE OR REPLACE FUNCTION recall_private.shared_fields(p_memory jsonb, p_layers text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_act text := recall_private.found_speech_act(
        coalesce(p_memory ->> 'title', ''), coalesce(p_memory ->> 'body', ''), p_memory ->> 'role');
BEGIN
    RETURN jsonb_build_object(
        'layer', CASE WHEN p_memory ->> 'layer' = ANY (p_layers) THEN p_memory ->> 'layer' ELSE 'knowledge' END,
        'title', coalesce(p_memory ->> 'title', ''), 'body', coalesce(p_memory ->> 'body', ''),
        'role', p_memory -> 'role', 'author', p_memory -> 'author', 'occurred_at', p_memory -> 'occurred_at',
        'tags', coalesce(nullif(p_memory -> 'tags', 'null'), '[]'),
        'speech_act', CASE WHEN recall_private.is_directive(v_act) THEN 'statement' ELSE v_act END);
END $$;
