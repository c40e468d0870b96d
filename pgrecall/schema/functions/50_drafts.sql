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
    WHEN jsonb_typeof(p_links) <> 'array' OR jsonb_path_exists(p_links, 'strict $[*] ? (@.type() != "object")')
        THEN 'its links are no JSON array of objects'
    ELSE (
        SELECT CASE
            WHEN coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
                THEN 'a link of it has no target of 1 to 1,000 characters'
            WHEN octet_length(l.target) > 2000
                THEN format('a link target of it has %s bytes, more than 2,000', octet_length(l.target))
            WHEN NOT recall.is_relation(coalesce(l.relation, 'links_to'))
                THEN format('its link relation %L is unknown', left(l.relation, 100))
            ELSE format('its link weight %s is not above 0 and at most 100', left(l.weight, 100))
        END
        FROM jsonb_to_recordset(p_links) AS l(target text, relation text, weight text)
        WHERE coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
           OR octet_length(l.target) > 2000
           OR NOT recall.is_relation(coalesce(l.relation, 'links_to'))
           OR CASE WHEN pg_input_is_valid(coalesce(l.weight, '1'), 'double precision')
                   THEN NOT (l.weight::double precision > 0 AND l.weight::double precision <= 100)
                   ELSE true END
        LIMIT 1)
END;

-- vector_problem: why a text is no vector that this database can compare, else NULL.
CREATE OR REPLACE FUNCTION recall.vector_problem(p_text text, p_dimensions int) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_vector halfvec;
BEGIN
    IF p_text IS NULL THEN
        RETURN NULL;
    END IF;
    BEGIN
        v_vector := p_text::halfvec;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        RETURN format('its embedding cannot be read: %s', left(SQLERRM, 100));
    END;
    IF vector_dims(v_vector) <> p_dimensions THEN
        RETURN format(
            'its embedding has %s dimensions, this database keeps %s; embed with the model it was made for',
            vector_dims(v_vector), p_dimensions);
    ELSIF l2_norm(v_vector) = 0 THEN
        RETURN 'its embedding is zero and so has no direction';
    END IF;
    RETURN NULL;
END $$;

-- form_problem: why a field of a draft cannot be read as the type it stands for, else NULL.
CREATE OR REPLACE FUNCTION recall.form_problem(p_draft jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN coalesce(
    (SELECT format('its %s %L is no %s', f.name, left(p_draft ->> f.name, 100), f.noun)
     FROM (VALUES ('occurred_at', 'timestamptz', 'time'), ('valid_from', 'timestamptz', 'time'),
                  ('valid_until', 'timestamptz', 'time'), ('expires_at', 'timestamptz', 'time'),
                  ('pinned', 'boolean', 'boolean')) AS f(name, type, noun)
     WHERE p_draft ->> f.name IS NOT NULL AND NOT pg_input_is_valid(p_draft ->> f.name, f.type)
     LIMIT 1),
    (SELECT format('its %s are no JSON array of texts', f.name)
     FROM (VALUES ('tags'), ('aliases')) AS f(name)
     WHERE jsonb_typeof(p_draft -> f.name) NOT IN ('array', 'null')
        OR (jsonb_typeof(p_draft -> f.name) = 'array'
            AND jsonb_path_exists(p_draft -> f.name, 'strict $[*] ? (@.type() != "string")'))
     LIMIT 1),
    CASE WHEN jsonb_typeof(p_draft -> 'metadata') NOT IN ('object', 'null')
         THEN 'its metadata is no JSON object' END);

-- size_problem: why a text of a draft is too long to be kept or indexed, else NULL.
CREATE OR REPLACE FUNCTION recall.size_problem(p_draft jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN CASE
    WHEN length(p_draft ->> 'body') > 1000000 THEN format(
        'its body has %s characters, more than 1,000,000; split it', length(p_draft ->> 'body'))
    WHEN length(p_draft ->> 'title') > 1000 THEN format(
        'its title has %s characters, more than 1,000', length(p_draft ->> 'title'))
    WHEN length(p_draft ->> 'key') NOT BETWEEN 1 AND 1000 THEN format(
        'its key has %s characters; a key has 1 to 1,000', length(p_draft ->> 'key'))
    ELSE (
        SELECT format('its %s %s %s bytes, more than %s',
                      f.name, f.verb, octet_length(p_draft ->> f.name), f.most)
        FROM (VALUES ('key', 'has', 2000), ('author', 'has', 2000), ('source', 'has', 2000),
                     ('tags', 'have', 20000), ('aliases', 'have', 20000)) AS f(name, verb, most)
        WHERE octet_length(p_draft ->> f.name) > f.most
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
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall.reject('The drafts must be a JSON array of objects.');
    END IF;
    RETURN QUERY
    WITH draft AS MATERIALIZED (
        SELECT e.ordinality::int AS item, e.value, e.value ->> 'key' AS key,
               count(*) OVER (PARTITION BY e.value ->> 'key') AS same_key,
               coalesce(recall.form_problem(e.value), recall.size_problem(e.value),
                        recall.vector_problem(e.value ->> 'embedding', v_dimensions)) AS unreadable
        FROM jsonb_array_elements(p_items) WITH ORDINALITY e
    ), filled AS (
        SELECT d.item, d.value, d.key, d.same_key, d.unreadable, r.*,
               coalesce(d.value ->> 'layer', 'knowledge') AS in_layer
        FROM draft d
        CROSS JOIN LATERAL jsonb_to_record(CASE WHEN d.unreadable IS NULL THEN d.value ELSE '{}' END) AS r(
            title text, body text, role text, author text, context text, source text, session_id text,
            tags text[], aliases text[], metadata jsonb, occurred_at timestamptz, valid_from timestamptz,
            valid_until timestamptz, expires_at timestamptz, pinned boolean, embedding text, links jsonb)
    )
    SELECT f.item, f.key, f.in_layer, coalesce(f.title, ''), coalesce(f.body, ''), f.role, f.author,
           coalesce(f.context, ''), f.source, f.session_id, coalesce(f.tags, '{}'),
           coalesce(f.aliases, '{}'), coalesce(f.metadata, '{}'), f.occurred_at, f.valid_from,
           f.valid_until, f.expires_at, coalesce(f.pinned, false), f.embedding::halfvec, f.links,
           CASE
               WHEN NOT v_fields @> ARRAY(SELECT jsonb_object_keys(f.value)) THEN format(
                   'it has unknown fields: %s', left((SELECT string_agg(k, ', ' ORDER BY k)
                   FROM jsonb_object_keys(f.value) k WHERE k <> ALL (v_fields)), 200))
               WHEN f.unreadable IS NOT NULL THEN f.unreadable
               WHEN coalesce(btrim(f.title, E' \t\r\n'), '') = ''
                    AND coalesce(btrim(f.body, E' \t\r\n'), '') = '' THEN 'it has neither a title nor a body'
               WHEN f.key IS NOT NULL AND f.same_key > 1 THEN format(
                   'its key %L stands in this call %s times; a key names one memory', f.key, f.same_key)
               WHEN f.in_layer <> ALL (v_layers) THEN format(
                   'its layer %L is unknown; there are %s', left(f.in_layer, 100),
                   array_to_string(v_layers, ', '))
               WHEN f.role NOT IN ('user', 'assistant', 'system', 'tool') THEN format(
                   'its role %L is none of user, assistant, system, tool', left(f.role, 100))
               -- Python's datetime ends there, in whatever time zone.
               WHEN NOT (least(f.occurred_at, f.valid_from, f.valid_until, f.expires_at) >= '0001-01-03 UTC'
                         AND greatest(f.occurred_at, f.valid_from, f.valid_until, f.expires_at)
                             < '9999-12-30 UTC') THEN 'one of its times lies outside the years 1 to 9999'
               WHEN f.occurred_at > p_now + interval '1 day' THEN format(
                   'its occurred_at %s lies in the future; give valid_from for what is to come', f.occurred_at)
               WHEN f.valid_from > f.valid_until THEN format(
                   'its valid_from %s lies after its valid_until %s', f.valid_from, f.valid_until)
               ELSE recall.links_problem(f.links)
           END
    FROM filled f
    ORDER BY f.item;
END $$;
