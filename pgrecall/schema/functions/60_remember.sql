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
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_result jsonb;
    v_rejected record;
    v_updated bigint[];
    v_rewritten bigint[];
BEGIN
    IF p_embedded_with IS NULL AND jsonb_path_exists(p_items, '$[*].embedding ? (@ != null)') THEN
        PERFORM recall.reject('These drafts have embeddings, and p_embedded_with does not name their embedder.',
            'Name the model, so that vectors of two models are never compared.');
    END IF;
    PERFORM recall.require_embedder(p_embedded_with), recall.finite(p_now);
    PERFORM recall.hold_layers(v_tenant), recall.hold_language(v_tenant);
    IF jsonb_typeof(p_items) = 'array' THEN
        PERFORM recall.lock_drafts(v_tenant, p_items);
    END IF;
    v_result := recall.store_alone(v_tenant, p_items, p_embedded_with, p_revive, p_now);
    SELECT r.item, r.problem INTO v_rejected
    FROM jsonb_to_recordset(v_result) AS r(item int, problem text)
    WHERE r.problem IS NOT NULL ORDER BY r.item LIMIT 1;
    IF FOUND AND NOT p_skip_rejected THEN
        PERFORM recall.reject(format('Draft %s cannot be stored: %s.', v_rejected.item, v_rejected.problem));
    END IF;
    v_updated := ARRAY(
        SELECT r.id FROM jsonb_to_recordset(v_result) AS r(id bigint, outcome text)
        WHERE r.outcome IN ('updated', 'revived'));
    PERFORM recall.settle_vectors(v_tenant, v_updated);
    PERFORM recall.link_drafts(
        v_tenant, p_items, v_result, recall.note_restored(v_tenant, v_updated, p_now), p_now);
    PERFORM recall.retune(v_tenant, v_updated);
    v_rewritten := ARRAY(SELECT r.id FROM jsonb_to_recordset(v_result) AS r(id bigint, rewritten boolean)
                         WHERE r.rewritten);
    PERFORM recall.fold_memories(v_tenant, v_rewritten, array_fill(p_now, ARRAY[cardinality(v_rewritten)]));
    PERFORM recall.note_floors(v_tenant, ARRAY(
        SELECT r.id FROM jsonb_to_recordset(v_result) AS r(id bigint, outcome text)
        WHERE r.outcome IN ('created', 'updated', 'revived')), p_now);
    RETURN QUERY
    SELECT r.item, r.id, r.key, r.outcome, r.problem
    FROM jsonb_to_recordset(v_result) AS r(item int, id bigint, key text, outcome text, problem text)
    ORDER BY r.item;
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
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT r.id FROM recall.remember_many(
        jsonb_build_array(jsonb_build_object(
            'body', p_body, 'title', p_title, 'key', p_key, 'layer', p_layer, 'role', p_role,
            'author', p_author, 'context', p_context, 'tags', p_tags, 'aliases', p_aliases,
            'metadata', p_metadata, 'occurred_at', p_occurred_at, 'links', p_links,
            'embedding', p_embedding::text)),
        CASE WHEN p_embedding IS NOT NULL THEN coalesce(p_embedded_with, 'sql') END, false, p_now, true) r
$$;

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
