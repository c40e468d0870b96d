-- Gathering: what the arms find for one query, as arrays.

-- worth_judging: of the memories that meaning and words found, the p_limit most likely to answer as far as these arms know,
-- by similarity and the words held, weighed as in relevance_logit; and linked memories that are as likely as the last of
-- them, with .7 more for what they may be lent. To judge a memory is to read its row, its words and its accesses, which
-- costs far more than to find it. p_idf_sum is that of the query.
CREATE OR REPLACE FUNCTION recall_private.worth_judging(
    g recall.gathered, w recall.relevance_model, p_arms double precision[], p_idf_sum double precision, p_limit int
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_similarity double precision := w.similarity * p_arms[1] * (2 - g.trust);
    v_coverage double precision := w.coverage * p_arms[2] * recall_private.weight_of_words(g.trust);
    v_information double precision := w.information * p_arms[2] * recall_private.weight_of_words(g.trust);
BEGIN
    RETURN ARRAY(
        SELECT o.id
        FROM (SELECT r.id, count(*) FILTER (WHERE r.found) OVER (ORDER BY r.log_odds DESC, r.id) AS place
              FROM (SELECT f.id, f.found, coalesce(v_similarity * (f.similarity - g.typical), w.no_similarity)
                           + coalesce(v_coverage * least(f.strength / nullif(p_idf_sum, 0), 1), 0)
                           + v_information * ln(1 + f.strength) + CASE WHEN f.linked THEN 0.7::double precision ELSE 0 END AS log_odds
                    FROM (SELECT u.id, max(u.similarity) AS similarity, coalesce(max(u.strength), 0) AS strength,
                                 bool_or(u.found) AS found, bool_or(u.linked) AS linked
                          FROM (SELECT unnest(g.near) AS id, unnest(g.similarities) AS similarity,
                                       NULL::double precision AS strength, true AS found, false AS linked
                                UNION ALL SELECT unnest(g.held), NULL, unnest(g.strengths), true, false
                                UNION ALL SELECT unnest(g.far), unnest(g.far_similarities), NULL, false, false
                                UNION ALL SELECT unnest(g.linked), NULL, NULL, false, true) u
                          GROUP BY u.id) f) r) o
        WHERE o.place <= p_limit);
END $$;

-- gathered: the memories that each arm finds for one query, and what else is known of the query. q has its parts and
-- p_embedding is its vector; both are NULL without a query. With p_window, all memories in the window of time are found.
-- p_cued are the memories associated with cues and p_period the period that the query names. p_counts are
-- tenant_counts. `past` are the activations at a past moment that the filter names.
CREATE OR REPLACE FUNCTION recall_private.gathered(
    p_tenant text, q recall.analyzed_query, p_embedding halfvec, p_window boolean, p_pool int, p_settings jsonb,
    w recall.relevance_model, p_arms double precision[], p_cued bigint[], p_filter recall.search_filter,
    p_intent recall.query_intent, p_period recall.period, p_counts recall.lexeme, OUT g recall.gathered
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_arm record;  -- what an arm found
    v_queries tsquery[] := CASE WHEN p_arms[2] > 0 THEN q.queries END;
    v_seeds bigint[];  -- whose neighbours are found
    v_more bigint[] := '{}';
    v_far bigint[];
    v_ordinary boolean := NOT coalesce(p_intent.about_questions, false);
    v_center record;  -- the query less the tenant's mean
BEGIN
    g.near := '{}';
    g.held := '{}';
    g.named := CASE WHEN p_arms[3] > 0 THEN q.named_ids END;
    g.linked := '{}';
    g.typical := 0;
    g.trust := 1;
    IF p_embedding IS NOT NULL AND p_arms[1] > 0 THEN
        v_center := recall_private.centered_query(
            p_counts, p_embedding, CASE WHEN w.form = 'logistic' THEN p_settings ->> 'embedding.model' END);
        g.typical := v_center.typical;
        v_arm := recall_private.semantic_arm(p_tenant, v_center.direction, p_pool, p_filter);
        g.near := v_arm.ids;
        g.similarities := recall_private.centered_similarities(v_center.scale, v_center.shift, v_arm.similarities);
    END IF;
    IF v_queries IS NOT NULL THEN
        v_arm := recall_private.lexical_arm(
            p_tenant, v_queries, q.documents, q.idfs, q.body_length, p_pool, p_filter);
        g.held := v_arm.ids;
        g.strengths := v_arm.strengths;
    END IF;
    v_seeds := g.near[1:5] || g.held[1:5];
    IF w.form = 'logistic' AND NOT p_window THEN
        IF g.near <> '{}' AND v_queries IS NOT NULL THEN
            g.trust := recall_private.word_trust(cardinality(v_queries), coalesce(least(g.strengths[1] / nullif(q.idf_sum, 0), 1), 0));
        END IF;
        IF v_ordinary THEN
            v_arm := recall_private.answers_to(p_tenant, v_seeds);
            g.questions := v_arm.questions;
            g.answers := v_arm.answers;
            v_more := v_arm.answers;
        END IF;
        IF g.near <> '{}' AND p_intent.in_past AND g.trust < 1 AND p_period.words IS NOT NULL THEN
            v_more := v_more || recall_private.period_arm(p_tenant, v_center.direction, p_period, p_filter);
        END IF;
        IF g.near <> '{}' AND (p_settings ->> 'search.directives')::double precision > 0 AND p_intent.seeks IS DISTINCT FROM 'recall' THEN
            v_more := v_more || recall_private.directive_arm(p_tenant, v_center.direction, p_filter);
        END IF;
    END IF;
    IF w.graph * p_arms[6] > 0 AND (g.near <> '{}' OR g.held <> '{}' OR g.named IS NOT NULL) THEN
        IF g.named IS NOT NULL THEN
            v_seeds := v_seeds || ARRAY(
                SELECT n.id FROM unnest(g.named, q.likeness) n(id, likeness) WHERE n.likeness = 1);
        END IF;
        v_arm := recall_private.graph_arm(
            p_tenant, v_seeds, 32, (p_settings ->> 'search.hop_share')::double precision,
            (p_settings ->> 'search.next_share')::double precision,
            (p_settings ->> 'search.previous_share')::double precision);
        g.linked := v_arm.ids;
        g.seeds := v_arm.seeds;
        g.shares := v_arm.shares;
    END IF;
    IF p_window THEN
        v_more := ARRAY(
            SELECT a.id FROM recall_private.window_arm(
                p_tenant, p_filter) a);
    ELSIF p_filter.superseded_as_of THEN
        v_more := v_more || ARRAY(
            SELECT s.successor FROM recall_private.successors_of(p_tenant, g.near || g.held || g.named) s);
    END IF;
    v_far := ARRAY(
        SELECT u.id FROM (SELECT unnest(g.held || g.named || g.linked || v_more || p_cued) AS id) u
        WHERE u.id <> ALL (g.near));
    g.ids := g.near || v_far;
    IF p_filter.as_of IS NOT NULL THEN
        g.past := ARRAY(SELECT a FROM recall_private.activations_as_of(p_tenant, g.ids, p_filter.as_of) a);
    END IF;
    IF v_far <> '{}' AND p_embedding IS NOT NULL AND p_arms[1] > 0 THEN
        v_arm := recall_private.similarities_to_vector(p_tenant, v_far, v_center.direction);
        g.far := v_arm.ids;
        g.far_similarities := recall_private.centered_similarities(v_center.scale, v_center.shift, v_arm.similarities);
    END IF;
    -- What answers, applies or is named is judged in any case, and so is everything if more counts than similarity and words.
    IF p_pool < 50 AND cardinality(g.ids) > p_pool * 5 / 4 AND w.form = 'logistic' AND NOT p_window
       AND p_filter.as_of IS NULL AND p_period IS NULL AND v_ordinary AND p_intent.speaker IS NULL THEN
        g.ids := recall_private.worth_judging(g, w, p_arms, q.idf_sum, p_pool * 5 / 4)
                 || v_seeds || g.named || v_more || p_cued;
    END IF;
END $$;
