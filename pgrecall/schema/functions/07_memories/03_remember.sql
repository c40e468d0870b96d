-- Storing memories: remember and remember_many.

-- remember_many (app; Remember): stores drafts (a JSON array of objects with the fields of a memory) and returns one
-- row each, in the order given: `outcome` is created, updated, revived, unchanged or rejected, `problem` says why it
-- was rejected. A draft with an existing key updates that memory, and restores it if it was archived; the links of the
-- draft replace those of an earlier draft. Each draft without a key becomes a new memory. Without p_skip_rejected, one
-- invalid draft rejects the whole call. Without p_revive, an archived memory that a draft does not change stays
-- archived, so that repeating an import does not undo forgetting or pruning. With p_compare, for up to 100 drafts, a
-- draft without a key that a live memory holds already is not stored again: it is unchanged, with the id and key of
-- that memory. `similar_to` then names the memory that a stored draft nearly repeats: {id, key, similarity}. With
-- p_keep, a memory with the key of a draft keeps each field that the draft does not give, also its links. Null is not
-- given; a field is cleared by its empty value ('', [], {}), a time too by ''. `changed` then has the names of the
-- fields of an existing memory that changed, and a draft that makes no memory with what is kept rejects the call. A
-- draft can have, as `content_hash`, the digest of the text that was embedded: a vector of another text than the stored
-- one is left out for the job embed. With p_project, new memories and given metadata have it as `project`, where they
-- name none.
CREATE OR REPLACE FUNCTION recall.remember_many(
    p_items jsonb, p_embedded_with text DEFAULT NULL, p_skip_rejected boolean DEFAULT false,
    p_now timestamptz DEFAULT now(), p_revive boolean DEFAULT true, p_compare boolean DEFAULT false,
    p_keep boolean DEFAULT false, p_project text DEFAULT NULL
) RETURNS TABLE (item int, id bigint, key text, outcome text, problem text, similar_to jsonb, changed text[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_rules record;
    v_blank recall.memory;
    v_embeddings halfvec[];
    v_read record;
    v_stored record;
    v_found record;
    v_held jsonb := '{}';
    v_similar jsonb[];
BEGIN
    IF p_embedded_with IS NULL AND jsonb_path_exists(p_items, '$[*].embedding ? (@ != null)') THEN
        PERFORM recall_private.raise_invalid('These drafts have embeddings, and p_embedded_with does not name their embedder.',
            'Name the model, so that vectors of two models are never compared.');
    ELSIF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall_private.raise_invalid('The drafts must be a JSON array of objects.');
    END IF;
    IF p_compare AND jsonb_array_length(p_items) > 100 THEN
        PERFORM recall_private.raise_invalid(
            format('%s drafts cannot be compared in one call.', jsonb_array_length(p_items)),
            'Compare 100 at most, or store them without p_compare.');
    END IF;
    PERFORM recall_private.analyze_grown_tables(greatest(
        jsonb_array_length(p_items), jsonb_array_length(jsonb_path_query_array(p_items, '$[*].links[*]'))));
    v_rules := recall_private.lock_tenant_rules(recall.current_tenant(), p_embedded_with, p_now);
    v_embeddings := recall_private.parsed_embeddings(p_items);
    v_blank := recall_private.default_draft(v_rules.tenant, v_rules.language, p_now);
    IF p_project IS NOT NULL THEN
        p_items := recall_private.items_in_project(p_items, p_project);
        v_blank.metadata := jsonb_build_object('project', p_project);
    END IF;
    v_read := recall_private.parse_drafts(
        p_items, v_embeddings, p_embedded_with, v_blank, v_rules.layers, v_rules.dimensions, p_keep);
    IF v_read.rejected > 0 AND NOT p_skip_rejected THEN
        PERFORM recall_private.raise_invalid(format(
            '%s cannot be stored: %s.',
            CASE WHEN jsonb_array_length(p_items) = 1 THEN 'The draft' ELSE 'Draft ' || v_read.rejected END,
            v_read.problems[v_read.rejected]));
    END IF;
    FOR i IN 1 .. CASE WHEN p_compare THEN jsonb_array_length(p_items) ELSE 0 END LOOP
        CONTINUE WHEN v_read.ids[i] IS NULL;
        SELECT s.* INTO v_found
        FROM recall_private.similar_memory(v_rules.tenant, v_read.drafts[i], v_embeddings[i], p_now) s;
        IF v_found.held AND v_read.keys[i] IS NULL AND v_read.links[i] IS NULL THEN
            v_held := v_held || jsonb_build_object(i, jsonb_build_object('id', v_found.id, 'key', v_found.key));
            v_read.drafts[i] := NULL;
            v_read.ids[i] := NULL;
            v_embeddings[i] := NULL;
        ELSIF v_found.id IS NOT NULL THEN
            v_similar[i] := jsonb_build_object(
                'id', v_found.id, 'key', v_found.key, 'similarity', v_found.similarity);
        END IF;
    END LOOP;
    v_stored := recall_private.remember_parsed_drafts(
        v_rules, v_read.drafts, v_read.ids, v_read.keys, CASE WHEN v_read.linked THEN v_read.links END, v_read.given,
        v_read.named, v_read.pinned, v_embeddings, p_revive, p_now);
    IF v_stored.stale IS NOT NULL THEN  -- what was made of another text, beside its vector
        p_items := (
            SELECT jsonb_agg(
                CASE WHEN v_stored.stale[e.ordinality] THEN e.value - ARRAY['tokens', 'passages'] ELSE e.value END
                ORDER BY e.ordinality)
            FROM jsonb_array_elements(p_items) WITH ORDINALITY e);
    END IF;
    IF p_embedded_with IS NOT NULL AND jsonb_path_exists(p_items, '$[*].tokens') THEN
        PERFORM recall_private.store_token_signs(v_rules.tenant, v_stored.ids, (
            SELECT jsonb_agg(coalesce(i.value -> 'tokens', 'null') ORDER BY i.ordinality)
            FROM jsonb_array_elements(p_items) WITH ORDINALITY i), p_embedded_with);
    END IF;
    IF jsonb_path_exists(p_items, '$[*].passages[*]') THEN
        PERFORM recall_private.store_passages(v_rules.tenant, v_stored.written, (
            SELECT jsonb_agg(coalesce(i.value -> 'passages', 'null') ORDER BY i.ordinality)
            FROM jsonb_array_elements(p_items) WITH ORDINALITY i));
    END IF;
    RETURN QUERY
    SELECT u.item::int, coalesce(u.id, (v_held -> u.item::text -> 'id')::bigint),
           coalesce(u.key, v_held -> u.item::text ->> 'key'),
           CASE WHEN v_held ? u.item::text THEN 'unchanged'
                ELSE coalesce(u.outcome, CASE WHEN u.id IS NULL THEN 'rejected' ELSE 'created' END) END,
           u.problem, CASE WHEN u.id IS NOT NULL THEN v_similar[u.item] END,
           CASE WHEN v_stored.changed[u.item] IS NOT NULL
                THEN ARRAY(SELECT jsonb_array_elements_text(v_stored.changed[u.item])) END
    FROM unnest(v_stored.ids, v_read.keys, v_stored.outcomes, v_read.problems) WITH ORDINALITY
        u(id, key, outcome, problem, item);
END $$;

-- remember_parsed_drafts: the second half of remember and remember_many: stores parsed drafts (NULL: rejected) by the
-- rules of lock_tenant_rules. Ids, keys, links and vectors have the order of the drafts; the links are NULL if no
-- draft has any, and what they give is NULL if memories with their keys keep nothing. p_named says whether any has a name
-- by which it may exist or be waited for, p_pinned whether any is pinned. Returns ids and outcomes in the same order; no
-- outcomes if all memories are new; `changed` and `stale` as complete_drafts does. Most drafts are new memories without
-- links, so each step that no draft needs is skipped.
CREATE OR REPLACE FUNCTION recall_private.remember_parsed_drafts(
    p_rules record, p_drafts recall.memory[], p_ids bigint[], p_keys text[], p_links jsonb[], p_given jsonb[],
    p_named boolean, p_pinned boolean, p_embeddings halfvec[], p_revive boolean, p_now timestamptz,
    OUT ids bigint[], OUT outcomes text[], OUT written bigint[], OUT changed jsonb[], OUT stale boolean[]
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_keys text[] := array_remove(p_keys, NULL);
    v_rows bigint;  -- assigned, for that is one expression where PERFORM would be a query
    v_stored record;
    v_locked bigint[];
    v_relinked bigint[];
BEGIN
    IF v_keys <> '{}' THEN
        v_stored := recall_private.store_drafts_with_retry(
            p_rules.tenant, p_drafts, p_ids, p_keys, p_links, p_given, p_revive, p_now);
        p_drafts := v_stored.drafts;
        ids := v_stored.ids;
        outcomes := v_stored.outcomes;
        written := v_stored.written;
        changed := v_stored.changed;
        stale := v_stored.stale;
        v_locked := v_stored.locked;
    ELSE
        IF p_links IS NOT NULL OR p_named AND recall_private.has_pending_links(p_rules.tenant) THEN
            v_locked := (recall_private.lock_linked_memories(
                p_rules.tenant, p_links, '{}', '{}', recall_private.sources_waiting_for(p_rules.tenant, p_drafts))).locked;
        END IF;
        v_rows := recall_private.insert_drafts(p_rules.tenant, p_drafts, p_now);
        ids := p_ids;
        written := ids;
    END IF;
    FOR i IN 1 .. CASE WHEN stale IS NULL THEN 0 ELSE cardinality(p_embeddings) END LOOP
        IF stale[i] THEN
            p_embeddings[i] := NULL;
        END IF;
    END LOOP;
    IF p_embeddings IS NOT NULL THEN
        IF outcomes && ARRAY['updated', 'revived'] THEN
            PERFORM recall_private.lock_vectors_shared(p_rules.tenant);
            PERFORM recall_private.delete_passages(p_rules.tenant, ARRAY(
                SELECT u.id FROM unnest(written, p_embeddings) u(id, embedding) WHERE u.embedding IS NOT NULL));
        END IF;
        v_rows := recall_private.store_vectors(p_rules.tenant, p_rules.own_table, written, p_embeddings);
    END IF;
    IF outcomes && ARRAY['updated', 'revived', 'unchanged'] THEN
        v_relinked := recall_private.apply_draft_effects(
            p_rules.tenant, p_drafts, p_links, ids, outcomes, v_stored.rewritten, v_locked, p_now, p_given IS NOT NULL);
        FOR i IN 1 .. CASE WHEN p_given IS NULL OR v_relinked IS NULL THEN 0 ELSE cardinality(ids) END LOOP
            IF changed[i] IS NOT NULL AND ids[i] = ANY (v_relinked) THEN
                changed[i] := changed[i] || '"links"';
                outcomes[i] := CASE outcomes[i] WHEN 'unchanged' THEN 'updated' ELSE outcomes[i] END;
            END IF;
        END LOOP;
    ELSIF p_links IS NOT NULL OR p_named AND recall_private.has_pending_links(p_rules.tenant) THEN
        PERFORM recall_private.link_drafts(p_rules.tenant, p_drafts, p_links, ids, outcomes, v_locked, '{}', p_now);
    END IF;
    IF p_pinned OR outcomes && ARRAY['updated', 'revived'] THEN
        PERFORM recall_private.record_floor_changes(p_rules.tenant, written, p_now);
    END IF;
END $$;

-- lock_tenant_rules: the rules for storing drafts of p_tenant, locked until this transaction ends: changes
-- of its layers, its language and the table of its vectors wait. Any number of transactions can hold the lock. Raises
-- an error for vectors of an embedder other than this database's. `layers` are the names of available layers, in any
-- order; `own_table` says whether the tenant's vectors have a table of their own.
CREATE OR REPLACE FUNCTION recall_private.lock_tenant_rules(
    p_tenant text, p_embedder text, p_now timestamptz,
    OUT tenant text, OUT layers text[], OUT language text, OUT dimensions int, OUT own_table boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_settings jsonb;
BEGIN
    tenant := p_tenant;
    IF p_now IS DISTINCT FROM now() THEN
        PERFORM recall_private.require_moment(p_now);
    END IF;
    PERFORM recall_private.share_tenant_locks(tenant, ARRAY['rules', 'vectors']);
    SELECT ARRAY(SELECT l.name FROM recall.layer l WHERE l.tenant IN (x.tenant, '*')),
           EXISTS (SELECT FROM recall.vector_home h WHERE h.tenant = x.tenant),
           (SELECT jsonb_object_agg(s.name, s.value ORDER BY s.tenant <> '*') FROM recall.setting s
            WHERE s.tenant IN (x.tenant, '*') AND s.name IN ('language', 'embedding.model', 'embedding.dimensions'))
    INTO layers, own_table, v_settings FROM (SELECT lock_tenant_rules.tenant) x;
    language := recall_private.language_in_setting(v_settings -> 'language');
    dimensions := v_settings -> 'embedding.dimensions';
    IF p_embedder IS DISTINCT FROM v_settings ->> 'embedding.model' THEN
        PERFORM recall_private.require_embedder(p_embedder);
    END IF;
END $$;

-- apply_draft_effects: the effects of drafts on memories that existed before, and of the links of all drafts: logs a
-- write for each memory with a new text or restored (p_changed_text), then updates vectors, archivals, links, the
-- decay of layers, and accesses. p_keep and the result are those of link_drafts.
CREATE OR REPLACE FUNCTION recall_private.apply_draft_effects(
    p_tenant text, p_drafts recall.memory[], p_links jsonb[], p_ids bigint[], p_outcomes text[], p_changed_text bigint[],
    p_locked bigint[], p_now timestamptz, p_keep boolean
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_updated bigint[] := ARRAY(
        SELECT u.id FROM unnest(p_ids, p_outcomes) u(id, outcome) WHERE u.outcome IN ('updated', 'revived'));
    v_relinked bigint[];
BEGIN
    IF p_changed_text <> '{}' THEN
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
        SELECT p_tenant, u, 'write', recall_private.access_weight(p_tenant, 'write'), p_now, p_now FROM unnest(p_changed_text) u;
    END IF;
    PERFORM recall_private.sync_vectors(p_tenant, v_updated);
    DELETE FROM recall.token_signs s WHERE s.tenant = p_tenant AND s.memory_id = ANY (p_changed_text);
    v_relinked := recall_private.link_drafts(
        p_tenant, p_drafts, p_links, p_ids, p_outcomes, p_locked, recall_private.close_archivals(p_tenant, v_updated, p_now),
        p_now, p_keep);
    PERFORM recall_private.retune_memories(p_tenant, v_updated);
    PERFORM recall_private.fold_memories(p_tenant, p_changed_text, array_fill(p_now, ARRAY[cardinality(p_changed_text)]));
    RETURN v_relinked;
END $$;

-- retune_memories: gives these memories the clock and decay of their present layer.
CREATE OR REPLACE FUNCTION recall_private.retune_memories(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE recall.activation a SET decay = l.decay, clock = l.clock
    FROM recall.memory m JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
    WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND a.tenant = p_tenant AND a.memory_id = m.id
      AND (a.decay, a.clock) IS DISTINCT FROM (l.decay, l.clock)
$$;

-- require_embedder: rejects vectors of an embedder other than this database's, and records the first embedder. NULL
-- means no vectors and always passes.
CREATE OR REPLACE FUNCTION recall_private.require_embedder(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_known text := recall_private.setting_value('*', 'embedding.model') #>> '{}';
BEGIN
    IF p_name IS NULL OR v_known = p_name THEN
        RETURN;
    END IF;
    IF v_known IS NULL THEN
        PERFORM recall_private.require_any_tenant('choose the embedder of this database');
        INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'embedding.model', to_jsonb(p_name))
        ON CONFLICT (tenant, name) DO NOTHING;
        v_known := recall_private.setting_value('*', 'embedding.model') #>> '{}';
    END IF;
    IF v_known IS DISTINCT FROM p_name THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            CONSTRAINT = 'embedder_mismatch',
            MESSAGE = format('This database holds embeddings of %L, not of %L.', v_known, p_name),
            HINT = 'Configure that embedder again, or replace all vectors: pgrecall jobs run reembed.';
    END IF;
END $$;
