-- Writing: remember, remember_many.

-- remember_many: stores drafts (a JSON array of objects with the fields of a memory), one row each in the
-- order given: `outcome` is created, updated, revived, unchanged or rejected, `problem` says why it was rejected.
-- A draft whose key exists updates that memory, and brings it back if it was archived; links of the draft
-- replace those an earlier draft gave. Without a key each draft is a memory of its own.
-- Without p_skip_rejected one bad draft refuses the whole call; without p_revive an archived memory that a draft
-- would not change stays archived: an import run again must not undo what was forgotten or pruned.
CREATE OR REPLACE FUNCTION recall.remember_many(
    p_items jsonb, p_embedded_with text DEFAULT NULL, p_skip_rejected boolean DEFAULT false,
    p_now timestamptz DEFAULT now(), p_revive boolean DEFAULT true
) RETURNS TABLE (item int, id bigint, key text, outcome text, problem text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_stored record;
BEGIN
    IF p_embedded_with IS NULL AND jsonb_path_exists(p_items, '$[*].embedding ? (@ != null)') THEN
        PERFORM recall.reject('These drafts have embeddings, and p_embedded_with does not name their embedder.',
            'Name the model, so that vectors of two models are never compared.');
    END IF;
    v_stored := recall.take_drafts(
        p_items, recall.embeddings_of(p_items), p_embedded_with, p_skip_rejected, p_revive, p_now);
    RETURN QUERY
    SELECT u.item::int, u.id, u.key, u.outcome, u.problem
    FROM unnest(v_stored.ids, v_stored.keys, v_stored.outcomes, v_stored.problems) WITH ORDINALITY
        u(id, key, outcome, problem, item);
END $$;

-- take_drafts: what remember and remember_many do, with the embeddings apart: p_embeddings[i] of the draft in place i.
-- Returns, in the places of the drafts: ids, keys, outcomes and problems. Most drafts are of memories that are new and
-- link to nothing, and each step is left out that none of these drafts needs.
CREATE OR REPLACE FUNCTION recall.take_drafts(
    p_items jsonb, p_embeddings halfvec[], p_embedded_with text, p_skip_rejected boolean, p_revive boolean,
    p_now timestamptz,
    OUT ids bigint[], OUT keys text[], OUT outcomes text[], OUT problems text[]
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_linked boolean := jsonb_path_exists(p_items, '$[*].links[*] ? (@ != null)');
    v_named boolean := recall.are_named(p_items);
    v_rules record;
    v_keys text[];
    v_parsed record;
    v_stored record;
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall.reject('The drafts must be a JSON array of objects.');
    END IF;
    p_now := recall.finite(p_now);
    v_rules := recall.rules_held(v_tenant);
    IF p_embedded_with IS DISTINCT FROM v_rules.model THEN
        PERFORM recall.require_embedder(p_embedded_with);
    END IF;
    v_parsed := recall.parse_drafts(
        p_items, p_embeddings, p_embedded_with, recall.blank_draft(v_tenant, v_rules.language, p_now),
        v_rules.names, v_rules.dimensions);
    keys := v_parsed.keys;
    problems := v_parsed.problems;
    IF v_parsed.rejected > 0 AND NOT p_skip_rejected THEN
        PERFORM recall.reject(format(
            'Draft %s cannot be stored: %s.', v_parsed.rejected, problems[v_parsed.rejected]));
    END IF;
    v_keys := array_remove(keys, NULL);
    IF v_linked OR v_named THEN
        PERFORM recall.lock_drafts(v_tenant, p_items, v_keys, v_linked OR recall.awaits_links(v_tenant));
    END IF;
    IF v_keys <> '{}' THEN
        v_stored := recall.store_alone(v_tenant, v_parsed.drafts, keys, p_revive, p_now);
    ELSE
        v_stored := recall.store_drafts(v_tenant, v_parsed.drafts, keys, NULL, p_revive);
    END IF;
    ids := v_stored.ids;
    outcomes := v_stored.outcomes;
    PERFORM recall.give_birth(v_tenant, v_stored.born, v_stored.rewritten, v_rules.layers, p_now);
    IF p_embedded_with IS NOT NULL THEN
        PERFORM recall.store_vectors(v_tenant, v_stored.written, p_embeddings);
    END IF;
    IF outcomes && ARRAY['updated', 'revived', 'unchanged'] THEN
        PERFORM recall.settle_drafts(v_tenant, p_items, ids, outcomes, v_stored.rewritten, p_now);
    ELSIF v_linked OR v_named AND recall.awaits_links(v_tenant) THEN
        PERFORM recall.link_drafts(v_tenant, p_items, ids, outcomes, '{}', p_now);
    END IF;
    IF outcomes && ARRAY['updated', 'revived']
       OR jsonb_path_exists(p_items, '$[*].pinned ? (@ != false && @ != null)') THEN
        PERFORM recall.note_floors(v_tenant, v_stored.written, p_now);
    END IF;
END $$;

-- rules_held: what drafts of this tenant are stored by, which stays so until this transaction ends: changes of its
-- layers, of its language and of where its vectors are wait, so that what is stored here is there when they come to
-- retune it, to read it anew or to move it. Any number may hold them at once.
CREATE OR REPLACE FUNCTION recall.rules_held(
    p_tenant text,
    OUT layers recall.layer_in_force[], OUT names text[], OUT language text, OUT model text, OUT dimensions int
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_salt bigint := recall.lock_salt();
    v_settings jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(recall.salted('layers', p_tenant, v_salt)),
            pg_advisory_xact_lock_shared(recall.salted('language', p_tenant, v_salt)),
            pg_advisory_xact_lock_shared(recall.salted('vectors', p_tenant, v_salt));
    SELECT array_agg(l), array_agg(l.name), (
        SELECT jsonb_object_agg(s.name, s.value ORDER BY s.tenant <> '*') FROM recall.setting s
        WHERE s.tenant IN (p_tenant, '*') AND s.name IN ('language', 'embedding.model', 'embedding.dimensions'))
    INTO layers, names, v_settings FROM recall.layers_of(p_tenant) l;
    language := recall.language_from(v_settings -> 'language');
    model := v_settings ->> 'embedding.model';
    dimensions := v_settings -> 'embedding.dimensions';
END $$;

-- settle_drafts: what follows for memories that were there before these drafts, and for the links of all: vectors,
-- archivals, links, the pace of their layers, accesses and floors.
CREATE OR REPLACE FUNCTION recall.settle_drafts(
    p_tenant text, p_items jsonb, p_ids bigint[], p_outcomes text[], p_rewritten bigint[], p_now timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_updated bigint[] := ARRAY(
        SELECT u.id FROM unnest(p_ids, p_outcomes) u(id, outcome) WHERE u.outcome IN ('updated', 'revived'));
BEGIN
    PERFORM recall.settle_vectors(p_tenant, v_updated);
    PERFORM recall.link_drafts(
        p_tenant, p_items, p_ids, p_outcomes, recall.note_restored(p_tenant, v_updated, p_now), p_now);
    PERFORM recall.retune(p_tenant, v_updated);
    PERFORM recall.fold_memories(p_tenant, p_rewritten, array_fill(p_now, ARRAY[cardinality(p_rewritten)]));
END $$;

-- retune: gives these memories the clock and decay of the layer they are in now.
CREATE OR REPLACE FUNCTION recall.retune(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    UPDATE recall.activation a SET decay = l.decay, clock = l.clock
    FROM recall.memory m JOIN recall.layers_of(p_tenant) l ON l.name = m.layer
    WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND a.tenant = p_tenant AND a.memory_id = m.id
      AND (a.decay, a.clock) IS DISTINCT FROM (l.decay, l.clock)
$$;

-- require_embedder: refuses vectors of another embedder than the one this database was filled with, and
-- remembers the first one. NULL stands for no vectors and always passes.
CREATE OR REPLACE FUNCTION recall.require_embedder(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_known text := recall.setting_of('*', 'embedding.model') #>> '{}';
BEGIN
    IF p_name IS NULL OR v_known = p_name THEN
        RETURN;
    END IF;
    IF v_known IS NULL THEN
        PERFORM recall.require_whole('choose the embedder of this database');
        INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'embedding.model', to_jsonb(p_name))
        ON CONFLICT (tenant, name) DO NOTHING;
        v_known := recall.setting_of('*', 'embedding.model') #>> '{}';
    END IF;
    IF v_known IS DISTINCT FROM p_name THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            CONSTRAINT = 'embedder_mismatch',
            MESSAGE = format('This database holds embeddings of %L, not of %L.', v_known, p_name),
            HINT = 'Configure that embedder again, or make another database for the new one.';
    END IF;
END $$;

-- remember: stores one memory and returns its id; a memory with the same key is updated, and comes back if it was
-- archived.
CREATE OR REPLACE FUNCTION recall.remember(
    p_body text, p_title text DEFAULT '', p_key text DEFAULT NULL, p_layer text DEFAULT 'knowledge',
    p_role text DEFAULT NULL, p_author text DEFAULT NULL, p_context text DEFAULT '',
    p_tags text[] DEFAULT '{}', p_aliases text[] DEFAULT '{}', p_metadata jsonb DEFAULT '{}',
    p_occurred_at timestamptz DEFAULT NULL, p_links jsonb DEFAULT '[]',
    p_embedding halfvec DEFAULT NULL, p_embedded_with text DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_item jsonb := jsonb_strip_nulls(jsonb_build_object(
        'body', p_body, 'title', p_title, 'key', p_key, 'layer', p_layer, 'role', p_role, 'author', p_author,
        'context', p_context, 'tags', p_tags, 'aliases', p_aliases, 'occurred_at', p_occurred_at));
    v_stored record;
BEGIN
    IF p_metadata <> '{}' OR p_links <> '[]' THEN
        v_item := v_item || jsonb_build_object('metadata', p_metadata, 'links', p_links);
    END IF;
    v_stored := recall.take_drafts(
        jsonb_build_array(v_item), ARRAY[p_embedding],
        CASE WHEN p_embedding IS NOT NULL THEN coalesce(p_embedded_with, 'sql') END, false, true, p_now);
    RETURN v_stored.ids[1];
END $$;

-- content_hashes: what is stored under these keys: key, content hash, source, and whether it is embedded.
CREATE OR REPLACE FUNCTION recall.content_hashes(p_keys text[])
RETURNS TABLE (key text, content_hash text, source text, embedded boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.key, m.content_hash, m.source, m.embedded_with IS NOT NULL
    FROM recall.memory m
    WHERE m.tenant = recall.current_tenant() AND m.key = ANY (p_keys)
$$;

-- keys_of_source: the keys of live memories that came from a source; by key.
CREATE OR REPLACE FUNCTION recall.keys_of_source(p_source text) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.key FROM recall.memory m
    WHERE m.tenant = recall.current_tenant() AND m.source = p_source AND m.key IS NOT NULL
      AND m.archived_at IS NULL
    ORDER BY m.key
$$;

-- id_of: the id behind a key of this tenant; an error without one.
CREATE OR REPLACE FUNCTION recall.id_of(p_key text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_id bigint;
BEGIN
    SELECT m.id INTO v_id FROM recall.memory m
    WHERE m.tenant = recall.current_tenant() AND m.key = p_key;
    IF v_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = format('There is no memory with key %L in this tenant.', p_key),
            DETAIL = coalesce(p_key, ''), COLUMN = 'key',
            HINT = 'Search for some of its words: hits name their id and key.';
    END IF;
    RETURN v_id;
END $$;

-- require_memory: returns the id when it is a memory of this tenant; an error otherwise.
CREATE OR REPLACE FUNCTION recall.require_memory(p_id bigint) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM recall.memory m WHERE m.tenant = recall.current_tenant() AND m.id = p_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = format('There is no memory with id %s in this tenant.', coalesce(p_id::text, 'NULL')),
            DETAIL = coalesce(p_id::text, ''), COLUMN = 'id',
            HINT = 'Search for some of its words: hits name their id and key.';
    END IF;
    RETURN p_id;
END $$;
