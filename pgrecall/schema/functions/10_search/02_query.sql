-- The parts of a search besides its filters: queries, vectors and the model of relevance, their checks, and the
-- confidence that follows from the model.

-- combined_queries: the query and its sub-queries as one list, empty if there are none. Raises an error for more than 16,
-- for an empty list of sub-queries, and for a query that is empty or too long.
CREATE OR REPLACE FUNCTION recall_private.combined_queries(p_query text, p_queries text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_query text;
BEGIN
    IF cardinality(p_queries) = 0 THEN
        PERFORM recall_private.raise_invalid('The list of queries is empty.', 'Leave it out, or give at least one.');
    ELSIF cardinality(p_queries) > 16 THEN
        PERFORM recall_private.raise_invalid(format('There are %s queries; the limit is 16.', cardinality(p_queries)),
            'Give only those that matter.');
    END IF;
    FOREACH v_query IN ARRAY coalesce(recall_private.require_one_dimension(p_queries), '{}') LOOP
        PERFORM recall_private.check_query(v_query);
    END LOOP;
    IF coalesce(btrim(p_query, E' \t\r\n'), '') = '' THEN
        RETURN coalesce(p_queries, '{}');
    END IF;
    RETURN recall_private.check_query(p_query) || coalesce(p_queries, '{}');
END $$;

-- check_query_vectors: returns the vectors. Raises an error if the number of vectors p_given differs from the number of
-- sub-queries (NULL means that none were given), and for a vector that does not have the p_dimensions of this database.
CREATE OR REPLACE FUNCTION recall_private.check_query_vectors(
    p_dimensions int, p_vectors halfvec[], p_given int, p_queries int
) RETURNS halfvec[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_vector halfvec;
BEGIN
    IF p_given <> coalesce(p_queries, 0) THEN
        PERFORM recall_private.raise_invalid(format('There are %s vectors for %s sub-queries.', p_given, coalesce(p_queries, 0)),
            'Give one vector for each sub-query, or NULL for a sub-query without one.');
    END IF;
    FOREACH v_vector IN ARRAY p_vectors LOOP
        IF l2_norm(v_vector) = 0 THEN
            PERFORM recall_private.raise_invalid('The query vector is zero, so it cannot be compared.', 'Embed the query again.');
        ELSIF vector_dims(v_vector) <> p_dimensions THEN
            PERFORM recall_private.raise_invalid(
                format('The query vector has %s dimensions, this database %s.',
                       vector_dims(v_vector), p_dimensions),
                'Embed the query with the model of this database.');
        END IF;
    END LOOP;
    RETURN p_vectors;
END $$;

-- check_search_numbers: returns the weight of vitality. Raises an error for the first number of a search that is out of bounds.
CREATE OR REPLACE FUNCTION recall_private.check_search_numbers(
    p_k int, p_pool int, p_min_relevance double precision, p_vitality_mode text, p_vitality_weight double precision
) RETURNS double precision
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT coalesce(p_k BETWEEN 1 AND 1000, false) THEN
        PERFORM recall_private.raise_invalid(format('k is %s; it must lie between 1 and 1,000.', coalesce(p_k::text, 'NULL')));
    ELSIF NOT coalesce(p_pool BETWEEN 0 AND 1000, false) THEN
        PERFORM recall_private.raise_invalid(
            format('The pool is %s; it must lie between 0 and 1,000.', coalesce(p_pool::text, 'NULL')));
    ELSIF NOT coalesce(p_min_relevance BETWEEN 0 AND 1, false) THEN
        PERFORM recall_private.raise_invalid(format('min_relevance is %s; it must lie between 0 and 1.', p_min_relevance));
    ELSIF NOT coalesce(p_vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off'), false) THEN
        PERFORM recall_private.raise_invalid(format('The vitality mode %L is unknown.', p_vitality_mode),
            'Use odds, unbounded, multiply, bounded or off.');
    ELSIF NOT coalesce(p_vitality_weight BETWEEN 0 AND 10, false)
          OR (p_vitality_mode = 'bounded' AND p_vitality_weight > 1) THEN
        PERFORM recall_private.raise_invalid(format(
            'The vitality weight %s is not between 0 and 10 (1 in the mode bounded).', p_vitality_weight));
    END IF;
    RETURN p_vitality_weight;
END $$;

-- arm_weights: the weights of the arms in a search: semantic, lexical, name, author, cue, graph and period. An arm that
-- p_weights does not name has the weight 1. NULL for NULL. Raises an error for an unknown name and for a number outside 0
-- to 10.
CREATE OR REPLACE FUNCTION recall_private.arm_weights(p_weights jsonb) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    v_arms constant text[] := ARRAY['semantic', 'lexical', 'name', 'author', 'cue', 'graph', 'period'];
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_weights) <> 'object' THEN
        PERFORM recall_private.raise_invalid('The weights are not a JSON object of arms and numbers.', 'Give {"lexical": 0.5}.');
    END IF;
    SELECT w.key INTO v_wrong FROM jsonb_each(p_weights) w WHERE w.key <> ALL (v_arms) LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('There is no arm %L.', left(v_wrong, 100)),
            format('Choose one of: %s.', array_to_string(v_arms, ', ')));
    END IF;
    SELECT w.key INTO v_wrong FROM jsonb_each(p_weights) w
    WHERE NOT CASE WHEN jsonb_typeof(w.value) = 'number' THEN w.value::numeric BETWEEN 0 AND 10 ELSE false END LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('The weight of %s is %s; it must be a number between 0 and 10.',
            v_wrong, left((p_weights -> v_wrong)::text, 100)));
    END IF;
    RETURN ARRAY(
        SELECT coalesce((p_weights ->> a.arm)::double precision, 1)
        FROM unnest(v_arms) WITH ORDINALITY a(arm, place) ORDER BY a.place);
END $$;

-- relevance_model_of: the coefficients for this tenant, this embedder and the first existing one of these profiles. The
-- tenant's own take precedence over those shipped for the embedder, and these over those for any embedder. NULL if there
-- are none.
CREATE OR REPLACE FUNCTION recall_private.relevance_model_of(p_tenant text, p_embedder text, p_profiles text[])
RETURNS recall.relevance_model
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT r FROM recall.relevance_model r
        WHERE r.tenant IN (p_tenant, '*') AND r.embedder IN (coalesce(p_embedder, '*'), '*') AND r.profile = ANY (p_profiles)
        ORDER BY array_position(p_profiles, r.profile), r.tenant = '*', r.embedder = '*' LIMIT 1);
END $$;

-- relevance_model_for_search: the coefficients of a search: those of the profile that it names, else of the profile of
-- the only layer that it asks for, else of `balanced`. Raises an error for an unknown profile.
CREATE OR REPLACE FUNCTION recall_private.relevance_model_for_search(p_tenant text, p_embedder text, p_profile text, p_layers text[])
RETURNS recall.relevance_model
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_of_layer text;
    v_model recall.relevance_model;
BEGIN
    IF p_profile IS NOT NULL THEN
        v_model := recall_private.relevance_model_of(p_tenant, p_embedder, ARRAY[p_profile]);
        IF v_model.profile IS NULL THEN
            PERFORM recall_private.raise_invalid(format('The profile %L is unknown.', left(p_profile, 100)), format('Choose one of: %s.', (
                SELECT string_agg(DISTINCT r.profile, ', ') FROM recall.relevance_model r
                WHERE r.tenant IN (p_tenant, '*'))));
        END IF;
        RETURN v_model;
    ELSIF cardinality(p_layers) = 1 THEN
        v_of_layer := (
            SELECT l.profile FROM recall.layer l WHERE l.tenant IN (p_tenant, '*') AND l.name = p_layers[1]
            ORDER BY l.tenant = '*' LIMIT 1);
    END IF;
    RETURN recall_private.relevance_model_of(p_tenant, p_embedder, ARRAY[v_of_layer, 'balanced']);
END $$;

-- symbols: a pattern of one emoji or other symbol, which has a meaning without being a word.
CREATE OR REPLACE FUNCTION recall_private.symbols() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[$+<=>^`|~\u00A2-\u00A9\u00AC\u00AE-\u00B1\u00D7\u00F7\u2070-\u2DFF\U00010000-\U0010FFFF]';

-- analyzed_query: the parts of a query: its words, rarest first, with their weights and the number of memories that
-- contain each; with p_named also the names in it. A query of stop words or symbols has neither: with p_by_meaning it is
-- searched by its vector alone, otherwise it is an error. A query of punctuation is always an error. p_counts are
-- its tenant_counts.
CREATE OR REPLACE FUNCTION recall_private.analyzed_query(
    p_tenant text, p_query text, p_named boolean, p_by_meaning boolean, p_counts recall.lexeme
) RETURNS recall.analyzed_query
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_language regconfig := recall_private.text_configuration(p_tenant);
    v_wordless boolean;
    v_named boolean;
    v_authors boolean;
    v_phrases text[];
    q recall.analyzed_query := recall_private.query_words(p_tenant, v_language, p_query, p_counts);
BEGIN
    IF NOT p_named AND q.words IS NOT NULL THEN
        RETURN q;
    END IF;
    v_named := recall_private.may_name(p_tenant, p_query);
    v_authors := recall_private.has_authors(p_tenant);
    IF v_named OR v_authors THEN
        v_phrases := recall_private.query_phrases(p_query);
    END IF;
    IF v_authors THEN
        q.authors := nullif(recall_private.plain_texts(
            recall_private.authors_in_query(p_tenant, v_language, v_phrases)), '{}');
    END IF;
    IF v_named THEN
        SELECT array_agg(n.memory_id), array_agg(n.similarity), array_agg(n.whole), array_agg(n.rank)
        INTO q.named_ids, q.likeness, q.whole, q.name_ranks
        FROM (
            SELECT x.*, dense_rank() OVER (ORDER BY x.similarity DESC) AS rank
            FROM (
                SELECT i.memory_id, i.similarity, i.whole
                FROM recall_private.names_in_query(p_tenant, v_language, p_query, ARRAY(
                    SELECT k.word FROM unnest(q.words, q.steps) k(word, step) WHERE k.step <> 'word'), v_phrases) i
                UNION ALL SELECT m.id, 1, true
                FROM recall.memory m WHERE m.tenant = p_tenant AND m.key = btrim(p_query)) x) n;
    END IF;

    IF q.words IS NULL AND q.named_ids IS NULL THEN
        v_wordless := to_tsvector(recall_private.configuration('simple'), recall_private.spaced(recall_private.folded(p_query))) = '';
        IF p_by_meaning AND (NOT v_wordless OR p_query ~ recall_private.symbols()) THEN
            RETURN q;
        ELSIF v_wordless THEN
            PERFORM recall_private.raise_invalid(
                format('The query %L holds no letter or digit.', left(p_query, 100)),
                'Add a word that says what you look for.' || CASE WHEN p_query ~ recall_private.symbols() THEN
                    ' Symbols alone are searched by meaning, which needs an embedding.' ELSE '' END);
        END IF;
        PERFORM recall_private.raise_invalid(
            format('The query %L holds only stop words.', left(p_query, 100)),
            'Add a word that says what you look for. Stop words alone are searched by meaning, which needs an embedding.');
    END IF;
    RETURN q;
END $$;

-- logistic: the probability with these log-odds, without underflow or overflow.
CREATE OR REPLACE FUNCTION recall_private.logistic(p_log_odds double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + exp(-least(greatest(p_log_odds, -500), 500)));

-- logit: the log-odds of a probability, finite also at 0 and 1.
CREATE OR REPLACE FUNCTION recall_private.logit(p_probability double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(least(greatest(p_probability, 1e-12), 1 - 1e-12) / (1 - least(greatest(p_probability, 1e-12), 1 - 1e-12)));

-- either: the log-odds of two independent chances of which one suffices, added as odds.
CREATE OR REPLACE FUNCTION recall_private.either(p_one double precision, p_other double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN greatest(p_one, p_other) + ln(1 + exp(-least(abs(p_one - p_other), 500)));

-- search_confidence: the probability that a search found an answer: a logistic model of the log-odds of its most relevant
-- candidate and the number of the tenant's memories. A large tenant has something near every query, so the same
-- relevance means less there. The number counts up to 1,000 memories, because larger numbers were not measured. 0
-- without a candidate.
CREATE OR REPLACE FUNCTION recall_private.search_confidence(
    p_logit double precision, p_memories bigint, p_settings jsonb
) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN p_logit IS NULL THEN 0 ELSE recall_private.logistic(
        (p_settings ->> 'confidence.intercept')::double precision
        + (p_settings ->> 'confidence.relevance')::double precision * p_logit
        + (p_settings ->> 'confidence.size')::double precision * ln(1 + least(p_memories, 1000))) END;
END $$;
