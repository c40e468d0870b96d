-- Subjects of erasures: a subject determines which memories are deleted for good. It is a JSON object of texts: author,
-- session, tag, source, key (`*` stands for any characters). A memory belongs to the subject if it matches all given
-- texts.

-- require_subject: returns the subject. Raises an error if it is not valid.
CREATE OR REPLACE FUNCTION recall_private.require_subject(p_subject jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_bad record;
BEGIN
    IF jsonb_typeof(p_subject) IS DISTINCT FROM 'object' OR p_subject = '{}' THEN
        PERFORM recall_private.raise_invalid('The subject of an erasure must be an object with at least one field.',
            'Give author, session, tag, source or key.');
    END IF;
    SELECT e.key, e.value INTO v_bad FROM jsonb_each(p_subject) e
    WHERE e.key NOT IN ('author', 'session', 'tag', 'source', 'key') OR jsonb_typeof(e.value) <> 'string'
       OR length(btrim(e.value #>> '{}')) NOT BETWEEN 1 AND 1000 LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(
            format('The subject has %s %s; it must be a known field with a text of 1 to 1,000 characters.',
                   left(v_bad.key, 100), left(v_bad.value::text, 100)),
            'Give author, session, tag, source or key.');
    ELSIF btrim(p_subject ->> 'key', '* ') = '' THEN
        PERFORM recall_private.raise_invalid(format('The key pattern %L matches every memory.', p_subject ->> 'key'),
            'Give more of the key.');
    END IF;
    RETURN p_subject;
END $$;

-- key_pattern: a pattern with `*`, converted to a pattern for LIKE.
CREATE OR REPLACE FUNCTION recall_private.key_pattern(p_pattern text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(regexp_replace(p_pattern, '([\\%_])', '\\\1', 'g'), '*', '%');

-- memories_of_subject: the ids of this tenant's memories that belong to a subject, including archived ones. With p_ids,
-- only those among them. Authors and tags are compared ignoring case.
CREATE OR REPLACE FUNCTION recall_private.memories_of_subject(p_tenant text, p_subject jsonb, p_ids bigint[] DEFAULT NULL)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_author text := recall_private.plain(lower(p_subject ->> 'author'));
    v_session text := p_subject ->> 'session';
    v_tag text := lower(p_subject ->> 'tag');
    v_source text := p_subject ->> 'source';
    v_key text := recall_private.key_pattern(p_subject ->> 'key');
BEGIN
    RETURN QUERY
    SELECT m.id FROM recall.memory m
    WHERE m.tenant = p_tenant AND (p_ids IS NULL OR m.id = ANY (p_ids))
      AND (v_author IS NULL OR recall_private.plain(lower(m.author)) = v_author)
      AND (v_session IS NULL OR m.session_id = v_session)
      AND (v_tag IS NULL OR EXISTS (SELECT FROM unnest(m.tags) t WHERE lower(t) = v_tag))
      AND (v_source IS NULL OR m.source = v_source)
      AND (v_key IS NULL OR m.key LIKE v_key)
    ORDER BY m.id;
END $$;

-- hashed_subject: a subject with a digest in place of each text. The digest can be checked by a person who knows the
-- text, but does not reveal it.
CREATE OR REPLACE FUNCTION recall_private.hashed_subject(p_subject jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN (SELECT jsonb_object_agg(e.key, 'sha256:' || encode(sha256(convert_to(e.value, 'UTF8')), 'hex'))
        FROM jsonb_each_text(p_subject) e);
