-- The filters of a search.

-- passes_filter: whether a memory is inside the filters; NULL filters let everything through. Inlined. One CASE, so
-- that a generic plan expects half of the rows to pass: conditions side by side, each of a parameter it does
-- not know, make it expect a single row, and then it reads the whole tenant instead of the vector index.
CREATE OR REPLACE FUNCTION recall.passes_filter(
    m recall.memory, p_layers text[], p_roles text[], p_authors text[], p_tags text[],
    p_since timestamptz, p_until timestamptz, p_archived boolean, p_superseded boolean, p_invalid boolean,
    p_must tsquery, p_now timestamptz
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p_archived OR m.archived_at IS NULL)
    AND (p_superseded OR m.superseded_by IS NULL)
    AND (p_invalid OR ((m.valid_from IS NULL OR m.valid_from <= p_now)
                       AND (m.valid_until IS NULL OR m.valid_until > p_now)
                       -- What expiry has archived is archived, no more and no less.
                       AND (m.expires_at IS NULL OR m.expires_at > p_now OR m.archived_at IS NOT NULL)))
    AND (p_layers IS NULL OR m.layer = ANY (p_layers))
    AND (p_roles IS NULL OR m.role = ANY (p_roles))
    AND (p_authors IS NULL OR m.author = ANY (p_authors))
    AND (p_tags IS NULL OR m.tags @> p_tags)
    AND (p_since IS NULL OR m.happened_at >= p_since)
    AND (p_until IS NULL OR m.happened_at < p_until)
    AND (p_must IS NULL OR m.search_text @@ p_must)
    THEN true ELSE false END;

-- check_filters: raises for the first filter of a search that cannot be used.
CREATE OR REPLACE FUNCTION recall.check_filters(
    p_tenant text, p_layers text[], p_roles text[], p_since timestamptz, p_until timestamptz, p_as_of timestamptz,
    p_now timestamptz
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_unknown text;
BEGIN
    IF p_since >= p_until THEN
        PERFORM recall.raise_invalid(format('The time window is empty: since %s is not before until %s.', p_since, p_until));
    ELSIF p_as_of > p_now THEN
        PERFORM recall.raise_invalid(format('as_of is %s, which is still to come.', p_as_of), 'Give a past moment.');
    ELSIF p_as_of < p_since THEN
        PERFORM recall.raise_invalid(format('At as_of %s nothing since %s had happened.', p_as_of, p_since));
    END IF;
    IF p_layers IS NULL AND p_roles IS NULL THEN
        RETURN;
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_layers) u
    WHERE u IS NULL OR u NOT IN (SELECT l.name FROM recall.effective_layers(p_tenant) l) LIMIT 1;
    IF FOUND THEN
        PERFORM recall.raise_invalid(format('The layer %L is unknown.', v_unknown), format('There are: %s.',
            (SELECT string_agg(l.name, ', ') FROM recall.effective_layers(p_tenant) l)));
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_roles) u
    WHERE u IS NULL OR u NOT IN ('user', 'assistant', 'system', 'tool') LIMIT 1;
    IF FOUND THEN
        PERFORM recall.raise_invalid(format('The role %L is unknown.', v_unknown), 'Use user, assistant, system or tool.');
    END IF;
END $$;
