-- Candidates: the memories that the arms find for one query, and how likely each is to answer it.

-- more_words_held: the bits of words_held for the ninth and further words. It is a function of its own, because every
-- search prepares all inlined expressions, and few queries have so many words.
CREATE OR REPLACE FUNCTION recall.more_words_held(p_text tsvector, p_words tsquery[]) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN
    coalesce((p_text @@ p_words[9])::int * 256, 0) + coalesce((p_text @@ p_words[10])::int * 512, 0)
    + coalesce((p_text @@ p_words[11])::int * 1024, 0) + coalesce((p_text @@ p_words[12])::int * 2048, 0)
    + CASE WHEN p_words[13] IS NULL THEN 0 ELSE
    coalesce((p_text @@ p_words[13])::int * 4096, 0) + coalesce((p_text @@ p_words[14])::int * 8192, 0)
    + coalesce((p_text @@ p_words[15])::int * 16384, 0) + coalesce((p_text @@ p_words[16])::int * 32768, 0) END;
END $$;

-- words_held: which of up to 16 words a text contains, as bits. It is one expression, so that it can be inlined. Its
-- CASEs are nested, because few queries have many words.
CREATE OR REPLACE FUNCTION recall.words_held(p_text tsvector, p_words tsquery[]) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce((p_text @@ p_words[1])::int, 0) + coalesce((p_text @@ p_words[2])::int * 2, 0)
    + coalesce((p_text @@ p_words[3])::int * 4, 0) + coalesce((p_text @@ p_words[4])::int * 8, 0)
    + CASE WHEN p_words[5] IS NULL THEN 0 ELSE
    coalesce((p_text @@ p_words[5])::int * 16, 0) + coalesce((p_text @@ p_words[6])::int * 32, 0)
    + coalesce((p_text @@ p_words[7])::int * 64, 0) + coalesce((p_text @@ p_words[8])::int * 128, 0)
    + CASE WHEN p_words[9] IS NULL THEN 0 ELSE recall.more_words_held(p_text, p_words) END END;

-- weight_of_more_held: the part of weight_of_held for the ninth and further words.
CREATE OR REPLACE FUNCTION recall.weight_of_more_held(p_held int, p_idfs double precision[]) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN
    coalesce(p_idfs[9] * (p_held >> 8 & 1), 0) + coalesce(p_idfs[10] * (p_held >> 9 & 1), 0)
    + coalesce(p_idfs[11] * (p_held >> 10 & 1), 0) + coalesce(p_idfs[12] * (p_held >> 11 & 1), 0)
    + CASE WHEN p_held < 4096 THEN 0 ELSE
    coalesce(p_idfs[13] * (p_held >> 12 & 1), 0) + coalesce(p_idfs[14] * (p_held >> 13 & 1), 0)
    + coalesce(p_idfs[15] * (p_held >> 14 & 1), 0) + coalesce(p_idfs[16] * (p_held >> 15 & 1), 0) END;
END $$;

-- weight_of_held: the sum of the weights of the words in these bits (see words_held). It is one expression, so that it
-- can be inlined.
CREATE OR REPLACE FUNCTION recall.weight_of_held(p_held int, p_idfs double precision[]) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_idfs[1] * (p_held >> 0 & 1), 0) + coalesce(p_idfs[2] * (p_held >> 1 & 1), 0)
    + coalesce(p_idfs[3] * (p_held >> 2 & 1), 0) + coalesce(p_idfs[4] * (p_held >> 3 & 1), 0)
    + CASE WHEN p_held < 16 THEN 0 ELSE
    coalesce(p_idfs[5] * (p_held >> 4 & 1), 0) + coalesce(p_idfs[6] * (p_held >> 5 & 1), 0)
    + coalesce(p_idfs[7] * (p_held >> 6 & 1), 0) + coalesce(p_idfs[8] * (p_held >> 7 & 1), 0)
    + CASE WHEN p_held < 256 THEN 0 ELSE recall.weight_of_more_held(p_held, p_idfs) END END;

-- word_trust: how far the words of a query can be trusted, 0 to 1, by the share of them that the best hit by words holds
-- (p_coverage, by idf). If no memory holds more than a fifth of the words of a sentence, none was found by what the
-- sentence is about, and memories that share its common words keep out those that share its meaning. A query of few words
-- names what it looks for.
CREATE OR REPLACE FUNCTION recall.word_trust(p_words int, p_coverage double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_words >= 5 THEN least(greatest((p_coverage - 0.2) * 10, 0), 1) ELSE 1 END;

-- weight_of_words: by what the features of words are multiplied at this trust. Inlined.
CREATE OR REPLACE FUNCTION recall.weight_of_words(p_trust double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.1 + 0.9 * p_trust;

-- relevance_logit: the log-odds that a candidate answers the query, computed from its features by a logistic model or by
-- one of two fixed blends of other systems (reciprocal ranks, or a weighted sum). p_arms has the weights of the arms:
-- semantic, lexical, name, author, cue, graph, period. p_trust is how far the words of the query are trusted (see
-- word_trust): without trust, the features of words count a tenth and similarity twice. Inlined.
CREATE OR REPLACE FUNCTION recall.relevance_logit(
    w recall.relevance_model, p_arms double precision[], p_author double precision, p_similarity double precision,
    p_coverage double precision, p_strength double precision, p_phrase int, p_likeness double precision,
    p_alone boolean, p_authored int, p_cue double precision, p_semantic_rank bigint, p_lexical_rank bigint,
    p_name_rank bigint, p_period double precision, p_session double precision, p_trust double precision,
    p_question int, p_speaker int, p_no_number int
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE w.form
    WHEN 'seed' THEN recall.logit(least(1,
        w.coverage * p_arms[2] * coalesce(p_coverage, 0)
        + w.similarity * p_arms[1] * greatest(coalesce(p_similarity, 0), 0)
        + w.name * p_arms[3] * p_likeness))
    WHEN 'rrf' THEN recall.logit(61.0 / 3 * (
        coalesce(w.similarity * p_arms[1] / (60 + p_semantic_rank), 0)
        + coalesce(w.coverage * p_arms[2] / (60 + p_lexical_rank), 0)
        + coalesce(w.name * p_arms[3] / (60 + p_name_rank), 0)))
    ELSE w.intercept + coalesce(w.similarity * p_arms[1] * p_similarity * (2 - p_trust), w.no_similarity)
        + p_arms[2] * recall.weight_of_words(p_trust) * (w.coverage * coalesce(p_coverage, 0) + w.information * ln(1 + p_strength)
            + w.phrase * coalesce(p_phrase, 0) + w.session_coverage * p_session)
        + w.name * p_arms[3] * p_likeness * CASE WHEN p_alone THEN 2 ELSE 1 END
        + p_author * p_authored + w.cue * p_arms[5] * p_cue + w.period * p_arms[7] * p_period
        - w.question * p_question + w.speaker * p_speaker - w.no_number * p_no_number END;

-- candidates: the memories that the arms find for one query.
-- The query: q has its parts and p_embedding is its vector; both are NULL without a query. With p_window, all memories in
-- the window of time are candidates. p_period is the period that the query names. p_tokens are its token signs: the most
-- relevant candidates (v_compared) are compared by their tokens, and every other candidate gets the lowest of these
-- similarities. p_author_weight is the weight of an author named in the query. p_cued are the memories associated with
-- cues, with p_strengths and p_cues, the cue of each. p_recent are the cues themselves.
-- The result: `logit` is the log-odds that the memory answers, including the relevance that linked memories lend it. A
-- cosine counts by the amount that it exceeds the typical one (see typical_similarity). A question lends relevance to its
-- answer. Some directives (`search.directives`) are lifted in proportion to their similarity and by
-- `search.directive_lift`, for a query of an unknown kind two of them, by half of it and to at most 1 below the
-- best other memory, and none for a query about what was said or happened. `own_logit` is without the lift. `held` are the words that the
-- memory contains (see words_held), `floored` is whether the protection floor applies, and `named` whether the query
-- names the memory exactly. `activation` is S as in vitality. In `use`, every access counts as at least an hour old, and
-- accesses of p_recent as at least a day, because being used in this session is no news. `evidence` is only computed with
-- p_explain.
CREATE OR REPLACE FUNCTION recall.candidates(
    p_tenant text, q recall.analyzed_query, p_embedding halfvec, p_window boolean, p_pool int, p_settings jsonb,
    p_weights recall.weights, w recall.relevance_model, p_arms double precision[],
    p_author_weight double precision, p_cued bigint[], p_strengths double precision[], p_cues bigint[],
    p_recent bigint[], p_filter recall.search_filter, p_explain boolean, p_period recall.period,
    p_tokens bit varying[], p_intent recall.query_intent
) RETURNS TABLE (
    id bigint, layer text, superseded_by bigint, activation double precision, use double precision,
    floored boolean, named boolean, logit double precision, own_logit double precision, speech_act text, held int,
    evidence recall.evidence
)
LANGUAGE plpgsql STABLE ROWS 100
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_seconds double precision := date_part('epoch', p_filter.moment);
    v_embedder text := p_settings ->> 'embedding.model';
    v_graph double precision := w.graph * p_arms[6];
    v_queries tsquery[] := CASE WHEN p_arms[2] > 0 THEN q.queries END;
    -- Variables, because reading a field of q would copy it for each candidate.
    v_idfs double precision[] := q.idfs;
    v_idf_sum double precision := q.idf_sum;
    v_phrase tsquery := q.phrase;
    v_mean double precision := q.body_length;
    v_authors text[] := q.authors;
    v_near bigint[] := '{}';
    v_similarities double precision[];
    v_held bigint[] := '{}';
    v_strengths double precision[];
    v_named bigint[] := CASE WHEN p_arms[3] > 0 THEN q.named_ids END;
    v_linked bigint[] := '{}';
    v_seeds bigint[];
    v_shares double precision[];
    v_more bigint[] := '{}';
    v_far bigint[] := '{}';
    v_far_similarities double precision[];
    v_past recall.activation[];
    v_compared constant int := 40;  -- number of candidates compared by their tokens
    v_typical double precision := 0;  -- the cosine of unrelated memories
    v_trust double precision := 1;
    v_speaker text := p_intent.speaker;
    v_asks_number boolean := coalesce(p_intent.asks_number, false);
    v_ordinary boolean := NOT coalesce(p_intent.about_questions, false);
    v_questions bigint[] := '{}';
    v_answers bigint[] := '{}';
    v_directives int := (p_settings ->> 'search.directives')::double precision::int;
    v_lift double precision := (p_settings ->> 'search.directive_lift')::double precision;
    -- How far directives apply to such a query.
    v_applies double precision := CASE p_intent.seeks WHEN 'request' THEN 1 WHEN 'recall' THEN 0 ELSE 0.5 END;
    v_answer_share double precision := (p_settings ->> 'search.answer_share')::double precision;
BEGIN
    IF p_embedding IS NOT NULL AND p_arms[1] > 0 THEN
        IF w.form = 'logistic' THEN
            v_typical := recall.typical_similarity(p_tenant, p_embedding, v_embedder);
        END IF;
        SELECT coalesce(array_agg(s.id), '{}'), array_agg(s.similarity) INTO v_near, v_similarities
        FROM recall.semantic_arm(
            p_tenant, p_embedding, p_pool, p_filter) s
        WHERE s.similarity <> 'NaN';
    END IF;
    IF v_queries IS NOT NULL THEN
        SELECT coalesce(array_agg(l.id), '{}'), array_agg(l.strength) INTO v_held, v_strengths
        FROM recall.lexical_arm(
            p_tenant, v_queries, q.documents, q.idfs, q.body_length, p_pool, p_filter) l;
    END IF;
    IF w.form = 'logistic' AND NOT p_window THEN
        IF v_near <> '{}' AND v_queries IS NOT NULL THEN
            v_trust := recall.word_trust(cardinality(v_queries), coalesce(least(v_strengths[1] / nullif(v_idf_sum, 0), 1), 0));
        END IF;
        IF v_ordinary THEN
            SELECT coalesce(array_agg(a.question), '{}'), coalesce(array_agg(a.answer), '{}') INTO v_questions, v_answers
            FROM recall.answers_to(p_tenant, v_near[1:5] || v_held[1:5]) a;
        END IF;
        IF v_near <> '{}' AND v_directives > 0 AND v_applies > 0 THEN
            v_more := ARRAY(SELECT d.id FROM recall.directive_arm(p_tenant, p_embedding, p_filter) d);
        END IF;
        v_more := v_more || v_answers;
    END IF;
    IF v_graph > 0 AND (v_near <> '{}' OR v_held <> '{}' OR v_named IS NOT NULL) THEN
        SELECT coalesce(array_agg(g.id), '{}'), array_agg(g.seed), array_agg(g.share)
        INTO v_linked, v_seeds, v_shares
        FROM recall.graph_arm(
            p_tenant, ARRAY(SELECT DISTINCT s.id FROM unnest(v_near[1:5] || v_held[1:5] || ARRAY(
                SELECT n.id FROM unnest(v_named, q.likeness) n(id, likeness) WHERE n.likeness = 1)) s(id)),
            32, (p_settings ->> 'search.hop_share')::double precision,
            (p_settings ->> 'search.next_share')::double precision,
            (p_settings ->> 'search.previous_share')::double precision) g;
    END IF;
    IF p_window THEN
        v_more := ARRAY(
            SELECT a.id FROM recall.window_arm(
                p_tenant, p_filter) a);
    ELSIF p_filter.superseded_as_of THEN
        v_more := v_more || ARRAY(
            SELECT s.successor FROM recall.successors_of(p_tenant, v_near || v_held || v_named) s);
    END IF;
    IF p_filter.as_of IS NOT NULL THEN
        v_past := ARRAY(SELECT a FROM recall.activations_as_of(
            p_tenant, v_near || v_held || v_named || v_linked || v_more || p_cued, p_filter.as_of) a);
    END IF;
    IF v_near <> '{}' THEN
        v_far := ARRAY(
            SELECT u FROM unnest(v_held || v_named || v_linked || v_more || p_cued) u EXCEPT SELECT unnest(v_near));
    ELSIF p_embedding IS NOT NULL AND p_arms[1] > 0 THEN
        v_far := v_held || v_named || v_linked || v_more || p_cued;
    END IF;
    IF v_far <> '{}' THEN
        SELECT coalesce(array_agg(s.id), '{}'), array_agg(s.similarity) INTO v_far, v_far_similarities
        FROM recall.similarities_to_vector(p_tenant, v_far, p_embedding) s;
    END IF;

    RETURN QUERY
    -- Only what is read twice is MATERIALIZED, because storing wide rows costs as much as computing them.
    WITH candidate AS (
        SELECT c.id, max(c.similarity) AS similarity, max(c.semantic_rank) AS semantic_rank,
               max(c.strength) AS strength, max(c.lexical_rank) AS lexical_rank,
               coalesce(max(c.likeness), 0) AS likeness, coalesce(bool_or(c.alone), false) AS alone,
               min(c.name_rank) AS name_rank, coalesce(max(c.cue), 0) AS cue, max(c.cued_by) AS cued_by
        FROM (
            SELECT n.id, n.similarity, n.rank AS semantic_rank, NULL::double precision AS strength,
                   NULL::bigint AS lexical_rank, NULL::double precision AS likeness, NULL::boolean AS alone,
                   NULL::bigint AS name_rank, NULL::double precision AS cue, NULL::bigint AS cued_by
            FROM unnest(v_near, v_similarities) WITH ORDINALITY n(id, similarity, rank)
            UNION ALL SELECT f.id, f.similarity, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM unnest(v_far, v_far_similarities) f(id, similarity)
            UNION ALL SELECT h.id, NULL, NULL, h.strength, h.rank, NULL, NULL, NULL, NULL, NULL
            FROM unnest(v_held, v_strengths) WITH ORDINALITY h(id, strength, rank)
            UNION ALL SELECT n.id, NULL, NULL, NULL, NULL, n.likeness, n.alone, n.rank, NULL, NULL
            FROM unnest(v_named, q.likeness, q.whole, q.name_ranks) n(id, likeness, alone, rank)
            UNION ALL SELECT c.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c.strength, c.cue
            FROM unnest(p_cued, p_strengths, p_cues) c(id, strength, cue)
            UNION ALL SELECT l, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM unnest(v_linked || v_more) l) c
        GROUP BY c.id
    ), featured AS (
        -- OFFSET 0 keeps both lookups one index probe for each candidate, whatever the planner estimates.
        SELECT c.*, m.layer, m.superseded_by, a.activation, a.use, a.protected OR m.pinned AS floored, m.authored,
               m.period, m.speech_act, (v_ordinary AND recall.says_nothing(m.speech_act))::int AS question,
               coalesce(m.role = v_speaker, false)::int AS speaker, m.no_number,
               m.strength AS weight, CASE WHEN m.comparable THEN c.similarity END AS likeness_of_meaning,
               least(m.strength / nullif(v_idf_sum, 0), 1) AS coverage, m.session_id,
               CASE WHEN m.strength > 0 THEN recall.words_held(m.words, v_queries) ELSE 0 END AS held,
               CASE WHEN m.strength > 0 THEN (m.words @@ v_phrase)::int END AS phrase
        FROM candidate c
        CROSS JOIN LATERAL (
            SELECT k.layer, k.superseded_by, f.words, k.session_id, k.role, coalesce(k.speech_act, 'statement') AS speech_act,
                   -- A question is read for what it lends to its answer, and holds no number either.
                   CASE WHEN v_asks_number AND NOT recall.says_nothing(coalesce(k.speech_act, ''))
                        THEN (NOT (coalesce(recall.holds_number(k.title), false) OR recall.holds_number(k.body)))::int
                        ELSE 0 END AS no_number,
                   CASE WHEN p_period IS NULL THEN 0 ELSE recall.period_match(p_period, k.happened_at) END AS period,
                   k.pinned AND p_filter.as_of IS NULL AS pinned,
                   -- A vector of another model, which has not been replaced yet, is not comparable.
                   coalesce(k.embedded_with = v_embedder, true) AS comparable,
                   CASE WHEN v_queries IS NULL THEN 0 ELSE
    coalesce(
                       c.strength, recall.lexical_strength(f.words, f.weights, v_queries, v_idfs), 0) END AS strength,
                   CASE WHEN f.author IS NULL THEN 0
                        ELSE (f.author = ANY (v_authors) OR split_part(f.author, ' ', 1) = ANY (v_authors))::int
                   END AS authored
            FROM recall.memory k
            CROSS JOIN LATERAL (
                SELECT recall.read_once(k.search_text) AS words, recall.field_weights(
                    recall.indexed_length(k.body, 10000), recall.indexed_length(k.context, 10000),
                    v_mean) AS weights, CASE WHEN v_authors IS NOT NULL THEN recall.plain(lower(k.author)) END AS author
                OFFSET 0) f
            WHERE k.tenant = p_tenant AND k.id = c.id AND recall.passes_filter(k, p_filter)
              AND (p_filter.as_of IS NULL
                   OR (p_filter.archived_as_of OR NOT recall.was_archived(p_tenant, k.id, p_filter.as_of))
                      AND (p_filter.superseded_as_of OR NOT recall.was_superseded(p_tenant, k.id, p_filter.as_of)))
            OFFSET 0) m
        CROSS JOIN LATERAL (
            SELECT s.activation, r.protected,
                   CASE WHEN r.t1 <= v_seconds - s.min_age THEN s.activation
                        ELSE recall.activation_sum(r, p_weights, v_seconds, s.min_age) END AS use
            FROM (SELECT o.* FROM recall.activation o
                  WHERE p_filter.as_of IS NULL AND o.tenant = p_tenant AND o.memory_id = c.id
                  UNION ALL SELECT o.* FROM unnest(v_past) o WHERE o.memory_id = c.id) r
            CROSS JOIN LATERAL (
                SELECT recall.activation_sum(r, p_weights, v_seconds) AS activation,
                       CASE WHEN c.id = ANY (p_recent) THEN 86400 ELSE 3600 END AS min_age OFFSET 0) s
            OFFSET 0) a
        OFFSET 0
    ), sessioned AS (
        -- A memory without a session counts as its own session.
        SELECT f.*, bit_or(f.held) OVER (
            PARTITION BY f.session_id, CASE WHEN f.session_id IS NULL THEN f.id END) AS held_by_session
        FROM featured f
    ), judged AS (
        -- Every memory in a window answers a search for the window alone.
        SELECT f.id, f.layer, f.superseded_by, f.activation, f.use, f.floored, f.semantic_rank, f.lexical_rank,
               f.likeness_of_meaning AS similarity, f.coverage, f.weight AS strength, f.phrase, f.likeness, f.alone,
               f.authored, f.cue, f.cued_by, f.period, f.held, s.session_coverage, f.speech_act, f.question, f.speaker, f.no_number,
               CASE WHEN p_window THEN recall.logit(1) ELSE recall.relevance_logit(
                   w, p_arms, p_author_weight, f.likeness_of_meaning - v_typical, f.coverage, f.weight, f.phrase, f.likeness,
                   f.alone, f.authored, f.cue, f.semantic_rank, f.lexical_rank, f.name_rank, f.period,
                   s.session_coverage, v_trust, f.question, f.speaker, f.no_number) END AS logit
        FROM sessioned f
        CROSS JOIN LATERAL (
            SELECT coalesce(recall.weight_of_held(f.held_by_session, v_idfs) / v_idf_sum, 0) AS session_coverage
            OFFSET 0) s
        OFFSET 0
    ), placed AS MATERIALIZED (
        SELECT j.*, row_number() OVER (ORDER BY j.logit DESC, j.id) <= v_compared AS compared FROM judged j
    ), alike AS MATERIALIZED (
        SELECT t.id, t.similarity
        FROM recall.token_similarities(
            p_tenant, ARRAY(SELECT j.id FROM placed j WHERE j.compared), v_embedder, p_tokens) t
        WHERE p_tokens <> '{}' AND p_arms[1] > 0
    ), weighed AS MATERIALIZED (
        SELECT f.*, f.logit + CASE WHEN p_window OR w.form <> 'logistic' THEN 0
                   ELSE coalesce(w.token_similarity * p_arms[1] * recall.weight_of_words(v_trust) * f.token_similarity,
                                 w.no_token_similarity) END AS log_odds
        FROM (
            SELECT j.*, CASE WHEN j.compared THEN a.similarity
                             ELSE (SELECT min(m.similarity) FROM alike m) END AS token_similarity
            FROM placed j LEFT JOIN alike a ON a.id = j.id) f
    ), lent AS (
        SELECT DISTINCT ON (l.id) l.id, l.seed, l.share, 1 - (1 - recall.logistic(j.log_odds))
                   * (1 - least(v_graph * l.share * recall.logistic(s.log_odds), 1)) AS probability
        FROM unnest(v_linked, v_seeds, v_shares) l(id, seed, share)
        JOIN weighed j ON j.id = l.id
        -- What the same person says after a question is not its answer.
        JOIN weighed s ON s.id = l.seed AND (s.question = 0 OR l.id = ANY (v_answers))
        ORDER BY l.id, l.share * recall.logistic(s.log_odds) DESC, l.seed
    ), asked AS (
        -- A question that is much like the query has an answer that is too, whatever its words.
        SELECT DISTINCT ON (a.answer) a.answer AS id, a.question, s.log_odds + w.question * s.question AS log_odds
        FROM unnest(v_questions, v_answers) a(question, answer) JOIN weighed s ON s.id = a.question
        ORDER BY a.answer, s.log_odds DESC, a.question
    ), told AS MATERIALIZED (
        SELECT j.*, l.seed, l.share, x.linked, a.question AS asked_by,
               CASE WHEN a.id IS NULL OR v_answer_share = 0 THEN x.linked
                    ELSE recall.either(x.linked, a.log_odds + ln(v_answer_share)) END AS own
        FROM weighed j
        LEFT JOIN lent l ON l.id = j.id
        LEFT JOIN asked a ON a.id = j.id
        CROSS JOIN LATERAL (
            -- Memories with little evidence of their own that are linked to an answer are right two to seven times as
            -- often as the evidence says, but never a hundred times, which a large share could suggest.
            SELECT CASE WHEN l.id IS NULL THEN j.log_odds
                        ELSE least(recall.logit(l.probability), j.log_odds + ln(6)) END AS linked OFFSET 0) x
    ), lifted AS (
        SELECT d.id, greatest(d.own, CASE WHEN p_intent.seeks = 'request' THEN d.lifted
                                          ELSE least(d.lifted, b.best - 1) END) AS logit
        FROM (SELECT o.*, row_number() OVER (ORDER BY o.lifted DESC, o.id) AS place
              FROM (SELECT t.id, t.own, t.own + v_lift * v_applies
                           + 5 * (1 + v_applies) * coalesce(t.similarity - v_typical, 0) AS lifted FROM told t
                    WHERE recall.is_directive(t.speech_act) AND w.form = 'logistic' AND NOT p_window) o) d
        CROSS JOIN (SELECT max(t.own) AS best FROM told t
                    WHERE t.question = 0 AND NOT recall.is_directive(t.speech_act)) b
        WHERE d.place <= CASE WHEN v_applies < 1 THEN least(v_directives, 2) ELSE v_directives END AND v_applies > 0
    )
    SELECT j.id, j.layer, j.superseded_by, j.activation, j.use, j.floored, j.likeness = 1,
           coalesce(u.logit, j.own), j.own, j.speech_act, j.held,
           CASE WHEN p_explain THEN ROW(
               j.semantic_rank, j.lexical_rank, j.similarity, j.coverage, j.strength, j.phrase, j.likeness, j.alone,
               j.authored, j.cue, j.cued_by, j.seed, j.share, j.log_odds, j.period,
               j.session_coverage, j.token_similarity, v_typical, j.speech_act, j.question, j.speaker, v_trust,
               CASE WHEN j.own > j.linked THEN j.asked_by END, j.own - j.linked,
               coalesce(u.logit, j.own) - j.own, j.no_number)::recall.evidence END
    FROM told j LEFT JOIN lifted u ON u.id = j.id;
END $$;
