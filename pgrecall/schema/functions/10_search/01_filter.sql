-- The filters of a search. A new filter needs an attribute of the type recall.search_filter (added by a revision), a line
-- in passes_filter and one in narrows, and, if a value can be invalid, one in checked_filter.

-- passes_filter: whether a memory passes a filter. A NULL in the filter lets every memory pass. Inlined. It is one CASE,
-- so that a generic plan expects half of the rows to pass. With separate conditions on unknown parameters, it would
-- expect a single row, and read the whole tenant instead of the vector index.
CREATE OR REPLACE FUNCTION recall.passes_filter(m recall.memory, f recall.search_filter) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (f.include_archived OR m.archived_at IS NULL)
    AND (f.include_superseded OR m.superseded_by IS NULL)
    AND (f.include_invalid OR ((m.valid_from IS NULL OR m.valid_from <= f.moment)
                               AND (m.valid_until IS NULL OR m.valid_until > f.moment)
                               -- An expired memory that was archived counts only as archived.
                               AND (m.expires_at IS NULL OR m.expires_at > f.moment OR m.archived_at IS NOT NULL)))
    AND (f.layers IS NULL OR m.layer = ANY (f.layers))
    AND (f.roles IS NULL OR m.role = ANY (f.roles))
    AND (f.authors IS NULL OR m.author = ANY (f.authors))
    AND (f.tags IS NULL OR m.tags @> f.tags)
    AND (f.sources IS NULL OR m.source = ANY (f.sources))
    AND (f.metadata IS NULL OR m.metadata @> f.metadata)
    AND (f.since IS NULL OR m.happened_at >= f.since)
    AND (f.until IS NULL OR m.happened_at < f.until)
    AND (f.terms IS NULL OR m.search_text @@ f.terms)
    THEN true ELSE false END;

-- narrows: whether a filter has any condition besides include_... and `until`. Inlined.
CREATE OR REPLACE FUNCTION recall.narrows(f recall.search_filter) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN num_nonnulls(f.layers, f.roles, f.authors, f.tags, f.sources, f.metadata, f.hints, f.since) > 0;

-- index_conditions: SQL conditions, in addition to passes_filter, by which an index finds the memories m that pass a
-- filter. $2 and $3 of the statement must be the tenant and the filter. Empty for a filter without sources and metadata.
-- Inlined.
CREATE OR REPLACE FUNCTION recall.index_conditions(f recall.search_filter) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN concat(
    CASE WHEN f.sources IS NOT NULL THEN ' AND m.source = ANY (($3).sources)' END,
    CASE WHEN f.metadata <> '{}'
         THEN ' AND m.metadata <> ''{}'' AND jsonb_set(''{}'', ARRAY[m.tenant], m.metadata) '
              '@> jsonb_set(''{}'', ARRAY[$2], ($3).metadata)' END);

-- checked_filter: a filter with computed values for a search at p_now: the words of its hints and, for a past moment
-- (as_of), the end of its window. Raises an error for an invalid value. For a past moment, memories that are archived or
-- superseded now pass, and the search checks their state at that moment.
CREATE OR REPLACE FUNCTION recall.checked_filter(p_tenant text, f recall.search_filter, p_now timestamptz)
RETURNS recall.search_filter
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_unknown text;
BEGIN
    IF f.since >= f.until THEN
        PERFORM recall.raise_invalid(
            format('The time window is empty: since %s is not before until %s.', f.since, f.until));
    ELSIF f.as_of > p_now THEN
        PERFORM recall.raise_invalid(format('as_of is %s, which is in the future.', f.as_of), 'Give a past moment.');
    ELSIF f.as_of < f.since THEN
        PERFORM recall.raise_invalid(format('The time window since %s begins after as_of %s.', f.as_of, f.since));
    END IF;
    IF f.layers IS NOT NULL THEN
        SELECT u INTO v_unknown FROM unnest(f.layers) u
        WHERE u IS NULL OR u NOT IN (SELECT l.name FROM recall.effective_layers(p_tenant) l) LIMIT 1;
        IF FOUND THEN
            PERFORM recall.raise_invalid(format('The layer %L is unknown.', v_unknown), format('There are: %s.',
                (SELECT string_agg(l.name, ', ') FROM recall.effective_layers(p_tenant) l)));
        END IF;
    END IF;
    IF f.roles IS NOT NULL THEN
        SELECT u INTO v_unknown FROM unnest(f.roles) u
        WHERE u IS NULL OR u NOT IN ('user', 'assistant', 'system', 'tool') LIMIT 1;
        IF FOUND THEN
            PERFORM recall.raise_invalid(
                format('The role %L is unknown.', v_unknown), 'Use user, assistant, system or tool.');
        END IF;
    END IF;
    IF f.metadata IS NOT NULL THEN
        PERFORM recall.check_metadata_filter(f.metadata);
    END IF;
    IF f.hints IS NOT NULL THEN
        f.terms := recall.hint_query(p_tenant, f.hints);
    END IF;
    f.moment := coalesce(f.as_of, p_now);
    f.archived_as_of := f.include_archived;
    f.superseded_as_of := f.include_superseded;
    IF f.as_of IS NOT NULL THEN
        f.include_archived := true;
        f.include_superseded := true;
        f.until := least(f.until, f.as_of + interval '1 microsecond');
    END IF;
    RETURN f;
END $$;

-- check_metadata_filter: raises an error unless this is a JSON object of at most 10,000 bytes.
CREATE OR REPLACE FUNCTION recall.check_metadata_filter(p_metadata jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(p_metadata) <> 'object' THEN
        PERFORM recall.raise_invalid(
            format('The metadata filter %s is not a JSON object.', left(p_metadata::text, 100)),
            'Give the fields that the metadata must contain, for example {"project": "atlas"}.');
    ELSIF octet_length(p_metadata::text) > 10000 THEN
        PERFORM recall.raise_invalid(
            format('The metadata filter has %s bytes; the limit is 10,000.', octet_length(p_metadata::text)),
            'Give fewer fields.');
    END IF;
END $$;
