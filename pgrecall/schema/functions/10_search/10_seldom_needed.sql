-- What few searches need, each as a function of its own: every search prepares all of its main statement.

-- multiplied_log_odds: the log-odds of the relevance times what this weight leaves of it without vitality.
CREATE OR REPLACE FUNCTION recall_private.multiplied_log_odds(
    p_logit double precision, p_weight double precision, p_vitality double precision
) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN recall_private.logit(recall_private.logistic(p_logit) * (1 - p_weight + p_weight * p_vitality));
END $$;

-- running_experiment: the experiment by which a search is ranked, for its summary.
CREATE OR REPLACE FUNCTION recall_private.running_experiment(
    p_settings jsonb, p_arm text, p_mode text, p_weight double precision
) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'number', floor((p_settings ->> 'search.experiment')::double precision), 'arm', p_arm,
        'weight', CASE WHEN p_mode = 'off' THEN 0 ELSE p_weight END);
END $$;

-- confidence_terms: what a client computes the confidence from that weighs the hits again.
CREATE OR REPLACE FUNCTION recall_private.confidence_terms(
    p_settings jsonb, p_memories bigint, p_needs_context boolean
) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'intercept', p_settings -> 'confidence.intercept', 'relevance', p_settings -> 'confidence.relevance',
        'size', p_settings -> 'confidence.size', 'memories', p_memories, 'needs_context', p_needs_context);
END $$;

-- skipped_parts: what a search could not read or leaves out, as sentences; NULL if nothing. p_other is another embedder that
-- made its vectors, p_in_window how many memories were looked at for a window of time, and p_left_out how many of the hits
-- exceed p_max_bytes. Token signs, vectors and the moment p_as_of are looked up for these hits.
CREATE OR REPLACE FUNCTION recall_private.skipped_parts(
    p_tenant text, p_ids bigint[], p_embedder text, p_tokens boolean, p_vectors boolean, p_as_of timestamptz,
    p_other text, p_in_window bigint, p_left_out bigint, p_max_bytes bigint
) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_skipped text[];
BEGIN
    IF p_in_window >= 5000 THEN
        v_skipped := ARRAY['window: it holds more than 5,000 memories, of which the newest were looked at'];
    END IF;
    IF p_other IS NOT NULL THEN
        v_skipped := v_skipped || format(
            'meaning: this database holds embeddings of %L, not of %L; `pgrecall jobs run reembed` replaces them',
            p_embedder, left(p_other, 200));
    END IF;
    IF p_tokens AND EXISTS (
        SELECT FROM recall.token_signs k
        WHERE k.tenant = p_tenant AND k.memory_id = ANY (p_ids) AND k.model <> p_embedder) THEN
        v_skipped := v_skipped || text 'tokens: those that another embedder made of some hits are ignored';
    END IF;
    IF p_vectors AND EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.passage_count > 0 AND m.embedded_with <> p_embedder) THEN
        v_skipped := v_skipped || text 'passages: those that another embedder made of some hits are ignored';
    END IF;
    IF p_as_of IS NOT NULL AND EXISTS (
        SELECT FROM unnest(p_ids) h(id) CROSS JOIN LATERAL (
            SELECT o.written_at, o.number FROM recall.memory_version o
            WHERE o.tenant = p_tenant AND o.memory_id = h.id AND o.replaced_at > p_as_of
            ORDER BY o.number LIMIT 1) v
        WHERE v.number > 1 AND v.written_at > p_as_of) THEN
        v_skipped := v_skipped
            || text 'versions: the text of that moment is not kept of some hits, which show the oldest one after it';
    END IF;
    IF p_left_out > 0 THEN
        v_skipped := v_skipped || format(
            'hits: the last %s are left out, as the hits would have more than %s bytes of text',
            p_left_out, to_char(p_max_bytes, 'FM999,999,999,999,990'));
    END IF;
    RETURN v_skipped;
END $$;

-- version_at: the version of a memory that was in force at a past moment. No row if the present one was, or if that
-- version is not kept.
CREATE OR REPLACE FUNCTION recall_private.version_at(p_tenant text, p_memory_id bigint, p_as_of timestamptz)
RETURNS SETOF recall.memory_version
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT v.* FROM recall.memory_version v
    WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.replaced_at > p_as_of
    ORDER BY v.number LIMIT 1;
END $$;
