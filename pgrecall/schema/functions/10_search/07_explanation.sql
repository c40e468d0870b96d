-- The explanation of a hit.

-- explained_vitality_terms: the terms of the vitality of these memories at p_now or a past moment, as JSON.
CREATE OR REPLACE FUNCTION recall.explained_vitality_terms(
    p_tenant text, p_ids bigint[], p_layers recall.layer_in_force[], w recall.weights, p_now timestamptz,
    p_as_of timestamptz
) RETURNS TABLE (id bigint, terms jsonb)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT a.memory_id, to_jsonb(t)
    FROM (SELECT o.* FROM recall.activation o
          WHERE p_as_of IS NULL AND o.tenant = p_tenant AND o.memory_id = ANY (p_ids)
          UNION ALL SELECT o.* FROM recall.activations_as_of(p_tenant, p_ids, p_as_of) o WHERE p_as_of IS NOT NULL) a
    CROSS JOIN LATERAL (
        SELECT k.layer, k.pinned AND p_as_of IS NULL AS pinned FROM recall.memory k
        WHERE k.tenant = p_tenant AND k.id = a.memory_id OFFSET 0) m
    JOIN unnest(p_layers) l ON l.name = m.layer
    CROSS JOIN LATERAL recall.vitality_terms(a, m.pinned, l, w, p_now) t;
END $$;

-- explained_period: {"period": {"since", "until", "words"}} with times in UTC; {} without a period.
CREATE OR REPLACE FUNCTION recall.explained_period(p recall.period) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN (p).words IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('period', jsonb_build_object(
    'since', to_char((p).since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'until', to_char((p).until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'words', (p).words)) END;

-- hit_explanation: why a hit has its rank, as JSON: the values of each arm, the terms of its relevance with their
-- features, its vitality, and how relevance and vitality result in its score. p_words are the words of the query that the
-- memory contains, with their weights. p_step is how far the words were relaxed to find the memory: phrase, all words,
-- some words, prefix (a word that no memory contains was replaced by words with the same beginning) or similar (by words
-- with a similar spelling).
CREATE OR REPLACE FUNCTION recall.hit_explanation(
    p_query text, e recall.evidence, p_logit double precision, p_log_odds double precision, p_final_log_odds double precision,
    p_mode text, p_weight double precision, p_window boolean, w recall.relevance_model, p_arms double precision[],
    p_author_weight double precision, p_words jsonb, p_step text, p_vitality jsonb,
    p_period recall.period
) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_name double precision := e.likeness * CASE WHEN e.named_alone THEN 2 ELSE 1 END;
    v_words double precision := recall.weight_of_words(e.word_trust);
    v_similarity double precision := (e.similarity - e.typical_similarity) * (2 - e.word_trust);
    v_tokens double precision := e.token_similarity * v_words;
BEGIN
    RETURN jsonb_build_object(
        'query', p_query, 'profile', w.profile,
        'arms', jsonb_strip_nulls(jsonb_build_object(
            'semantic', CASE WHEN e.similarity IS NOT NULL THEN
                jsonb_build_object('similarity', e.similarity, 'typical', nullif(e.typical_similarity, 0),
                                   'rank', e.semantic_rank) END,
            'lexical', CASE WHEN e.strength > 0 THEN jsonb_build_object(
                'coverage', e.coverage, 'strength', e.strength, 'rank', e.lexical_rank,
                'trust', nullif(e.word_trust, 1),
                'step', CASE WHEN e.phrase = 1 THEN 'phrase' ELSE p_step END, 'words', p_words) END,
            'name', CASE WHEN e.likeness > 0 THEN
                jsonb_build_object('likeness', e.likeness, 'alone', e.named_alone) END,
            'cue', CASE WHEN e.cue > 0 THEN jsonb_build_object('strength', e.cue, 'cue', e.cued_by) END,
            'graph', CASE WHEN e.seed IS NOT NULL THEN jsonb_build_object('share', e.share, 'from', e.seed) END,
            'question', CASE WHEN e.asked IS NOT NULL THEN jsonb_build_object('answers', e.asked) END)),
        'speech_act', e.speech_act,
        'relevance', jsonb_build_object(
            'logit', p_logit, 'probability', recall.logistic(p_logit), 'intercept', w.intercept,
            'similarity', coalesce(w.similarity * p_arms[1] * v_similarity, w.no_similarity),
            'coverage', w.coverage * p_arms[2] * v_words * coalesce(e.coverage, 0),
            'information', w.information * p_arms[2] * v_words * ln(1 + e.strength),
            'phrase', w.phrase * p_arms[2] * v_words * coalesce(e.phrase, 0), 'name', w.name * p_arms[3] * v_name,
            'author', p_author_weight * e.authored, 'cue', w.cue * p_arms[5] * e.cue,
            'period', w.period * p_arms[7] * e.period,
            'session_coverage', w.session_coverage * p_arms[2] * v_words * e.session_coverage,
            'token_similarity', CASE WHEN w.form <> 'logistic' THEN 0
                ELSE coalesce(w.token_similarity * p_arms[1] * v_tokens, w.no_token_similarity) END,
            'question', -w.question * e.question, 'speaker', w.speaker * e.speaker,
            'no_number', -w.no_number * e.no_number,
            'graph', p_logit - e.directive - e.lent_by_question - e.own_logit,
            'answer', e.lent_by_question, 'directive', e.directive,
            'form', w.form,
            'features', jsonb_build_object(
                'similarity', v_similarity, 'coverage', v_words * coalesce(e.coverage, 0),
                'information', v_words * ln(1 + e.strength), 'phrase', v_words * coalesce(e.phrase, 0), 'name', v_name,
                'author', e.authored, 'cue', e.cue, 'period', e.period, 'session_coverage', v_words * e.session_coverage,
                'token_similarity', v_tokens, 'question', e.question, 'speaker', e.speaker,
                'no_number', e.no_number, 'graph', coalesce(e.share, 0))),
        'vitality', p_vitality,
        'score', jsonb_build_object(
            'log_odds', p_final_log_odds, 'mode', p_mode, 'weight', p_weight,
            'vitality', p_log_odds - CASE WHEN p_window THEN 0 ELSE p_logit END, 'exempt', e.likeness = 1,
            'held_back', p_final_log_odds - p_log_odds)) || recall.explained_period(p_period);
END $$;

-- contradicting_memories: the live memories that contradict this one, or that it contradicts, by id, at most 100.
-- Inlined.
CREATE OR REPLACE FUNCTION recall.contradicting_memories(p_tenant text, p_memory_id bigint) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT k.id
    FROM (
        SELECT l.dst AS id FROM recall.link l
        WHERE l.tenant = p_tenant AND l.src = p_memory_id AND l.relation = 'contradicts'
        UNION
        SELECT l.src FROM recall.link l
        WHERE l.tenant = p_tenant AND l.dst = p_memory_id AND l.relation = 'contradicts') k
    CROSS JOIN LATERAL (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = k.id AND m.archived_at IS NULL OFFSET 0) live
    ORDER BY k.id LIMIT 100;
END;

-- rerank_blend: the coefficients that combine a reranker's logit with the fused one: {"intercept", "rerank", "fused"}.
-- The tenant's own coefficients for this reranker take precedence over the default ones for it, and these over those for
-- any reranker.
CREATE OR REPLACE FUNCTION recall.rerank_blend(p_tenant text, p_reranker text) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT jsonb_build_object('intercept', r.intercept, 'rerank', r.rerank, 'fused', r.fused)
    FROM recall.rerank_model r
    WHERE r.tenant IN (p_tenant, '*') AND r.reranker IN (p_reranker, '*')
    ORDER BY r.tenant = '*', r.reranker = '*' LIMIT 1
$$;

-- period_sentence: the period that the query names, in words after a space; empty if it names none.
CREATE OR REPLACE FUNCTION recall.period_sentence(p_period jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(' The query names a period, "' || (p_period ->> 'words') || '":' || concat(
    ' from ' || left(p_period ->> 'since', 10), ' until before ' || left(p_period ->> 'until', 10)) || '.', '');

-- rank_sentence: an explanation as a sentence.
CREATE OR REPLACE FUNCTION recall.rank_sentence(
    p_rank int, p_candidates_total bigint, p_relevance double precision, p_vitality double precision, p_explanation jsonb
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT format(
        'Rank %s of %s. Relevant with a probability of %s, mainly because of %s. Vitality %s changes its log-odds by %s.%s',
        p_rank, p_candidates_total, round(p_relevance::numeric, 3),
        coalesce((SELECT string_agg(t.term, ' and ' ORDER BY t.value DESC) FROM (
            SELECT e.term, (p_explanation #>> ARRAY['relevance', e.term])::double precision AS value
            FROM jsonb_object_keys(p_explanation #> '{relevance,features}') e(term)
            WHERE (p_explanation #>> ARRAY['relevance', e.term])::double precision > 0
            ORDER BY 2 DESC LIMIT 2) t), 'no single feature'),
        round(p_vitality::numeric, 3), round((p_explanation #>> '{score,vitality}')::numeric, 2),
        recall.period_sentence(p_explanation -> 'period'))
$$;

-- hidden_reason: why a default search leaves this memory out, after a space; empty if it does not.
CREATE OR REPLACE FUNCTION recall.hidden_reason(m recall.memory, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(' A default search leaves it out: it is ' || nullif(concat_ws(' and ',
        CASE WHEN m.archived_at IS NOT NULL THEN 'archived' END,
        CASE WHEN m.superseded_by IS NOT NULL THEN format('superseded by memory %s', m.superseded_by) END,
        CASE WHEN m.valid_from > p_now THEN 'not valid yet' END,
        CASE WHEN m.valid_until <= p_now THEN 'no longer valid' END,
        CASE WHEN m.expires_at <= p_now THEN 'expired' END), '') || '.', '')
$$;
