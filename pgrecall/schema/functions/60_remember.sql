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

-- store_alone: store_drafts as if nobody else stored these keys: what the drafts change is locked before it is looked
-- at, and where another transaction has just created one of them, once more from the beginning, now that it is there.
CREATE OR REPLACE FUNCTION recall.store_alone(
    p_tenant text, p_items jsonb, p_embedded_with text, p_revive boolean, p_now timestamptz
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_keys text[] := CASE jsonb_typeof(p_items)
        WHEN 'array' THEN ARRAY(SELECT e.value ->> 'key' FROM jsonb_array_elements(p_items) e) END;
    v_result jsonb;
BEGIN
    LOOP
        PERFORM FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.key = ANY (v_keys) ORDER BY m.key, m.id FOR NO KEY UPDATE;
        BEGIN
            v_result := recall.store_drafts(p_tenant, p_items, p_embedded_with, p_revive, p_now);
            IF NOT jsonb_path_exists(v_result, '$[*].overtaken ? (@ == true)') THEN
                RETURN v_result;
            END IF;
            RAISE SQLSTATE 'RC001';
        EXCEPTION WHEN SQLSTATE 'RC001' THEN
            NULL;
        END;
    END LOOP;
END $$;

-- store_drafts: upserts the drafts that have no problem, gives new ones their activation (creation is the
-- first access), logs a write of those whose text changed or that come back, and returns [{item, id, key, outcome,
-- problem, rewritten, overtaken}]: rewritten where the text changed, overtaken where what it was before is not known.
CREATE OR REPLACE FUNCTION recall.store_drafts(
    p_tenant text, p_items jsonb, p_embedded_with text, p_revive boolean, p_now timestamptz
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_language text := recall.language(p_tenant);
    v_result jsonb;
    v_embedded bigint[];
    v_embeddings halfvec[];
BEGIN
    WITH draft AS MATERIALIZED (
        SELECT d.*, CASE WHEN d.problem IS NULL
                    THEN nextval(pg_get_serial_sequence('recall.memory', 'id')) END AS new_id
        FROM recall.parse_drafts(p_tenant, p_items, p_now) d
    ), earlier AS MATERIALIZED (
        SELECT m.id, m.content_hash, m.archived_at IS NOT NULL AS archived
        FROM draft d JOIN recall.memory m ON m.tenant = p_tenant AND m.key = d.key
    ), stored AS (
        INSERT INTO recall.memory AS m (
            tenant, id, key, layer, title, body, role, author, context, source, session_id, tags, aliases,
            metadata, occurred_at, valid_from, valid_until, expires_at, pinned, created_at, updated_at,
            embedded_with, language)
        OVERRIDING SYSTEM VALUE
        SELECT p_tenant, d.new_id, d.key, d.layer, d.title, d.body, d.role, d.author, d.context, d.source,
               d.session_id, d.tags, d.aliases, d.metadata, d.occurred_at, d.valid_from, d.valid_until,
               d.expires_at, d.pinned, p_now, p_now,
               CASE WHEN d.embedding IS NOT NULL THEN p_embedded_with END, v_language
        FROM draft d
        WHERE d.problem IS NULL
        ORDER BY d.key, d.item
        ON CONFLICT (tenant, key) DO UPDATE SET
            layer = excluded.layer, title = excluded.title, body = excluded.body, role = excluded.role,
            author = excluded.author, context = excluded.context, source = excluded.source,
            session_id = excluded.session_id, tags = excluded.tags, aliases = excluded.aliases,
            metadata = excluded.metadata, occurred_at = excluded.occurred_at,
            valid_from = excluded.valid_from, valid_until = excluded.valid_until,
            -- A draft can pin; taking a pin away is left to `pin`, or every import would do it.
            expires_at = excluded.expires_at, pinned = m.pinned OR excluded.pinned, updated_at = excluded.updated_at,
            archived_at = NULL,
            embedded_with = CASE WHEN excluded.embedded_with IS NOT NULL THEN excluded.embedded_with
                                 WHEN excluded.content_hash = m.content_hash THEN m.embedded_with END
        WHERE (m.layer, m.title, m.body, m.role, m.author, m.context, m.source, m.session_id, m.tags,
               m.aliases, m.metadata, m.occurred_at, m.valid_from, m.valid_until, m.expires_at, m.pinned)
              IS DISTINCT FROM
              (excluded.layer, excluded.title, excluded.body, excluded.role, excluded.author,
               excluded.context, excluded.source, excluded.session_id, excluded.tags, excluded.aliases,
               excluded.metadata, excluded.occurred_at, excluded.valid_from, excluded.valid_until,
               excluded.expires_at, m.pinned OR excluded.pinned)
           OR (excluded.embedded_with IS NOT NULL AND m.embedded_with IS DISTINCT FROM excluded.embedded_with)
           OR (p_revive AND m.archived_at IS NOT NULL)
        RETURNING m.id, m.key, m.layer, m.content_hash, coalesce(m.occurred_at, p_now) AS born_at
    ), placed AS (
        SELECT d.item, d.key, d.problem, d.embedding, coalesce(s.id, k.id) AS id,
               CASE WHEN d.problem IS NOT NULL THEN 'rejected'
                    WHEN s.id IS NOT NULL THEN 'created'
                    WHEN e.archived THEN 'revived'
                    WHEN k.id IS NOT NULL THEN 'updated'
                    ELSE 'unchanged' END AS outcome,
               coalesce(s.layer, k.layer) AS layer, least(coalesce(s.born_at, p_now), p_now) AS born_at,
               e.archived OR e.content_hash <> k.content_hash AS rewritten,
               k.id IS NOT NULL AND e.id IS NULL AS overtaken
        FROM draft d
        LEFT JOIN stored s ON s.id = d.new_id
        LEFT JOIN stored k ON s.id IS NULL AND k.key = d.key AND d.problem IS NULL
        LEFT JOIN earlier e ON e.id = k.id
    ), born AS (
        INSERT INTO recall.activation (
            tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, credit, folded_until, decay, clock)
        SELECT p_tenant, p.id, b.n, b.at, b.at,
               CASE WHEN b.n >= 2 THEN b.at END, CASE WHEN b.n >= 3 THEN b.at END,
               CASE WHEN b.n >= 4 THEN b.at END, CASE WHEN b.n >= 5 THEN b.at END,
               CASE WHEN b.n >= 6 THEN b.at END, CASE WHEN b.n >= 7 THEN b.at END,
               CASE WHEN b.n >= 8 THEN b.at END,
               b.credit, p.born_at, l.decay, l.clock
        FROM placed p
        JOIN recall.layers_of(p_tenant) l ON l.name = p.layer
        CROSS JOIN LATERAL (
            SELECT recall.millionths(l.birth_weight) / 1000000 AS n, recall.epoch(p.born_at) AS at,
                   recall.millionths(l.birth_weight) % 1000000 / 1000000.0::double precision AS credit) b
        WHERE p.outcome = 'created'
    ), logged AS (
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at)
        SELECT p_tenant, p.id, 'write', l.birth_weight, p.born_at, p_now
        FROM placed p JOIN recall.layers_of(p_tenant) l ON l.name = p.layer
        WHERE p.outcome = 'created'
        UNION ALL
        SELECT p_tenant, p.id, 'write', recall.access_weight(p_tenant, 'write'), p_now, p_now
        FROM placed p WHERE p.rewritten
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'item', p.item, 'id', p.id, 'key', p.key, 'outcome', p.outcome, 'problem', p.problem,
        'rewritten', coalesce(p.rewritten, false), 'overtaken', p.overtaken)), '[]'),
        array_agg(p.id) FILTER (WHERE p.id IS NOT NULL AND p.embedding IS NOT NULL),
        array_agg(p.embedding) FILTER (WHERE p.id IS NOT NULL AND p.embedding IS NOT NULL)
    INTO v_result, v_embedded, v_embeddings FROM placed p;
    IF v_embedded IS NOT NULL THEN
        PERFORM recall.put_vectors(p_tenant, v_embedded, v_embeddings);
    END IF;
    -- In a statement of its own, which sees what a transaction stored that the first one had to wait for.
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'item', r.item, 'id', coalesce(r.id, m.id), 'key', r.key, 'outcome', r.outcome,
            'problem', r.problem, 'rewritten', r.rewritten, 'overtaken', r.overtaken)), '[]')
        FROM jsonb_to_recordset(v_result) AS r(
            item int, id bigint, key text, outcome text, problem text, rewritten boolean, overtaken boolean)
        LEFT JOIN recall.memory m ON r.outcome = 'unchanged' AND m.tenant = p_tenant AND m.key = r.key);
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
