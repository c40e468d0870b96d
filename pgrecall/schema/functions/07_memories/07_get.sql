-- Reading memories by id, key or source.

-- content_hashes (reader; Remember): the memories with these keys: key, content hash, source, whether it has an
-- embedding, and title.
CREATE OR REPLACE FUNCTION recall.content_hashes(p_keys text[])
RETURNS TABLE (key text, content_hash text, source text, embedded boolean, title text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.key, m.content_hash, m.source, m.embedded_with IS NOT NULL, m.title
    FROM recall.memory m
    WHERE m.tenant = (SELECT recall.current_tenant()) AND m.key = ANY (p_keys)
$$;

-- keys_of_source (reader; Remember): the keys of live memories from a source, or from these sessions of it; by key.
CREATE OR REPLACE FUNCTION recall.keys_of_source(p_source text, p_sessions text[] DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.key FROM recall.memory m
    WHERE m.tenant = (SELECT recall.current_tenant()) AND m.source = p_source AND m.key IS NOT NULL
      AND m.archived_at IS NULL AND (p_sessions IS NULL OR m.session_id = ANY (p_sessions))
    ORDER BY m.key
$$;

-- id_of (reader; Remember): the id of the memory with this key. Raises an error if there is none.
CREATE OR REPLACE FUNCTION recall.id_of(p_key text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_id bigint;
BEGIN
    SELECT m.id INTO v_id FROM recall.memory m
    WHERE m.tenant = (SELECT recall.current_tenant()) AND m.key = p_key;
    IF v_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = recall_private.shortened(format('There is no memory with key %L in this tenant.', p_key)),
            DETAIL = coalesce(left(p_key, 1000), ''), COLUMN = 'key',
            HINT = 'Search for some of its words: hits show their id and key.';
    END IF;
    RETURN v_id;
END $$;

-- require_memory (reader): returns the id if it is a memory of this tenant. Raises an error otherwise.
CREATE OR REPLACE FUNCTION recall.require_memory(p_id bigint) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM recall.memory m WHERE m.tenant = (SELECT recall.current_tenant()) AND m.id = p_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found',
            MESSAGE = format('There is no memory with id %s in this tenant.', coalesce(p_id::text, 'NULL')),
            DETAIL = coalesce(p_id::text, ''), COLUMN = 'id',
            HINT = 'Search for some of its words: hits show their id and key.';
    END IF;
    RETURN p_id;
END $$;

-- ids_of: the ids of memories given by id or key, in their order; NULL for NULL. Raises an error for one that does
-- not exist.
CREATE OR REPLACE FUNCTION recall_private.ids_of(p_memories jsonb) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_wrong jsonb;
BEGIN
    IF jsonb_typeof(p_memories) <> 'array' THEN
        PERFORM recall_private.raise_invalid('The memories must be a JSON array of ids and keys.');
    END IF;
    SELECT m.value INTO v_wrong FROM jsonb_array_elements(p_memories) m(value)
    WHERE NOT CASE jsonb_typeof(m.value) WHEN 'number' THEN pg_input_is_valid(m.value #>> '{}', 'bigint')
                                         ELSE jsonb_typeof(m.value) = 'string' END LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('%s is neither the id nor the key of a memory.', left(v_wrong::text, 100)));
    END IF;
    RETURN (
        SELECT array_agg(CASE WHEN jsonb_typeof(m.value) = 'number' THEN recall.require_memory(m.value::bigint)
                              ELSE recall.id_of(m.value #>> '{}') END ORDER BY m.place)
        FROM jsonb_array_elements(p_memories) WITH ORDINALITY m(value, place));
END $$;

-- memory_links: the links of a memory in both directions, newest first, at most 200. What has no title is named by its
-- first words: the key of a turn or a commit tells nobody what it is.
CREATE OR REPLACE FUNCTION recall_private.memory_links(p_tenant text, p_memory_id bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
               'other', o.id, 'other_key', o.key,
               'other_title', CASE WHEN o.title <> '' THEN o.title ELSE left(o.body, 60) END, 'relation', l.relation,
               'weight', l.weight, 'outgoing', l.outgoing, 'created_at', l.created_at)
               ORDER BY l.created_at DESC, o.id, l.outgoing), '[]')
    FROM (
        SELECT k.dst AS other, k.relation, k.weight, true AS outgoing, k.created_at
        FROM recall.link k WHERE k.tenant = p_tenant AND k.src = p_memory_id
        UNION ALL
        SELECT k.src, k.relation, k.weight, false, k.created_at
        FROM recall.link k WHERE k.tenant = p_tenant AND k.dst = p_memory_id
        ORDER BY created_at DESC, other LIMIT 200
    ) l
    JOIN recall.memory o ON o.tenant = p_tenant AND o.id = l.other
$$;

-- get (reader; Remember): one memory with its vitality terms at p_now, its links, and how often it was stored, shown
-- and used; no row if there is none. Reading it does not count as an access.
CREATE OR REPLACE FUNCTION recall.get(p_memory_id bigint, p_now timestamptz DEFAULT now())
RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, context text,
    source text, session_id text, tags text[], aliases text[], metadata jsonb, occurred_at timestamptz,
    valid_from timestamptz, valid_until timestamptz, superseded_by bigint, expires_at timestamptz,
    pinned boolean, archived_at timestamptz, created_at timestamptz, updated_at timestamptz,
    embedded_with text, vitality jsonb, links jsonb, access_counts jsonb, speech_act text, act_marked boolean
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id, m.key, m.layer, m.title, m.body, m.role, m.author, m.context, m.source, m.session_id,
           m.tags, m.aliases, m.metadata, m.occurred_at, m.valid_from, m.valid_until, m.superseded_by,
           m.expires_at, m.pinned, m.archived_at, m.created_at, m.updated_at, m.embedded_with,
           to_jsonb(t), recall_private.memory_links(m.tenant, m.id), recall_private.access_counts(m.tenant, m.id), m.speech_act,
           m.act_marked
    FROM (SELECT recall.current_tenant() AS tenant, recall_private.require_moment(p_now) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall_private.vitality_weights(c.tenant) AS w OFFSET 0) x
    JOIN recall.memory m ON m.tenant = c.tenant AND m.id = p_memory_id
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    JOIN recall_private.effective_layers(c.tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall_private.vitality_terms(a, m.pinned, l, x.w, c.moment) t
$$;
