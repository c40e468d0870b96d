-- Candidates: the memories gathered for one query, and how likely each is to answer it.

-- place_in: the place of an id among ascending ids; NULL if it is not there. Inlined.
CREATE OR REPLACE FUNCTION recall_private.place_in(p_ids bigint[], p_id bigint) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_ids[width_bucket(p_id, p_ids)] = p_id THEN width_bucket(p_id, p_ids) END;

-- candidates: the memories gathered for one query, and how likely each is to answer it.
-- q has the parts of the query, NULL without one; p_period is the period that it names. p_tokens are its token signs: the
-- most relevant candidates (v_compared) are compared by their tokens, an answered question without what it loses, and
-- every other candidate gets the lowest of these similarities. p_author_weight is the weight of an author named in the query. p_cued are the memories associated with
-- cues, with p_strengths and p_cues, the cue of each. p_recent are the cues themselves.
-- The result: `logit` is the log-odds that the memory answers, including the relevance that linked memories lend it. A
-- cosine counts by the amount that it exceeds the typical one (see centered_query). A question loses `question`, and
-- gains as much for a query that asks about questions, or half of it if it also says something else; it lends relevance to
-- its answer. A remark of the assistant, which nobody asked for, counts as said by the wrong speaker: -1 for up to 100 bytes, then less, and nothing from 500,
-- because long answers have something to say. Some directives (`search.directives`) are lifted in proportion to their
-- similarity and by `search.directive_lift`, for a query of an unknown kind two of them, by half of it and to at most 1
-- below the best other memory (three, and to .1 below it, if that one hardly answers: v_unlikely), and none for a query
-- about what was said or happened. `evidence_logit` is by what a memory counts for the confidence: with half of the
-- lift, without what it gains as a question that was asked for, and with a part of what it gains for the speaker that
-- was asked for (v_asked_speaker), since wrong memories gain that as well; NULL for a question or an acknowledgement,
-- which is no evidence of an answer. `held` are the words that the memory contains (see words_held), `floored` is
-- whether the protection floor applies, and `named` whether the query names the memory exactly. `activation` is S as in
-- vitality. In `use`, every access counts as at least an hour old, and accesses of p_recent as at least a day, because
-- being used in this session is no news. `evidence` is only computed with p_explain.
CREATE OR REPLACE FUNCTION recall_private.candidates(
    p_tenant text, q recall.analyzed_query, g recall.gathered, p_window boolean, p_settings jsonb,
    p_weights recall.weights, w recall.relevance_model, p_arms double precision[],
    p_author_weight double precision, p_cued bigint[], p_strengths double precision[], p_cues bigint[],
    p_recent bigint[], p_filter recall.search_filter, p_explain boolean, p_period recall.period,
    p_tokens bit varying[], p_intent recall.query_intent
) RETURNS TABLE (
    id bigint, layer text, superseded_by bigint, activation double precision, use double precision,
    floored boolean, named boolean, logit double precision, evidence_logit double precision, speech_act text,
    held int,
    evidence recall.evidence
)
LANGUAGE plpgsql STABLE ROWS 100
-- The planner expects ten elements in an array and would join a hundred with a hundred in loops.
SET enable_nestloop = off AS $$
DECLARE
    v_seconds double precision := date_part('epoch', p_filter.moment);
    v_revived double precision := date_part('epoch', p_filter.moment) - 86400 * p_weights.revival_days;
    v_embedder text := p_settings ->> 'embedding.model';
    v_graph double precision := w.graph * p_arms[6];
    -- Variables, because reading a field of a row would copy it for each candidate.
    v_queries tsquery[] := CASE WHEN p_arms[2] > 0 THEN q.queries END;
    v_idfs double precision[] := q.idfs;
    v_idf_sum double precision := q.idf_sum;
    v_mean double precision := q.body_length;
    v_authors text[] := q.authors;
    v_ids bigint[] := g.ids;
    v_near int := cardinality(g.near);
    v_named bigint[];
    v_likeness double precision[];
    v_alone boolean[];
    v_name_ranks bigint[];
    v_cued bigint[];
    v_strengths double precision[];
    v_cues bigint[];
    v_protected boolean[];
    v_activations double precision[];
    v_uses double precision[];
    v_answers bigint[] := coalesce(g.answers, '{}');
    v_questions bigint[] := coalesce(g.questions, '{}');
    v_typical double precision := g.typical;
    v_trust double precision := g.trust;
    v_compared constant int := 24;  -- number of candidates compared by their tokens
    v_speaker text := p_intent.speaker;
    -- A question about the past whose words are not trusted asks what was in its period.
    v_of_period double precision := CASE WHEN p_intent.in_past THEN 3 - 2 * g.trust ELSE 1 END;
    v_asks_number boolean := coalesce(p_intent.asks_number, false);
    v_ordinary boolean := NOT coalesce(p_intent.about_questions, false);
    v_directives int := (p_settings ->> 'search.directives')::double precision::int;
    v_lift double precision := (p_settings ->> 'search.directive_lift')::double precision;
    -- How far directives apply to such a query.
    v_applies double precision := CASE p_intent.seeks WHEN 'request' THEN 1 WHEN 'recall' THEN 0 ELSE 0.5::double precision END;
    v_unlikely constant double precision := -2.5::double precision;  -- log-odds of .076
    v_asked_speaker constant double precision := 0.6::double precision;
    v_answer_share double precision := (p_settings ->> 'search.answer_share')::double precision;
BEGIN
    -- What few searches have is sorted here and looked up: to join it would cost every search more.
    IF g.named IS NOT NULL THEN
        SELECT array_agg(n.id), array_agg(n.likeness), array_agg(n.alone), array_agg(n.rank)
        INTO v_named, v_likeness, v_alone, v_name_ranks
        FROM (SELECT u.id, max(u.likeness) AS likeness, bool_or(u.alone) AS alone, min(u.rank) AS rank
              FROM unnest(g.named, q.likeness, q.whole, q.name_ranks) u(id, likeness, alone, rank)
              GROUP BY u.id ORDER BY u.id) n;
    END IF;
    IF p_cued <> '{}' THEN
        SELECT array_agg(c.id), array_agg(c.strength), array_agg(c.cue) INTO v_cued, v_strengths, v_cues
        FROM (SELECT * FROM unnest(p_cued, p_strengths, p_cues) u(id, strength, cue) ORDER BY u.id) c;
    END IF;
    IF p_filter.as_of IS NOT NULL THEN
        SELECT array_agg(r.memory_id), array_agg(r.protected),
               array_agg(recall_private.activation_sum(r, p_weights, v_seconds)),
               array_agg(recall_private.activation_sum(
                   r, p_weights, v_seconds, CASE WHEN r.memory_id = ANY (p_recent) THEN 86400 ELSE 3600 END))
        INTO v_ids, v_protected, v_activations, v_uses
        FROM (SELECT * FROM unnest(g.past) u ORDER BY u.memory_id) r;
    END IF;
    RETURN QUERY
    -- Only `featured` is wide: storing a wide row costs as much as computing it.
    -- A value that others are computed from is a column of a subquery: a lateral one costs more for each row.
    WITH featured AS MATERIALIZED (
        SELECT x.id, x.layer, x.superseded_by, x.session_id, x.speech_act, x.no_number, x.period, x.authored, x.question,
               x.speaker, x.activation, x.use, x.floored, x.similarity, x.semantic_rank, x.strength, x.lexical_rank,
               least(x.strength / nullif(v_idf_sum, 0), 1) AS coverage,
               CASE WHEN x.strength > 0 THEN recall_private.words_held(x.words, v_queries) ELSE 0 END AS held,
               x.likeness, x.alone, x.name_rank, x.cue, x.cued_by
        FROM (
            SELECT e.*, CASE WHEN v_queries IS NULL THEN 0 ELSE coalesce(
                       e.found_strength, recall_private.lexical_strength(e.words, e.weights, v_queries, v_idfs), 0) END AS strength
            FROM (
                SELECT m.id, m.layer, m.superseded_by, m.session_id, m.speech_act, m.no_number, m.period, m.question, m.words,
                       CASE WHEN m.author IS NULL THEN 0
                            ELSE (m.author = ANY (v_authors) OR split_part(m.author, ' ', 1) = ANY (v_authors))::int
                       END AS authored,
                       CASE WHEN m.role = v_speaker THEN 1 WHEN v_speaker IS NULL THEN m.remark ELSE 0 END AS speaker,
                       a.activation, coalesce(a.recent_use, a.activation) AS use, a.protected OR m.pinned AS floored,
                       CASE WHEN m.comparable THEN s.similarity END AS similarity,
                       CASE WHEN s.rank <= v_near THEN s.rank END AS semantic_rank,
                       h.strength AS found_strength, h.rank AS lexical_rank,
                       CASE WHEN h.strength IS NULL THEN recall_private.field_weights(
                           m.body_bytes, m.context_bytes, v_mean) END AS weights,
                       coalesce(v_likeness[m.named_place], 0) AS likeness, coalesce(v_alone[m.named_place], false) AS alone,
                       v_name_ranks[m.named_place] AS name_rank,
                       coalesce(v_strengths[m.cued_place], 0) AS cue, v_cues[m.cued_place] AS cued_by
                FROM (
                    SELECT k.id, k.layer, k.superseded_by, k.session_id, k.role, coalesce(k.speech_act, 'statement') AS speech_act,
                           recall_private.read_once(k.search_text) AS words,
                           recall_private.indexed_length(k.body, 10000) AS body_bytes,
                           recall_private.indexed_length(k.context, 10000) AS context_bytes,
                           CASE WHEN v_authors IS NULL THEN NULL
                                -- ASCII has no accents.
                                WHEN octet_length(k.author) = length(k.author) THEN lower(k.author)
                                ELSE recall_private.plain(lower(k.author)) END AS author,
                           -- A question is read for what it lends to its answer, and holds no number either.
                           CASE WHEN v_asks_number AND NOT recall_private.says_nothing(coalesce(k.speech_act, ''))
                                THEN (NOT (coalesce(recall_private.holds_number(k.title), false) OR recall_private.holds_number(k.body)))::int
                                ELSE 0 END AS no_number,
                           CASE WHEN v_ordinary THEN recall_private.says_nothing(coalesce(k.speech_act, ''))::int
                                WHEN k.speech_act = 'question' THEN -1
                                WHEN k.body LIKE '%?%' THEN -0.5::double precision ELSE 0 END AS question,
                           CASE WHEN p_period IS NULL THEN 0 ELSE v_of_period * recall_private.period_match(p_period, k.happened_at) END AS period,
                           k.pinned AND p_filter.as_of IS NULL AS pinned,
                           CASE WHEN k.role = 'assistant' THEN greatest(-1, least(0, octet_length(k.body) / 400::double precision - 1.25::double precision))
                                ELSE 0 END AS remark,
                           -- A vector of another model, which has not been replaced yet, is not comparable.
                           coalesce(k.embedded_with = v_embedder, true) AS comparable,
                           recall_private.place_in(v_named, k.id) AS named_place,
                           recall_private.place_in(v_cued, k.id) AS cued_place
                    FROM recall.memory k
                    WHERE k.tenant = p_tenant AND k.id = ANY (v_ids) AND recall_private.passes_filter(k, p_filter)
                      AND (p_filter.as_of IS NULL
                           OR (p_filter.archived_as_of OR NOT recall_private.was_archived(p_tenant, k.id, p_filter.as_of))
                              AND (p_filter.superseded_as_of OR NOT recall_private.was_superseded(p_tenant, k.id, p_filter.as_of)))
                    OFFSET 0) m
                JOIN (
                    SELECT r.memory_id AS id,
                           CASE WHEN v_uses IS NULL THEN r.protected
                                ELSE v_protected[width_bucket(r.memory_id, v_ids)] END AS protected,
                           CASE WHEN v_uses IS NULL THEN recall_private.searched_activation(
                                    r, p_weights, v_seconds, v_revived, 60::double precision)
                                ELSE v_activations[width_bucket(r.memory_id, v_ids)] END AS activation,
                           CASE WHEN v_uses IS NOT NULL THEN v_uses[width_bucket(r.memory_id, v_ids)]
                                WHEN r.t1 > v_seconds - CASE WHEN r.memory_id = ANY (p_recent) THEN 86400 ELSE 3600 END
                                THEN recall_private.called_activation_sum(r, p_weights, v_seconds,
                                         CASE WHEN r.memory_id = ANY (p_recent) THEN 86400 ELSE 3600 END) END AS recent_use
                    FROM recall.activation r WHERE r.tenant = p_tenant AND r.memory_id = ANY (v_ids)
                    OFFSET 0) a ON a.id = m.id
                LEFT JOIN unnest(g.near || g.far, g.similarities || g.far_similarities) WITH ORDINALITY s(id, similarity, rank)
                    ON s.id = m.id
                LEFT JOIN unnest(g.held, g.strengths) WITH ORDINALITY h(id, strength, rank) ON h.id = m.id
                OFFSET 0) e
            OFFSET 0) x
    ), in_session AS (
        SELECT f.session_id, bit_or(f.held) AS held FROM featured f WHERE f.session_id IS NOT NULL GROUP BY f.session_id
    ), rated AS MATERIALIZED (
        -- Every memory in a window answers a search for the window alone. A memory without a session counts as its own.
        SELECT f.id, f.question, f.similarity, recall_private.is_directive(f.speech_act) AS directive, f.session_coverage,
               w.speaker * least(f.speaker, 0) AS unasked,
               CASE WHEN p_window THEN recall_private.logit(1) ELSE recall_private.relevance_logit(
                   w, p_arms, p_author_weight, f.similarity - v_typical, f.coverage, f.strength, f.likeness,
                   f.alone, f.authored, f.cue, f.semantic_rank, f.lexical_rank, f.name_rank, f.period,
                   f.session_coverage, v_trust, f.question, f.speaker, f.no_number) END AS logit
        FROM (SELECT f.*, coalesce(recall_private.weight_of_held(coalesce(o.held, f.held), v_idfs) / v_idf_sum, 0) AS session_coverage
              FROM featured f LEFT JOIN in_session o ON o.session_id = f.session_id OFFSET 0) f
    ), compared AS MATERIALIZED (
        -- A question ranks low itself, but one that has an answer lends it what it is like.
        SELECT ARRAY(SELECT j.id FROM rated j
                     ORDER BY j.logit + CASE WHEN j.id = ANY (v_questions) THEN w.question * j.question ELSE 0 END DESC, j.id
                     LIMIT v_compared) AS ids
    ), alike AS MATERIALIZED (
        SELECT t.id, t.similarity
        FROM compared c
        CROSS JOIN LATERAL recall_private.token_similarities(
            p_tenant, c.ids, v_embedder, p_tokens, ARRAY(SELECT j.id FROM rated j WHERE j.question = 1), v_answers) t
        WHERE p_tokens <> '{}' AND p_arms[1] > 0
    ), weighed AS MATERIALIZED (
        SELECT f.*, f.logit + CASE WHEN p_window OR w.form <> 'logistic' THEN 0
                   ELSE coalesce(w.token_similarity * p_arms[1] * recall_private.weight_of_words(v_trust) * f.token_similarity,
                                 w.no_token_similarity) END AS log_odds
        FROM (
            SELECT j.*, CASE WHEN j.id = ANY ((SELECT c.ids FROM compared c)::bigint[]) THEN a.similarity
                             ELSE (SELECT min(m.similarity) FROM alike m) END AS token_similarity
            FROM rated j LEFT JOIN alike a ON a.id = j.id OFFSET 0) f
    ), lent AS (
        -- A remark is about what it follows, so it lends all that it has.
        SELECT DISTINCT ON (l.id) l.id, l.seed, l.share, v_graph * l.share * recall_private.logistic(s.log_odds - s.unasked) AS part
        FROM unnest(g.linked, g.seeds, g.shares) l(id, seed, share)
        -- What the same person says after a question is not its answer.
        JOIN weighed s ON s.id = l.seed AND (s.question <= 0 OR l.id = ANY (v_answers))
        ORDER BY l.id, l.share * recall_private.logistic(s.log_odds - s.unasked) DESC, l.seed
    ), asked AS (
        -- A question that is much like the query has an answer that is too, whatever its words.
        SELECT DISTINCT ON (a.answer) a.answer AS id, a.question, s.log_odds + w.question * s.question AS log_odds
        FROM unnest(g.questions, g.answers) a(question, answer) JOIN weighed s ON s.id = a.question
        ORDER BY a.answer, s.log_odds DESC, a.question
    ), told AS MATERIALIZED (
        SELECT j.*, CASE WHEN j.asked_log_odds IS NULL OR v_answer_share = 0 THEN j.linked
                         ELSE recall_private.either(j.linked, j.asked_log_odds + ln(v_answer_share)) END AS own
        FROM (
            -- Memories with little evidence of their own that are linked to an answer are right two to seven times as
            -- often as the evidence says, but never a hundred times, which a large share could suggest.
            SELECT j.*, CASE WHEN j.seed IS NULL THEN j.log_odds
                             ELSE least(recall_private.logit(j.probability), j.log_odds + ln(6)) END AS linked
            FROM (
                SELECT j.*, l.seed, l.share, a.question AS asked_by, a.log_odds AS asked_log_odds,
                       1 - (1 - recall_private.logistic(j.log_odds)) * (1 - least(l.part, 1)) AS probability
                FROM weighed j
                LEFT JOIN lent l ON l.id = j.id
                LEFT JOIN asked a ON a.id = j.id
                OFFSET 0) j
            OFFSET 0) j
    ), lifted AS MATERIALIZED (
        SELECT d.id, greatest(d.own, CASE WHEN p_intent.seeks = 'request' THEN d.lifted
                                          ELSE least(d.lifted, b.best - b.gap) END) AS logit
        FROM (SELECT o.*, row_number() OVER (ORDER BY o.lifted DESC, o.id) AS place
              FROM (SELECT t.id, t.own, t.own + v_lift * v_applies
                           + 5 * (1 + v_applies) * coalesce(t.similarity - v_typical, 0) AS lifted FROM told t
                    WHERE t.directive AND w.form = 'logistic' AND NOT p_window) o) d
        CROSS JOIN (
            SELECT o.best, CASE WHEN o.best < v_unlikely THEN 0.1::double precision ELSE 1 END AS gap,
                   CASE WHEN o.best < v_unlikely THEN 3 ELSE 2 END AS places
            FROM (SELECT max(t.own) AS best FROM told t WHERE t.question <= 0 AND NOT t.directive) o) b
        WHERE d.place <= CASE WHEN v_applies < 1 THEN least(v_directives, b.places) ELSE v_directives END AND v_applies > 0
    )
    SELECT f.id, f.layer, f.superseded_by, f.activation, f.use, f.floored, f.likeness = 1,
           coalesce(f.lifted, j.own),
           CASE WHEN f.question < 1 THEN (coalesce(f.lifted, j.own) + j.own) / 2 + w.question * f.question
                    - v_asked_speaker * w.speaker * greatest(f.speaker, 0) END,
           f.speech_act, f.held,
           CASE WHEN p_explain THEN ROW(
               f.semantic_rank, f.lexical_rank, f.similarity, f.coverage, f.strength,
               NULL,  -- phrase, for clients of schemas before 0043
               f.likeness, f.alone, f.authored, f.cue, f.cued_by, j.seed, j.share, j.log_odds, f.period,
               j.session_coverage, j.token_similarity, v_typical, f.speech_act, f.question, f.speaker, v_trust,
               CASE WHEN j.own > j.linked THEN j.asked_by END, j.own - j.linked,
               coalesce(f.lifted, j.own) - j.own, f.no_number)::recall.evidence END
    -- A subquery, because a join would store all candidates with all of their columns.
    FROM (SELECT c.*, (SELECT l.logit FROM lifted l WHERE l.id = c.id) AS lifted FROM featured c OFFSET 0) f
    JOIN told j ON j.id = f.id;
END $$;
