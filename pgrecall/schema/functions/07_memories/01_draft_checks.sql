-- Checks of drafts: the reason why a draft cannot be stored.

-- is_relation: whether p_relation is a relation that links can have.
CREATE OR REPLACE FUNCTION recall_private.is_relation(p_relation text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts',
                      'derived_from', 'supersedes', 'co_access');

-- require_relation: raises an error unless links can have this relation.
CREATE OR REPLACE FUNCTION recall_private.require_relation(p_relation text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF NOT coalesce(recall_private.is_relation(p_relation), false) THEN
        PERFORM recall_private.raise_invalid(format('The link relation %L is unknown.', p_relation),
            'Use links_to, next, mentions, part_of, implies, supports, contradicts, derived_from or supersedes.');
    END IF;
END $$;

-- is_reference: whether a link of this relation is a reference of one memory to another, which counts for the
-- in-degree and revives the target, unlike order, containment and correction.
CREATE OR REPLACE FUNCTION recall_private.is_reference(p_relation text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_relation IN ('links_to', 'mentions', 'implies', 'supports', 'derived_from');

-- links_problem: why the links of a draft cannot be stored, else NULL.
CREATE OR REPLACE FUNCTION recall_private.links_problem(p_links jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN p_links IS NULL OR p_links = '[]' THEN NULL
    WHEN jsonb_typeof(p_links) <> 'array' OR jsonb_path_exists(p_links, 'strict $[*] ? (@.type() != "object")')
        THEN 'its links are not a JSON array of objects'
    ELSE (
        SELECT CASE
            WHEN coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
                THEN 'a link of it has no target of 1 to 1,000 characters'
            WHEN octet_length(l.target) > 2000
                THEN format('a link target of it has %s bytes, more than 2,000', octet_length(l.target))
            WHEN NOT recall_private.is_relation(coalesce(l.relation, 'links_to'))
                THEN format('its link relation %L is unknown', left(l.relation, 100))
            ELSE format('its link weight %s is not above 0 and at most 100', left(l.weight, 100))
        END
        FROM jsonb_to_recordset(p_links) AS l(target text, relation text, weight text)
        WHERE coalesce(length(l.target), 0) NOT BETWEEN 1 AND 1000
           OR octet_length(l.target) > 2000
           OR NOT recall_private.is_relation(coalesce(l.relation, 'links_to'))
           OR CASE WHEN pg_input_is_valid(coalesce(l.weight, '1'), 'double precision')
                   THEN NOT (l.weight::double precision > 0 AND l.weight::double precision <= 100)
                   ELSE true END
        LIMIT 1)
END;

-- vector_direction_problem: why this database cannot compare a vector, else NULL.
CREATE OR REPLACE FUNCTION recall_private.vector_direction_problem(p_vector halfvec, p_dimensions int) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN vector_dims(p_vector) <> p_dimensions THEN format(
        'its embedding has %s dimensions, this database %s; embed with the model it was made for',
        vector_dims(p_vector), p_dimensions)
    WHEN l2_norm(p_vector) = 0 THEN 'its embedding is zero and so has no direction'
END;

-- vector_problem: why a text is not a vector that this database can compare, else NULL.
CREATE OR REPLACE FUNCTION recall_private.vector_problem(p_text text, p_dimensions int) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.vector_direction_problem(p_text::halfvec, p_dimensions);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN format('its embedding cannot be read: %s', left(SQLERRM, 100));
END $$;

-- draft_form_problem: why a field of a draft is unknown or cannot be read as its type, else NULL. This and the
-- following functions are sequences of expressions, which cost a single draft a tenth of a query.
CREATE OR REPLACE FUNCTION recall_private.draft_form_problem(p_draft jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_fields CONSTANT text[] := ARRAY[
        'key', 'layer', 'title', 'body', 'role', 'author', 'context', 'source', 'session_id', 'tags',
        'aliases', 'metadata', 'occurred_at', 'valid_from', 'valid_until', 'expires_at', 'pinned', 'speech_act',
        'embedding', 'content_hash', 'tokens', 'passages', 'links'];
    v_name text;
    v_texts jsonb;
BEGIN
    IF p_draft - v_fields <> '{}' THEN
        RETURN format('it has unknown fields: %s', left((
            SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(p_draft - v_fields) k), 200));
    ELSIF p_draft ?| ARRAY['occurred_at', 'valid_from', 'valid_until', 'expires_at'] THEN
        FOREACH v_name IN ARRAY ARRAY['occurred_at', 'valid_from', 'valid_until', 'expires_at'] LOOP
            IF NOT pg_input_is_valid(p_draft ->> v_name, 'timestamptz') THEN
                RETURN format('its %s %L is not a time', v_name, left(p_draft ->> v_name, 100));
            END IF;
        END LOOP;
    END IF;
    IF p_draft ? 'pinned' AND NOT pg_input_is_valid(p_draft ->> 'pinned', 'boolean') THEN
        RETURN format('its pinned %L is no boolean', left(p_draft ->> 'pinned', 100));
    ELSIF p_draft ?| ARRAY['tags', 'aliases'] THEN
        FOREACH v_name IN ARRAY ARRAY['tags', 'aliases'] LOOP
            v_texts := p_draft -> v_name;
            IF v_texts IS NOT NULL AND (CASE jsonb_typeof(v_texts)
                WHEN 'array' THEN jsonb_path_exists(v_texts, 'strict $[*] ? (@.type() != "string")')
                WHEN 'null' THEN false ELSE true END) THEN
                RETURN format('its %s are not a JSON array of texts', v_name);
            END IF;
        END LOOP;
    END IF;
    RETURN CASE WHEN jsonb_typeof(p_draft -> 'metadata') NOT IN ('object', 'null')
                THEN 'its metadata is not a JSON object' END;
END $$;

-- draft_type_problem: why a field of this row has the right type but an invalid value, else NULL.
CREATE OR REPLACE FUNCTION recall_private.draft_type_problem(d recall.memory) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE
        WHEN array_ndims(d.tags) > 1 OR array_position(d.tags, NULL) > 0 THEN 'its tags are not a JSON array of texts'
        WHEN array_ndims(d.aliases) > 1 OR array_position(d.aliases, NULL) > 0
            THEN 'its aliases are not a JSON array of texts'
        WHEN jsonb_typeof(d.metadata) <> 'object' THEN 'its metadata is not a JSON object'
    END;
END $$;

-- json_problem: why a reader could not read a JSON value that this database can, else NULL. Postgres reads more levels and
-- longer numbers than Python, its serializers and most other languages. Numbers are those that are finite in 8 bytes.
-- A sentence without its subject.
CREATE OR REPLACE FUNCTION recall_private.json_problem(p_value jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    -- Each level takes two characters, and each digit one. This check takes a tenth of the time of the others.
    IF pg_column_size(p_value) < 1000 AND octet_length(p_value::text) < 200 THEN
        RETURN NULL;
    END IF;
    RETURN CASE
        WHEN jsonb_path_exists(p_value, 'strict $.**{101}') THEN 'is nested more than 100 levels deep'
        WHEN EXISTS (
            SELECT FROM jsonb_path_query(p_value, 'strict $.** ? (@.type() == "number")') n(value)
            WHERE abs(n.value::numeric) > 1.7976931348623158e308 OR length(n.value::text) > 402)
            THEN 'has a number beyond 1.8e308, or of more than 400 digits'
    END;
END $$;

-- metadata_problem: why this cannot be the metadata of a memory, else NULL.
CREATE OR REPLACE FUNCTION recall_private.metadata_problem(p_metadata jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- As stored; then, if no number is much longer than it is stored, as written.
    v_bytes int := pg_column_size(p_metadata);
    v_problem text;
BEGIN
    IF v_bytes <= 1000000 THEN
        v_problem := recall_private.json_problem(p_metadata);
        IF v_problem IS NOT NULL THEN
            RETURN 'its metadata ' || v_problem;
        END IF;
        v_bytes := octet_length(p_metadata::text);
    END IF;
    RETURN CASE WHEN v_bytes > 1000000 THEN format('its metadata has %s bytes, more than 1,000,000', v_bytes) END;
END $$;

-- short_session: a session id of at most 1,000 bytes. Earlier versions stored longer ones, of which the beginning is kept
-- with a digest of the whole, so that sessions stay apart.
CREATE OR REPLACE FUNCTION recall_private.short_session(p_session_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_session_id) > 1000
            THEN left(p_session_id, 100) || '…' || encode(sha256(convert_to(p_session_id, 'UTF8')), 'hex')
            ELSE p_session_id END;

-- draft_size_problem: why a text or the metadata of this row is too large to be stored, indexed or read, else NULL.
CREATE OR REPLACE FUNCTION recall_private.draft_size_problem(d recall.memory) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE
        WHEN length(d.body) > 1000000 THEN format(
            'its body has %s characters, more than 1,000,000; split it', length(d.body))
        WHEN length(d.context) > 1000000 THEN format(
            'its context has %s characters, more than 1,000,000', length(d.context))
        WHEN length(d.title) > 1000 THEN format('its title has %s characters, more than 1,000', length(d.title))
        WHEN length(d.key) > 1000 THEN format('its key has %s characters; a key has 1 to 1,000', length(d.key))
        ELSE coalesce(recall_private.metadata_problem(d.metadata), (
            SELECT format('its %s %s %s bytes, more than %s', f.name, f.verb, octet_length(f.said), f.most)
            FROM (VALUES ('key', 'has', d.key, 2000), ('author', 'has', d.author, 2000),
                         ('source', 'has', d.source, 2000), ('session_id', 'has', d.session_id, 1000),
                         ('tags', 'have', to_jsonb(d.tags)::text, 20000),
                         ('aliases', 'have', to_jsonb(d.aliases)::text, 20000)) AS f(name, verb, said, most)
            WHERE octet_length(f.said) > f.most
            LIMIT 1))
    END;
END $$;

-- draft_problem: why this row cannot be stored as a memory in one of these layers, else NULL.
CREATE OR REPLACE FUNCTION recall_private.draft_problem(d recall.memory, p_layers text[]) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_problem text;
BEGIN
    IF d.key = '' THEN
        RETURN 'its key has 0 characters; a key has 1 to 1,000';
    ELSIF octet_length(concat(d.title, d.body, d.key, d.author, d.context, d.source, d.session_id,
                               d.tags, d.aliases)) >= 1000
          OR (CASE WHEN pg_column_size(d.metadata) < 1000 THEN octet_length(d.metadata::text) >= 200 ELSE true END) THEN
        -- A small row has nothing large, deep or long: each level of metadata takes two bytes.
        v_problem := recall_private.draft_size_problem(d);
    END IF;
    IF v_problem IS NOT NULL THEN
        RETURN v_problem;
    ELSIF btrim(d.title, E' \t\r\n') = '' AND btrim(d.body, E' \t\r\n') = '' THEN
        RETURN 'it has neither a title nor a body';
    ELSIF d.layer <> ALL (p_layers) THEN
        RETURN format('its layer %L is unknown; there are %s', left(d.layer, 100), (
            SELECT string_agg(DISTINCT l, ', ' ORDER BY l) FROM unnest(p_layers) l));
    ELSIF d.role <> ALL (recall_private.roles()) THEN
        RETURN format('its role %L is none of %s', left(d.role, 100), array_to_string(recall_private.roles(), ', '));
    ELSIF d.speech_act <> ALL (recall_private.speech_acts()) THEN
        RETURN format('its speech act %L is none of %s', left(d.speech_act, 100),
                      array_to_string(recall_private.speech_acts(), ', '));
    ELSIF coalesce(d.occurred_at, d.valid_from, d.valid_until, d.expires_at) IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN CASE
        -- Python's datetime ends there, in any time zone.
        WHEN NOT (least(d.occurred_at, d.valid_from, d.valid_until, d.expires_at) >= '0001-01-03 UTC'
                  AND greatest(d.occurred_at, d.valid_from, d.valid_until, d.expires_at) < '9999-12-30 UTC')
            THEN 'one of its times lies outside the years 1 to 9999'
        WHEN d.occurred_at > d.created_at + interval '1 day' THEN format(
            'its occurred_at %s lies in the future; give valid_from for what is to come', d.occurred_at)
        WHEN d.valid_from > d.valid_until THEN format(
            'its valid_from %s lies after its valid_until %s', d.valid_from, d.valid_until)
    END;
END $$;
