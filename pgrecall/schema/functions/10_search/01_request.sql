-- The request of a search, and its filters. A program sends one JSON object, which is read once into two typed values.
-- A new filter needs an attribute of the type recall.search_filter (added by a revision), a line each in passes_filter,
-- failed_filters and narrows, and, if a value can be invalid, one in checked_filter.

-- passes_filter: whether a memory passes a filter. A NULL in the filter lets every memory pass. Inlined. It is one CASE,
-- so that a generic plan expects half of the rows to pass. With separate conditions on unknown parameters, it would
-- expect a single row, and read the whole tenant instead of the vector index. A field of the filter costs more to read
-- than one of the memory, so it comes second, and a filter that checked_filter knows not to be `narrow` is read no further;
-- where nobody asked, `narrow` is NULL, and all of it is read.
CREATE OR REPLACE FUNCTION recall_private.passes_filter(m recall.memory, f recall.search_filter) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (m.archived_at IS NULL OR f.include_archived)
    AND (m.superseded_by IS NULL OR f.include_superseded)
    AND ((m.valid_from IS NULL OR m.valid_from <= f.moment)
         AND (m.valid_until IS NULL OR m.valid_until > f.moment)
         -- An expired memory that was archived by then counts only as archived.
         AND (m.expires_at IS NULL OR m.expires_at > f.moment
              OR m.archived_at <= coalesce(f.as_of, 'infinity'))
         OR f.include_invalid)
    AND (NOT f.narrow
         OR (f.layers IS NULL OR m.layer = ANY (f.layers))
            AND (f.roles IS NULL OR m.role = ANY (f.roles))
            AND (f.speech_acts IS NULL OR m.speech_act = ANY (f.speech_acts))
            AND (f.authors IS NULL OR m.author = ANY (f.authors))
            AND (f.tags IS NULL OR m.tags @> f.tags)
            AND (f.sources IS NULL OR m.source = ANY (f.sources))
            AND (f.metadata IS NULL OR m.metadata @> f.metadata)
            AND (f.since IS NULL OR m.happened_at >= f.since)
            AND (f.until IS NULL OR m.happened_at < f.until)
            AND (f.terms IS NULL OR m.search_text @@ f.terms)
            AND (f.conversation IS NULL OR m.body <> ALL (f.conversation)))
    THEN true ELSE false END;

-- failed_filters: the names of the filters that a memory does not pass. Empty if and only if passes_filter is true and
-- the memory was not archived or superseded at as_of.
CREATE OR REPLACE FUNCTION recall_private.failed_filters(m recall.memory, f recall.search_filter) RETURNS text[]
LANGUAGE sql STABLE
RETURN array_remove(ARRAY[
    CASE WHEN f.as_of IS NULL AND NOT f.include_archived AND m.archived_at IS NOT NULL
           OR f.as_of IS NOT NULL AND NOT f.archived_as_of AND recall_private.was_archived(m.tenant, m.id, f.as_of)
         THEN 'archived' END,
    CASE WHEN f.as_of IS NULL AND NOT f.include_superseded AND m.superseded_by IS NOT NULL
           OR f.as_of IS NOT NULL AND NOT f.superseded_as_of AND recall_private.was_superseded(m.tenant, m.id, f.as_of)
         THEN 'superseded' END,
    CASE WHEN NOT f.include_invalid AND m.valid_from > f.moment THEN 'not valid yet' END,
    CASE WHEN NOT f.include_invalid AND m.valid_until <= f.moment THEN 'no longer valid' END,
    CASE WHEN NOT f.include_invalid AND m.expires_at <= f.moment
          AND (m.archived_at <= coalesce(f.as_of, 'infinity')) IS NOT TRUE THEN 'expired' END,
    CASE WHEN f.layers IS NOT NULL AND (m.layer = ANY (f.layers)) IS NOT TRUE THEN 'layers' END,
    CASE WHEN f.roles IS NOT NULL AND (m.role = ANY (f.roles)) IS NOT TRUE THEN 'roles' END,
    CASE WHEN f.speech_acts IS NOT NULL AND (m.speech_act = ANY (f.speech_acts)) IS NOT TRUE THEN 'speech_acts' END,
    CASE WHEN f.authors IS NOT NULL AND (m.author = ANY (f.authors)) IS NOT TRUE THEN 'authors' END,
    CASE WHEN f.tags IS NOT NULL AND (m.tags @> f.tags) IS NOT TRUE THEN 'tags' END,
    CASE WHEN f.sources IS NOT NULL AND (m.source = ANY (f.sources)) IS NOT TRUE THEN 'sources' END,
    CASE WHEN f.metadata IS NOT NULL AND (m.metadata @> f.metadata) IS NOT TRUE THEN 'metadata' END,
    CASE WHEN f.since IS NOT NULL AND (m.happened_at >= f.since) IS NOT TRUE THEN 'since' END,
    CASE WHEN f.until IS NOT NULL AND (m.happened_at < f.until) IS NOT TRUE
         THEN CASE WHEN m.happened_at > f.as_of THEN 'as_of' ELSE 'until' END END,
    CASE WHEN f.terms IS NOT NULL AND (m.search_text @@ f.terms) IS NOT TRUE THEN 'hints' END,
    CASE WHEN f.conversation IS NOT NULL AND m.body = ANY (f.conversation) THEN 'conversation' END], NULL);

-- narrows: whether a filter has any condition besides include_... and `until`. Inlined.
CREATE OR REPLACE FUNCTION recall_private.narrows(f recall.search_filter) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN num_nonnulls(f.layers, f.roles, f.speech_acts, f.authors, f.tags, f.sources, f.metadata, f.hints, f.since) > 0;

-- index_conditions: SQL conditions, in addition to passes_filter, by which an index finds the memories m that pass a
-- filter. $2 and $3 of the statement must be the tenant and the filter. Empty for a filter without sources and metadata.
-- Inlined.
CREATE OR REPLACE FUNCTION recall_private.index_conditions(f recall.search_filter) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN concat(
    CASE WHEN f.sources IS NOT NULL THEN ' AND m.source = ANY (($3).sources)' END,
    CASE WHEN f.metadata <> '{}'
         THEN ' AND m.metadata <> ''{}'' AND jsonb_set(''{}'', ARRAY[m.tenant], m.metadata) '
              '@> jsonb_set(''{}'', ARRAY[$2], ($3).metadata)' END);

-- check_filter: raises an error for the first invalid value of a filter for a search at p_now.
CREATE OR REPLACE FUNCTION recall_private.check_filter(p_tenant text, f recall.search_filter, p_now timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_unknown text;
BEGIN
    IF f.since >= f.until THEN
        PERFORM recall_private.raise_invalid(
            format('The time window is empty: since %s is not before until %s.', f.since, f.until));
    ELSIF f.as_of > p_now THEN
        PERFORM recall_private.raise_invalid(format('as_of is %s, which is in the future.', f.as_of), 'Give a past moment.');
    ELSIF f.as_of < f.since THEN
        PERFORM recall_private.raise_invalid(format('The time window since %s begins after as_of %s.', f.as_of, f.since));
    END IF;
    IF f.layers IS NOT NULL THEN
        SELECT u INTO v_unknown FROM unnest(f.layers) u
        WHERE u IS NULL OR u NOT IN (SELECT l.name FROM recall_private.effective_layers(p_tenant) l) LIMIT 1;
        IF FOUND THEN
            PERFORM recall_private.raise_invalid(format('The layer %L is unknown.', v_unknown), format('Choose one of: %s.',
                (SELECT string_agg(l.name, ', ') FROM recall_private.effective_layers(p_tenant) l)));
        END IF;
    END IF;
    IF f.roles IS NOT NULL THEN
        SELECT u INTO v_unknown FROM unnest(f.roles) u
        WHERE u IS NULL OR u <> ALL (recall_private.roles()) LIMIT 1;
        IF FOUND THEN
            PERFORM recall_private.raise_invalid(
                format('The role %L is unknown.', v_unknown), 'Use user, assistant, system or tool.');
        END IF;
    END IF;
    IF f.speech_acts IS NOT NULL THEN
        SELECT u INTO v_unknown FROM unnest(f.speech_acts) u
        WHERE u IS NULL OR u <> ALL (recall_private.speech_acts()) LIMIT 1;
        IF FOUND THEN
            PERFORM recall_private.raise_invalid(format('The speech act %L is unknown.', left(v_unknown, 100)),
                format('Choose one of: %s.', array_to_string(recall_private.speech_acts(), ', ')));
        END IF;
    END IF;
    IF f.metadata IS NOT NULL THEN
        PERFORM recall_private.check_metadata_filter(f.metadata);
    END IF;
END $$;

-- checked_filter: a filter with computed values for a search at p_now: the words of its hints and, for a past moment
-- (as_of), the end of its window. Raises an error for an invalid value. For a past moment, memories that are archived or
-- superseded now pass, and the search checks their state at that moment.
CREATE OR REPLACE FUNCTION recall_private.checked_filter(p_tenant text, f recall.search_filter, p_now timestamptz)
RETURNS recall.search_filter
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF num_nonnulls(f.since, f.as_of, f.layers, f.roles, f.speech_acts, f.metadata) > 0 THEN
        PERFORM recall_private.check_filter(p_tenant, f, p_now);
    END IF;
    IF f.hints IS NOT NULL THEN
        f.terms := recall_private.hint_query(p_tenant, f.hints);
    END IF;
    f.moment := coalesce(f.as_of, p_now);
    f.archived_as_of := f.include_archived;
    f.superseded_as_of := f.include_superseded;
    IF f.as_of IS NOT NULL THEN
        f.include_archived := true;
        f.include_superseded := true;
        f.until := least(f.until, f.as_of + interval '1 microsecond');
    END IF;
    -- The other conditions, which most memories pass, are no reason to read memories by their filter.
    f.narrow := recall_private.narrows(f) OR num_nonnulls(f.until, f.terms, f.conversation) > 0;
    RETURN f;
END $$;

-- hint_query: a tsquery for memories that contain every hint, as a phrase of the tenant's language or as it is written.
-- NULL for NULL. Raises an error for an empty list and for a hint without words.
CREATE OR REPLACE FUNCTION recall_private.hint_query(p_tenant text, p_hints text[]) RETURNS tsquery
LANGUAGE plpgsql STABLE
SET client_min_messages = warning AS $$
DECLARE
    v_language regconfig := recall_private.text_configuration(p_tenant);
    v_hint text;
    v_phrase tsquery;
    v_written tsquery;
    v_all tsquery;
BEGIN
    IF p_hints IS NULL THEN
        RETURN NULL;
    ELSIF cardinality(p_hints) NOT BETWEEN 1 AND 32 THEN
        PERFORM recall_private.raise_invalid(format('There are %s hints; give 1 to 32, or none at all.', cardinality(p_hints)));
    END IF;
    FOREACH v_hint IN ARRAY p_hints LOOP
        IF coalesce(btrim(v_hint, E' \t\r\n'), '') = '' THEN
            PERFORM recall_private.raise_invalid('A hint is empty.', 'Name a term that must occur.');
        ELSIF length(v_hint) > 1000 THEN
            PERFORM recall_private.raise_invalid(
                format('A hint has %s characters; the limit is 1,000.', length(v_hint)),
                'Name a term that must occur.');
        END IF;
        v_phrase := phraseto_tsquery(v_language, recall_private.spaced(recall_private.folded(v_hint)));
        v_written := phraseto_tsquery(recall_private.configuration('simple'), recall_private.spaced(recall_private.folded(v_hint)));
        IF numnode(v_phrase) = 0 AND (numnode(v_written) = 0 OR NOT EXISTS (
            SELECT FROM recall.memory m
            WHERE recall_private.tenant_words(m.tenant, m.search_text) @@ recall_private.tenant_query(p_tenant, v_written)
              AND m.tenant || '' = p_tenant)) THEN
            PERFORM recall_private.raise_invalid(
                format('The hint %L has only stop words or punctuation.', left(v_hint, 100)),
                'Name a term that must occur.');
        END IF;
        v_all := coalesce(v_all && (v_phrase || v_written), v_phrase || v_written);
    END LOOP;
    RETURN v_all;
END $$;

-- check_metadata_filter: raises an error unless this is a JSON object of at most 10,000 bytes.
CREATE OR REPLACE FUNCTION recall_private.check_metadata_filter(p_metadata jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF jsonb_typeof(p_metadata) <> 'object' THEN
        PERFORM recall_private.raise_invalid(
            format('The metadata filter %s is not a JSON object.', left(p_metadata::text, 100)),
            'Give the fields that the metadata must contain, for example {"project": "atlas"}.');
    ELSIF octet_length(p_metadata::text) > 10000 THEN
        PERFORM recall_private.raise_invalid(
            format('The metadata filter has %s bytes; the limit is 10,000.', octet_length(p_metadata::text)),
            'Give fewer fields.');
    END IF;
END $$;

-- read_search_request: the filter and the rest of a search request. The fields of a request are the arguments of
-- recall.search without p_, except the vectors and p_now. A missing field has its default. Raises an error for an unknown
-- field and for a value of the wrong type.
CREATE OR REPLACE FUNCTION recall_private.read_search_request(
    p_request jsonb, OUT filter recall.search_filter, OUT request recall.search_request
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_request jsonb;
    v_hint text;
BEGIN
    filter.include_archived := false;
    filter.include_superseded := false;
    filter.include_invalid := false;
    request.k := 10;
    request.min_relevance := 0;
    request.explain := true;
    request.require_answer := false;
    v_request := recall_private.check_request_fields(p_request, recall_private.request_fields());
    BEGIN
        filter := jsonb_populate_record(filter, v_request);
        request := jsonb_populate_record(request, v_request);
    EXCEPTION WHEN data_exception THEN
        GET STACKED DIAGNOSTICS v_hint = PG_EXCEPTION_HINT;
        PERFORM recall_private.raise_invalid(
            format('A field of the request cannot be read: %s.', left(SQLERRM, 300)), v_hint);
    END;
END $$;

-- read_filter: the filter in a JSON object that has only filters.
CREATE OR REPLACE FUNCTION recall_private.read_filter(p_filter jsonb) RETURNS recall.search_filter
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_read record := recall_private.read_search_request(
        recall_private.check_request_fields(p_filter, recall_private.filter_fields()));
BEGIN
    RETURN v_read.filter;
END $$;

-- without_filters: a request without its filters, which all memories pass. A past moment (as_of) stays.
CREATE OR REPLACE FUNCTION recall_private.without_filters(p_request jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT (p_request - ARRAY(
            SELECT k FROM jsonb_object_keys(to_jsonb(jsonb_populate_record(NULL::recall.search_filter, '{}'))) k
            WHERE k <> 'as_of'))
        || '{"include_archived": true, "include_superseded": true, "include_invalid": true}'
$$;

-- filter_fields: the names of the filters that a request may have, in order; it cannot set what checked_filter computes.
-- IMMUTABLE, so that plans contain its result.
CREATE OR REPLACE FUNCTION recall_private.filter_fields() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(k ORDER BY k)
    FROM jsonb_object_keys(to_jsonb(jsonb_populate_record(NULL::recall.search_filter, '{}'))) k
    WHERE k NOT IN ('moment', 'terms', 'archived_as_of', 'superseded_as_of', 'narrow')
$$;

-- request_fields: the names of all fields that a request may have, in order. IMMUTABLE, so that plans contain its result.
CREATE OR REPLACE FUNCTION recall_private.request_fields() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(k ORDER BY k)
    FROM (SELECT unnest(recall_private.filter_fields()) AS k
          UNION SELECT jsonb_object_keys(to_jsonb(jsonb_populate_record(NULL::recall.search_request, '{}')))) f
$$;

-- check_request_fields: returns the request. Raises an error unless it is a JSON object without other fields than p_known.
CREATE OR REPLACE FUNCTION recall_private.check_request_fields(p_request jsonb, p_known text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF jsonb_typeof(p_request) IS DISTINCT FROM 'object' THEN
        PERFORM recall_private.raise_invalid('The request is not a JSON object.', 'Give {"query": "..."}.');
    END IF;
    IF p_request - p_known <> '{}' THEN
        PERFORM recall_private.raise_invalid(
            format('The request has unknown fields: %s.', left((
                SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(p_request - p_known) k), 200)),
            format('Known fields: %s.', array_to_string(p_known, ', ')));
    END IF;
    RETURN p_request;
END $$;
