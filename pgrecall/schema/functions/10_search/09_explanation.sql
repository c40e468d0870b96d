-- The explanation of a hit.

-- explained_period: {"period": {"since", "until", "words"}} with times in UTC; {} without a period.
CREATE OR REPLACE FUNCTION recall_private.explained_period(p recall.period) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN (p).words IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('period', jsonb_build_object(
    'since', to_char((p).since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'until', to_char((p).until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'words', (p).words)) END;

-- word_step: how far the words of a query were relaxed to find a memory that holds these of them (bits, see words_held):
-- all words, some words, prefix (a word that no memory contains was replaced by words with the same beginning) or similar
-- (by words with a similar spelling). `held` are the words that the memory holds, with their weights.
CREATE OR REPLACE FUNCTION recall_private.word_step(
    p_held int, p_words text[], p_steps text[], p_idfs double precision[], OUT step text, OUT held jsonb
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_and(x.held AND x.step = 'word') THEN 'all words'
                WHEN bool_or(x.held AND x.step = 'word') THEN 'some words'
                WHEN bool_or(x.held AND x.step = 'prefix') THEN 'prefix'
                WHEN bool_or(x.held AND x.step = 'similar') THEN 'similar' ELSE 'some words' END,
           coalesce(jsonb_object_agg(x.word, round(x.idf::numeric, 3)) FILTER (WHERE x.held), '{}')
    FROM (SELECT u.word, u.step, u.idf, p_held >> (u.place - 1)::int & 1 = 1 AS held
          FROM unnest(p_words, p_steps, p_idfs) WITH ORDINALITY u(word, step, idf, place)) x
$$;

-- hit_explanation (reader): why a hit has its rank, as JSON: the values of each arm, the terms of its relevance with
-- their features, its vitality, and how relevance and vitality result in its score. p_hit is the `hit_ground` of the
-- hit, and p_search the `search_ground` of its search, which is in the first row of find and search_and_log. A search
-- hands out these grounds, because most explanations are never read; the Python client computes the same from them
-- (nouns/search/explanation.py).
CREATE OR REPLACE FUNCTION recall.hit_explanation(p_hit recall.hit_ground, p_search recall.search_ground) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT
SET search_path FROM CURRENT AS $$
DECLARE
    e recall.evidence := p_hit.found;
    w recall.relevance_model := p_search.model;
    v_arms double precision[] := p_search.arms;
    v_query recall.analyzed_query := p_search.analyzed[p_hit.place];
    v_logit double precision := p_hit.logit;
    v_name double precision := e.likeness * CASE WHEN e.named_alone THEN 2 ELSE 1 END;
    v_words double precision := recall_private.weight_of_words(e.word_trust);
    v_similarity double precision := (e.similarity - e.typical_similarity) * (2 - e.word_trust);
    v_tokens double precision := e.token_similarity * v_words;
    v_step record;
    v_vitality jsonb;
BEGIN
    SELECT * INTO v_step FROM recall_private.word_step(p_hit.held, v_query.words, v_query.steps, v_query.idfs);
    SELECT to_jsonb(t) INTO v_vitality FROM recall_private.vitality_terms(
        p_hit.accesses, p_hit.floored, p_hit.layer, p_search.weights, to_timestamp(p_search.now)) t;
    RETURN jsonb_build_object(
        'query', p_search.queries[p_hit.place], 'profile', w.profile,
        'arms', jsonb_strip_nulls(jsonb_build_object(
            'semantic', CASE WHEN e.similarity IS NOT NULL THEN
                jsonb_build_object('similarity', e.similarity, 'typical', nullif(e.typical_similarity, 0),
                                   'rank', e.semantic_rank) END,
            'lexical', CASE WHEN e.strength > 0 THEN jsonb_build_object(
                'coverage', e.coverage, 'strength', e.strength, 'rank', e.lexical_rank,
                'trust', nullif(e.word_trust, 1),
                'step', v_step.step, 'words', v_step.held) END,
            'name', CASE WHEN e.likeness > 0 THEN
                jsonb_build_object('likeness', e.likeness, 'alone', e.named_alone) END,
            'cue', CASE WHEN e.cue > 0 THEN jsonb_build_object('strength', e.cue, 'cue', e.cued_by) END,
            'graph', CASE WHEN e.seed IS NOT NULL THEN jsonb_build_object('share', e.share, 'from', e.seed) END,
            'question', CASE WHEN e.asked IS NOT NULL THEN jsonb_build_object('answers', e.asked) END)),
        'speech_act', e.speech_act,
        'relevance', jsonb_build_object(
            'logit', v_logit, 'probability', recall_private.logistic(v_logit), 'intercept', w.intercept,
            'similarity', coalesce(w.similarity * v_arms[1] * v_similarity, w.no_similarity),
            'coverage', w.coverage * v_arms[2] * v_words * coalesce(e.coverage, 0),
            'information', w.information * v_arms[2] * v_words * ln(1 + e.strength),
            'name', w.name * v_arms[3] * v_name,
            'author', p_search.author * e.authored, 'cue', w.cue * v_arms[5] * e.cue,
            'period', w.period * v_arms[7] * e.period,
            'session_coverage', w.session_coverage * v_arms[2] * v_words * e.session_coverage,
            'token_similarity', CASE WHEN w.form <> 'logistic' THEN 0
                ELSE coalesce(w.token_similarity * v_arms[1] * v_tokens, w.no_token_similarity) END,
            'question', -w.question * e.question, 'speaker', w.speaker * e.speaker,
            'no_number', -w.no_number * e.no_number,
            'graph', v_logit - e.directive - e.lent_by_question - e.own_logit,
            'answer', e.lent_by_question, 'directive', e.directive,
            'form', w.form,
            'features', jsonb_build_object(
                'similarity', v_similarity, 'coverage', v_words * coalesce(e.coverage, 0),
                'information', v_words * ln(1 + e.strength), 'name', v_name,
                'author', e.authored, 'cue', e.cue, 'period', e.period, 'session_coverage', v_words * e.session_coverage,
                'token_similarity', v_tokens, 'question', e.question, 'speaker', e.speaker,
                'no_number', e.no_number, 'graph', coalesce(e.share, 0))),
        'vitality', v_vitality,
        'score', jsonb_build_object(
            'log_odds', p_hit.placed, 'mode', p_search.mode, 'weight', p_search.weight,
            'vitality', p_hit.log_odds - CASE WHEN p_search.window_only THEN 0 ELSE v_logit END,
            'exempt', e.likeness = 1, 'moved', p_hit.placed - p_hit.log_odds))
        || recall_private.explained_period(p_search.periods[p_hit.place]);
END $$;

-- contradicting_memories: the live memories that contradict this one, or that it contradicts, by id, at most 100.
-- Inlined.
CREATE OR REPLACE FUNCTION recall_private.contradicting_memories(p_tenant text, p_memory_id bigint) RETURNS TABLE (id bigint)
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
CREATE OR REPLACE FUNCTION recall_private.rerank_blend(p_tenant text, p_reranker text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('intercept', r.intercept, 'rerank', r.rerank, 'fused', r.fused)
    FROM recall.rerank_model r
    WHERE r.tenant IN (p_tenant, '*') AND r.reranker IN (p_reranker, '*')
    ORDER BY r.tenant = '*', r.reranker = '*' LIMIT 1
$$;

-- period_sentence: the period that the query names, in words after a space; empty if it names none.
CREATE OR REPLACE FUNCTION recall_private.period_sentence(p_period jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(' The query names a period, "' || (p_period ->> 'words') || '":' || concat(
    ' from ' || left(p_period ->> 'since', 10), ' until before ' || left(p_period ->> 'until', 10)) || '.', '');

-- rank_sentence: an explanation as a sentence.
CREATE OR REPLACE FUNCTION recall_private.rank_sentence(
    p_rank int, p_candidates_total bigint, p_relevance double precision, p_vitality double precision, p_explanation jsonb
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT format(
        'Rank %s of %s. Relevant with a probability of %s, mainly because of %s. Vitality %s changes its log-odds by %s.%s',
        p_rank, p_candidates_total, round(p_relevance::numeric, 3),
        coalesce((SELECT string_agg(t.term, ' and ' ORDER BY t.value DESC) FROM (
            SELECT e.term, (p_explanation #>> ARRAY['relevance', e.term])::double precision AS value
            FROM jsonb_object_keys(p_explanation #> '{relevance,features}') e(term)
            WHERE (p_explanation #>> ARRAY['relevance', e.term])::double precision > 0
            ORDER BY 2 DESC LIMIT 2) t), 'no single feature'),
        round(p_vitality::numeric, 3), round((p_explanation #>> '{score,vitality}')::numeric, 2),
        recall_private.period_sentence(p_explanation -> 'period'))
$$;

-- hidden_reason: why a default search leaves this memory out, after a space; empty if it does not.
CREATE OR REPLACE FUNCTION recall_private.hidden_reason(m recall.memory, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce(' A default search leaves it out: it is ' || nullif(concat_ws(' and ',
        CASE WHEN m.archived_at IS NOT NULL THEN 'archived' END,
        CASE WHEN m.superseded_by IS NOT NULL THEN format('superseded by memory %s', m.superseded_by) END,
        CASE WHEN m.valid_from > p_now THEN 'not valid yet' END,
        CASE WHEN m.valid_until <= p_now THEN 'no longer valid' END,
        CASE WHEN m.expires_at <= p_now THEN 'expired' END), '') || '.', '')
$$;
