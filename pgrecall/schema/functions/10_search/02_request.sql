-- The search request of a program: one JSON object, which is read once into two typed values.

-- read_search_request: the filter and the rest of a search request. The fields of a request are the arguments of
-- recall.search without p_, except the vectors and p_now. A missing field has its default. Raises an error for an unknown
-- field and for a value of the wrong type.
CREATE OR REPLACE FUNCTION recall.read_search_request(
    p_request jsonb, OUT filter recall.search_filter, OUT request recall.search_request
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_hint text;
BEGIN
    filter.include_archived := false;
    filter.include_superseded := false;
    filter.include_invalid := false;
    request.k := 10;
    request.min_relevance := 0;
    request.explain := true;
    request.require_answer := false;
    PERFORM recall.check_request_fields(p_request, to_jsonb(filter) || to_jsonb(request));
    BEGIN
        filter := jsonb_populate_record(filter, p_request);
        request := jsonb_populate_record(request, p_request);
    EXCEPTION WHEN data_exception THEN
        GET STACKED DIAGNOSTICS v_hint = PG_EXCEPTION_HINT;
        PERFORM recall.raise_invalid(
            format('A field of the request cannot be read: %s.', left(SQLERRM, 300)), v_hint);
    END;
END $$;

-- read_filter: the filter in a JSON object that has only filters.
CREATE OR REPLACE FUNCTION recall.read_filter(p_filter jsonb) RETURNS recall.search_filter
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_read record;
BEGIN
    PERFORM recall.check_request_fields(p_filter, to_jsonb(jsonb_populate_record(NULL::recall.search_filter, '{}')));
    v_read := recall.read_search_request(p_filter);
    RETURN v_read.filter;
END $$;

-- check_request_fields: raises an error unless this is a JSON object without other fields than those of p_known.
CREATE OR REPLACE FUNCTION recall.check_request_fields(p_request jsonb, p_known jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_fields text[];
BEGIN
    IF jsonb_typeof(p_request) IS DISTINCT FROM 'object' THEN
        PERFORM recall.raise_invalid('The request is not a JSON object.', 'Give {"query": "..."}.');
    END IF;
    -- A request cannot set attributes of the filter that checked_filter computes.
    v_fields := ARRAY(
        SELECT k FROM jsonb_object_keys(p_known) k
        WHERE k NOT IN ('moment', 'terms', 'archived_as_of', 'superseded_as_of') ORDER BY k);
    IF p_request - v_fields <> '{}' THEN
        PERFORM recall.raise_invalid(
            format('The request has unknown fields: %s.', left((
                SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(p_request - v_fields) k), 200)),
            format('There are: %s.', array_to_string(v_fields, ', ')));
    END IF;
END $$;
