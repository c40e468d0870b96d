-- What is asked: the checks on a search, its model and weights, and everything a question is made of.

-- relevance_model_of: the coefficients for this tenant, embedder and profile; the tenant's own first, then
-- those shipped for the embedder, then those for any embedder; NULL for a profile that is not there.
CREATE OR REPLACE FUNCTION recall.relevance_model_of(p_tenant text, p_embedder text, p_profile text)
RETURNS recall.relevance_model
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r FROM recall.relevance_model r
    WHERE r.tenant IN (p_tenant, '*') AND r.embedder IN (coalesce(p_embedder, '*'), '*')
      AND r.profile = p_profile
    ORDER BY r.tenant = '*', r.embedder = '*' LIMIT 1
$$;

-- search_model: the coefficients a search runs with: those of the profile it names, else of the profile of the only
-- layer it asks for, else balanced; an error for a profile that is not there.
CREATE OR REPLACE FUNCTION recall.search_model(p_tenant text, p_profile text, p_layers text[])
RETURNS recall.relevance_model
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_embedder text := recall.setting_of('*', 'embedding.model') #>> '{}';
    v_model recall.relevance_model;
BEGIN
    IF p_profile IS NOT NULL THEN
        v_model := recall.relevance_model_of(p_tenant, v_embedder, p_profile);
        IF v_model.profile IS NULL THEN
            PERFORM recall.reject(format('The profile %L is unknown.', left(p_profile, 100)), format('There are: %s.', (
                SELECT string_agg(DISTINCT r.profile, ', ') FROM recall.relevance_model r
                WHERE r.tenant IN (p_tenant, '*'))));
        END IF;
        RETURN v_model;
    END IF;
    IF cardinality(p_layers) = 1 THEN
        v_model := recall.relevance_model_of(p_tenant, v_embedder, (
            SELECT l.profile FROM recall.layer l WHERE l.tenant IN (p_tenant, '*') AND l.name = p_layers[1]
            ORDER BY l.tenant = '*' LIMIT 1));
    END IF;
    IF v_model.profile IS NULL THEN
        v_model := recall.relevance_model_of(p_tenant, v_embedder, 'balanced');
    END IF;
    RETURN v_model;
END $$;

-- arm_weights: how much each arm counts in this search: semantic, lexical, name, author, cue and graph, 1 where
-- p_weights names none; NULL for NULL; an error for another name or a number outside 0 to 10.
CREATE OR REPLACE FUNCTION recall.arm_weights(p_weights jsonb) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_arms constant text[] := ARRAY['semantic', 'lexical', 'name', 'author', 'cue', 'graph'];
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_weights) <> 'object' THEN
        PERFORM recall.reject('The weights are no object of arms and numbers.', 'Give {"lexical": 0.5}.');
    END IF;
    SELECT w.key INTO v_wrong FROM jsonb_each(p_weights) w WHERE w.key <> ALL (v_arms) LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('There is no arm %L to weigh.', left(v_wrong, 100)),
            format('There are: %s.', array_to_string(v_arms, ', ')));
    END IF;
    SELECT w.key INTO v_wrong FROM jsonb_each(p_weights) w
    WHERE NOT CASE WHEN jsonb_typeof(w.value) = 'number' THEN w.value::numeric BETWEEN 0 AND 10 ELSE false END LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('The weight of %s is %s; it must be a number between 0 and 10.',
            v_wrong, left((p_weights -> v_wrong)::text, 100)));
    END IF;
    RETURN ARRAY(
        SELECT coalesce((p_weights ->> a.arm)::double precision, 1)
        FROM unnest(v_arms) WITH ORDINALITY a(arm, place) ORDER BY a.place);
END $$;

-- asked: the question and its sub-queries as one list; empty where nothing is asked in words. An error for more than
-- 16, for an empty list, and for one that is empty or too long.
CREATE OR REPLACE FUNCTION recall.asked(p_query text, p_queries text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_query text;
BEGIN
    IF cardinality(p_queries) = 0 THEN
        PERFORM recall.reject('The list of queries is empty.', 'Leave it out, or give at least one.');
    ELSIF cardinality(p_queries) > 16 THEN
        PERFORM recall.reject(format('There are %s queries; at most 16 can be asked at once.', cardinality(p_queries)),
            'Ask with the parts that matter.');
    END IF;
    FOREACH v_query IN ARRAY coalesce(p_queries, '{}') LOOP
        PERFORM recall.check_query(v_query);
    END LOOP;
    IF coalesce(btrim(p_query, E' \t\r\n'), '') = '' THEN
        RETURN coalesce(p_queries, '{}');
    END IF;
    PERFORM recall.check_query(p_query);
    RETURN p_query || coalesce(recall.flat(p_queries), '{}');
END $$;

-- check_vectors: raises where p_given vectors were given for another number of sub-queries (NULL: none were given),
-- and for one that is not of this database.
CREATE OR REPLACE FUNCTION recall.check_vectors(
    p_tenant text, p_vectors halfvec[], p_given int, p_queries int
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_dimensions int := recall.setting_of(p_tenant, 'embedding.dimensions')::int;
    v_vector halfvec;
BEGIN
    IF p_given <> coalesce(p_queries, 0) THEN
        PERFORM recall.reject(format('There are %s vectors for %s sub-queries.', p_given, coalesce(p_queries, 0)),
            'Give one vector for each query, or NULL for one without.');
    END IF;
    FOREACH v_vector IN ARRAY p_vectors LOOP
        IF l2_norm(v_vector) = 0 THEN
            PERFORM recall.reject('The query vector is zero, which has no direction.', 'Embed the question again.');
        ELSIF vector_dims(v_vector) <> v_dimensions THEN
            PERFORM recall.reject(
                format('The query vector has %s dimensions, this database keeps %s.',
                       vector_dims(v_vector), v_dimensions),
                'Embed the question with the model the database was made for.');
        END IF;
    END LOOP;
END $$;

-- check_filters: raises for the first filter of a search that cannot be used.
CREATE OR REPLACE FUNCTION recall.check_filters(
    p_tenant text, p_layers text[], p_roles text[], p_since timestamptz, p_until timestamptz, p_as_of timestamptz,
    p_now timestamptz
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_unknown text;
BEGIN
    IF p_since >= p_until THEN
        PERFORM recall.reject(format('The time window is empty: since %s is not before until %s.', p_since, p_until));
    ELSIF p_as_of > p_now THEN
        PERFORM recall.reject(format('as_of is %s, which is still to come.', p_as_of), 'Give a past moment.');
    ELSIF p_as_of < p_since THEN
        PERFORM recall.reject(format('At as_of %s nothing since %s had happened.', p_as_of, p_since));
    END IF;
    IF p_layers IS NULL AND p_roles IS NULL THEN
        RETURN;
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_layers) u
    WHERE u IS NULL OR u NOT IN (SELECT l.name FROM recall.layers_of(p_tenant) l) LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('The layer %L is unknown.', v_unknown), format('There are: %s.',
            (SELECT string_agg(l.name, ', ') FROM recall.layers_of(p_tenant) l)));
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_roles) u
    WHERE u IS NULL OR u NOT IN ('user', 'assistant', 'system', 'tool') LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('The role %L is unknown.', v_unknown), 'Use user, assistant, system or tool.');
    END IF;
END $$;

-- check_numbers: raises for the first number of a search that is out of bounds.
CREATE OR REPLACE FUNCTION recall.check_numbers(
    p_k int, p_pool int, p_min_relevance double precision, p_vitality_mode text, p_vitality_weight double precision
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT coalesce(p_k BETWEEN 1 AND 1000, false) THEN
        PERFORM recall.reject(format('k is %s; it must lie between 1 and 1,000.', coalesce(p_k::text, 'NULL')));
    ELSIF NOT coalesce(p_pool BETWEEN 0 AND 1000, false) THEN
        PERFORM recall.reject(
            format('The pool is %s; it must lie between 0 and 1,000.', coalesce(p_pool::text, 'NULL')));
    ELSIF NOT coalesce(p_min_relevance BETWEEN 0 AND 1, false) THEN
        PERFORM recall.reject(format('min_relevance is %s; it must lie between 0 and 1.', p_min_relevance));
    ELSIF NOT coalesce(p_vitality_mode IN ('odds', 'multiply', 'bounded', 'off'), false) THEN
        PERFORM recall.reject(format('The vitality mode %L is unknown.', p_vitality_mode),
            'Use odds, multiply, bounded or off.');
    ELSIF NOT coalesce(p_vitality_weight BETWEEN 0 AND 10, false)
          OR (p_vitality_mode = 'bounded' AND p_vitality_weight > 1) THEN
        PERFORM recall.reject(format(
            'The vitality weight %s is not between 0 and 10 (1 in the mode bounded).', p_vitality_weight));
    END IF;
END $$;

-- questions: what each question is made of, in their order: its words, rarest first, with how many memories hold
-- them and what they weigh; the gates of the lexical arm; whom it names. An error for one that says nothing.
CREATE OR REPLACE FUNCTION recall.questions(p_tenant text, p_queries text[], p_embeddings halfvec[])
RETURNS TABLE (
    place int, query text, embedding halfvec, words text[], steps text[], documents bigint[], total bigint,
    queries tsquery[], idfs double precision[], idf_sum double precision, gate tsquery, every_word tsquery,
    phrase tsquery, named_ids bigint[], likeness double precision[], whole boolean[], authors text[]
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path FROM CURRENT AS $$
BEGIN
    FOR v_place IN 1 .. cardinality(p_queries) LOOP
        place := v_place;
        query := p_queries[place];
        embedding := p_embeddings[place];
        SELECT array_agg(w.word), array_agg(w.step), array_agg(w.documents), max(w.total), array_agg(w.query),
               array_agg(w.share * recall.idf(w.documents, w.total)), sum(recall.idf(w.documents, w.total)),
               string_agg('(' || w.query::text || ')', ' & ')::tsquery
        INTO words, steps, documents, total, queries, idfs, idf_sum, every_word
        FROM recall.words_of(p_tenant, query) w;
        gate := recall.tenant_query(p_tenant) && recall.gate_of(queries, documents, 2000);
        every_word := recall.tenant_query(p_tenant) && every_word;
        phrase := CASE WHEN cardinality(words) > 1 THEN recall.phrase_of(p_tenant, query) END;

        SELECT array_agg(n.memory_id) FILTER (WHERE n.memory_id IS NOT NULL),
               array_agg(n.similarity) FILTER (WHERE n.memory_id IS NOT NULL),
               array_agg(n.whole) FILTER (WHERE n.memory_id IS NOT NULL),
               array_agg(recall.plain(n.phrase)) FILTER (WHERE n.memory_id IS NULL)
        INTO named_ids, likeness, whole, authors
        FROM recall.names_in(p_tenant, query, ARRAY(
            SELECT k.word FROM unnest(words, steps) k(word, step) WHERE k.step <> 'word')) n;

        IF words IS NULL AND named_ids IS NULL AND NOT EXISTS (
            SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.key = btrim(query)) THEN
            PERFORM recall.reject(
                format('The query %L holds only stop words or punctuation.', left(query, 100)),
                'Add a word that says what you look for.');
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- logistic: the probability of log-odds; never under- or overflows.
CREATE OR REPLACE FUNCTION recall.logistic(p_log_odds double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + exp(-least(greatest(p_log_odds, -500), 500)));

-- logit: the log-odds of a probability, kept finite at 0 and 1.
CREATE OR REPLACE FUNCTION recall.logit(p_probability double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(least(greatest(p_probability, 1e-12), 1 - 1e-12) / (1 - least(greatest(p_probability, 1e-12), 1 - 1e-12)));
