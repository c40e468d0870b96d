-- Drafts as jsonb, read and checked: what `remember_many` stores.

-- is_relation: whether links may carry this relation.
CREATE OR REPLACE FUNCTION recall.is_relation(p_relation text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts',
                      'supersedes', 'co_access');

-- is_reference: whether a link of this relation is one memory citing another (and so counts for its
-- in-degree and revives it), rather than order, containment or correction.
CREATE OR REPLACE FUNCTION recall.is_reference(p_relation text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_relation IN ('links_to', 'mentions', 'implies', 'supports');

-- links_problem: why the links of a draft cannot be stored, else NULL.
CREATE OR REPLACE FUNCTION recall.links_problem(p_links jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN CASE
    WHEN p_links IS NULL OR p_links = '[]' THEN NULL
    WHEN jsonb_typeof(p_links) <> 'array' THEN 'its links are no JSON array'
    ELSE (
        SELECT CASE
            WHEN coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
                THEN 'a link of it has no target of 1 to 1,000 characters'
            WHEN NOT recall.is_relation(coalesce(l.relation, 'links_to'))
                THEN format('its link relation %L is unknown', l.relation)
            ELSE format('its link weight %s is not above 0 and at most 100', l.weight)
        END
        FROM jsonb_to_recordset(p_links) AS l(target text, relation text, weight double precision)
        WHERE coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
           OR NOT recall.is_relation(coalesce(l.relation, 'links_to'))
           OR NOT (coalesce(l.weight, 1) > 0 AND coalesce(l.weight, 1) <= 100)
        LIMIT 1)
END;

-- parse_drafts: one row a draft, in the order given, with `problem` saying in one clause why a draft
-- cannot be stored, else NULL. Raises only when p_items is no array of objects.
CREATE OR REPLACE FUNCTION recall.parse_drafts(p_tenant text, p_items jsonb, p_now timestamptz)
RETURNS TABLE (
    item int, key text, layer text, title text, body text, role text, author text, context text,
    source text, session_id text, tags text[], aliases text[], metadata jsonb, occurred_at timestamptz,
    valid_from timestamptz, valid_until timestamptz, expires_at timestamptz, pinned boolean,
    embedding halfvec, links jsonb, problem text
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_layers text[] := ARRAY(SELECT l.name FROM recall.layers_of(p_tenant) l);
    v_dimensions int := recall.setting_of(p_tenant, 'embedding.dimensions')::int;
    v_fields CONSTANT text[] := ARRAY[
        'key', 'layer', 'title', 'body', 'role', 'author', 'context', 'source', 'session_id', 'tags',
        'aliases', 'metadata', 'occurred_at', 'valid_from', 'valid_until', 'expires_at', 'pinned',
        'embedding', 'links'];
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, '$[*] ? (@.type() != "object")', '{}', true) THEN
        PERFORM recall.reject('The drafts must be a JSON array of objects.');
    END IF;
    RETURN QUERY
    WITH draft AS (
        SELECT e.ordinality::int AS item, e.value, r.*
        FROM jsonb_array_elements(p_items) WITH ORDINALITY e
        CROSS JOIN LATERAL jsonb_to_record(e.value) AS r(
            key text, layer text, title text, body text, role text, author text, context text,
            source text, session_id text, tags text[], aliases text[], metadata jsonb,
            occurred_at timestamptz, valid_from timestamptz, valid_until timestamptz,
            expires_at timestamptz, pinned boolean, embedding text, links jsonb)
    ), filled AS (
        SELECT d.*, coalesce(d.layer, 'knowledge') AS in_layer, d.embedding::halfvec AS vector,
               count(*) OVER (PARTITION BY d.key) AS same_key
        FROM draft d
    )
    SELECT f.item, f.key, f.in_layer, coalesce(f.title, ''), coalesce(f.body, ''), f.role, f.author,
           coalesce(f.context, ''), f.source, f.session_id, coalesce(f.tags, '{}'),
           coalesce(f.aliases, '{}'), coalesce(f.metadata, '{}'), f.occurred_at, f.valid_from,
           f.valid_until, f.expires_at, coalesce(f.pinned, false), f.vector, f.links,
           CASE
               WHEN NOT v_fields @> ARRAY(SELECT jsonb_object_keys(f.value)) THEN format(
                   'it has unknown fields: %s', (SELECT string_agg(k, ', ' ORDER BY k)
                   FROM jsonb_object_keys(f.value) k WHERE k <> ALL (v_fields)))
               WHEN coalesce(btrim(f.title, E' \t\r\n'), '') = ''
                    AND coalesce(btrim(f.body, E' \t\r\n'), '') = '' THEN 'it has neither a title nor a body'
               WHEN length(f.body) > 1000000 THEN format(
                   'its body has %s characters, more than 1,000,000; split it', length(f.body))
               WHEN length(f.title) > 1000 THEN format(
                   'its title has %s characters, more than 1,000', length(f.title))
               WHEN length(f.key) NOT BETWEEN 1 AND 1000 THEN format(
                   'its key has %s characters; a key has 1 to 1,000', length(f.key))
               WHEN f.key IS NOT NULL AND f.same_key > 1 THEN format(
                   'its key %L stands in this call %s times; a key names one memory', f.key, f.same_key)
               WHEN f.in_layer <> ALL (v_layers) THEN format(
                   'its layer %L is unknown; there are %s', f.in_layer, array_to_string(v_layers, ', '))
               WHEN f.role NOT IN ('user', 'assistant', 'system', 'tool') THEN format(
                   'its role %L is none of user, assistant, system, tool', f.role)
               WHEN NOT (isfinite(coalesce(f.occurred_at, p_now)) AND isfinite(coalesce(f.valid_from, p_now))
                         AND isfinite(coalesce(f.valid_until, p_now))
                         AND isfinite(coalesce(f.expires_at, p_now))) THEN 'one of its times is infinite'
               WHEN f.occurred_at > p_now + interval '1 day' THEN format(
                   'its occurred_at %s lies in the future; give valid_from for what is to come', f.occurred_at)
               WHEN f.valid_from > f.valid_until THEN format(
                   'its valid_from %s lies after its valid_until %s', f.valid_from, f.valid_until)
               WHEN vector_dims(f.vector) <> v_dimensions THEN format(
                   'its embedding has %s dimensions, this database keeps %s; embed with the model it was made for',
                   vector_dims(f.vector), v_dimensions)
               ELSE recall.links_problem(f.links)
           END
    FROM filled f
    ORDER BY f.item;
END $$;
