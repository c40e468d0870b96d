-- What a search is asked: the request with the tenant's settings, its cues, and what its queries say.

-- other_embedder: the embedder that made the vectors of a query, as the setting recall.embedder says, if it is another one
-- than p_known, that of the database; else NULL. The client sets it for a statement.
CREATE OR REPLACE FUNCTION recall_private.other_embedder(p_known text) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN p_known <> nullif(current_setting('recall.embedder', true), '')
    THEN current_setting('recall.embedder', true) END;

-- prepared_search: everything about a search (see find) that does not depend on what its queries say, checked. Its
-- parts, beside `request` and `filter`: the `moment` that it is for; the `settings`, `weights` and `layers` of the
-- tenant, its `counts` and number of `memories` (NULL without a query); the `queries` with their `embeddings` and
-- `tokens`, unless `other_embedder` made these, or `window_only`, a window of time without words; the `model` of
-- relevance, `arms` (the weights of the arms), the weight of an `author`, and the `mode` and `weight` of vitality, also
-- by a running experiment (`experiment_arm`); the size of the `pool`; and the `cues`, with the memories that they lead to
-- (`cued`, `strengths`, `cued_by`).
CREATE OR REPLACE FUNCTION recall_private.prepared_search(
    p_tenant text, p_request jsonb, p_embedding halfvec, p_embeddings halfvec[], p_now timestamptz, p_pool int,
    p_tokens jsonb, OUT request recall.search_request, OUT filter recall.search_filter, OUT moment timestamptz,
    OUT settings jsonb, OUT weights recall.weights, OUT layers recall.layer_in_force[], OUT counts recall.lexeme,
    OUT memories bigint, OUT queries text[], OUT embeddings halfvec[], OUT tokens jsonb, OUT window_only boolean,
    OUT other_embedder text,
    OUT model recall.relevance_model, OUT arms double precision[], OUT author double precision, OUT mode text,
    OUT weight double precision, OUT experiment_arm text, OUT pool int, OUT cues bigint[], OUT cued bigint[],
    OUT strengths double precision[], OUT cued_by bigint[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_read record := recall_private.read_search_request(p_request);
    v_hints bigint[];  -- memories that the conversation names
BEGIN
    request := v_read.request;
    filter := v_read.filter;
    settings := recall_private.effective_settings(p_tenant);
    weights := recall_private.vitality_weights_from(settings);
    layers := ARRAY(SELECT l FROM recall_private.effective_layers(p_tenant) l);
    moment := recall_private.require_moment(coalesce(filter.as_of, p_now));
    queries := recall_private.combined_queries(request.query, request.queries);
    IF queries <> '{}' THEN
        counts := recall_private.tenant_counts(p_tenant);
        memories := counts.documents;
    END IF;
    window_only := queries = '{}' AND (filter.since IS NOT NULL OR filter.until IS NOT NULL);
    embeddings := CASE WHEN cardinality(queries) > coalesce(cardinality(request.queries), 0)
        THEN array_prepend(p_embedding, recall_private.require_one_dimension(p_embeddings)) ELSE p_embeddings END;
    model := recall_private.relevance_model_for_search(
        p_tenant, settings ->> 'embedding.model', request.profile, filter.layers);
    mode := coalesce(request.vitality_mode, model.vitality_mode, 'odds');
    weight := coalesce(
        request.vitality_weight, model.vitality_weight, (settings ->> 'vitality.weight')::double precision);
    -- An experiment does not apply where the caller chooses the weight.
    IF (settings ->> 'search.experiment')::double precision >= 1 AND queries <> '{}'
       AND num_nonnulls(request.vitality_mode, request.vitality_weight, filter.as_of) = 0 THEN
        experiment_arm := recall_private.experiment_arm(
            p_tenant, floor((settings ->> 'search.experiment')::double precision)::bigint,
            recall_private.require_session_id(request.session_id));
        mode := CASE experiment_arm WHEN 'off' THEN 'off' ELSE mode END;
        weight := CASE experiment_arm WHEN 'other' THEN (settings ->> 'search.experiment_weight')::double precision
            ELSE weight END;
    END IF;
    arms := coalesce(recall_private.arm_weights(request.weights), ARRAY[1, 1, 1, 1, 1, 1, 1]);
    author := model.author * arms[4] * (settings ->> 'search.author_weight')::double precision;
    pool := greatest(request.k, p_pool);
    -- Three times as many as are asked for find as much as fifty. Up to 16 hits, `gathered` judges fewer.
    pool := CASE WHEN pool <= 50 THEN least(greatest(3 * pool, 32), 50) ELSE 1000 END;
    weight := recall_private.check_search_numbers(request.k, p_pool, request.min_relevance, mode, weight);
    filter := recall_private.checked_filter(p_tenant, filter, p_now);
    IF embeddings IS NOT NULL THEN
        embeddings := recall_private.check_query_vectors((settings ->> 'embedding.dimensions')::int, embeddings,
            cardinality(p_embeddings), cardinality(request.queries));
    END IF;
    IF p_tokens <> 'null' AND (CASE WHEN jsonb_typeof(p_tokens) = 'array' THEN jsonb_array_length(p_tokens) END)
       IS DISTINCT FROM cardinality(queries) THEN
        PERFORM recall_private.raise_invalid(
            format('The token signs are not an array with one element for each of %s queries.', cardinality(queries)),
            'Give an array of token signs for each query, or null for a query without them.');
    END IF;
    other_embedder := CASE WHEN embeddings IS NOT NULL THEN recall_private.other_embedder(settings ->> 'embedding.model') END;
    IF other_embedder IS NULL THEN
        tokens := p_tokens;
    ELSE
        embeddings := NULL;
    END IF;
    cues := '{}';
    IF request.cues IS NOT NULL OR request.session_id IS NOT NULL THEN
        -- Without a query, the cues are the query, and must count whatever the profile says.
        IF queries = '{}' AND model.form = 'logistic' THEN
            model.cue := greatest(model.cue, 4.6);
        END IF;
        cues := recall_private.cue_ids(p_tenant, request.cues, recall_private.require_session_id(request.session_id), moment);
    END IF;
    IF request.cues IS NULL AND queries <> '{}' AND filter.conversation IS NOT NULL AND arms[5] * model.cue > 0 THEN
        v_hints := recall_private.named_in_turns(p_tenant, filter.conversation);
    END IF;
    IF (cues <> '{}' OR v_hints <> '{}') AND arms[5] * model.cue > 0 AND NOT window_only THEN
        -- Cues that the caller names belong to the query; memories used in the session, or named in the conversation, are
        -- only a hint.
        SELECT array_agg(c.id), array_agg(c.strength * CASE
                   WHEN queries <> '{}' AND request.cues IS NULL THEN 0.25 ELSE 1 END), array_agg(c.cue)
        INTO cued, strengths, cued_by
        FROM recall_private.cue_arm(p_tenant, cues, v_hints, pool, moment, queries <> '{}') c;
    END IF;
    IF queries = '{}' AND NOT window_only AND cues = '{}' THEN
        PERFORM recall_private.raise_invalid('The query is empty.', 'Give a query with at least one word, a time window or a cue.');
    END IF;
END $$;

-- read_queries: what the queries of a search say, each at its place: their words and names (`analyzed`), the `periods`
-- that they name, and their `intents`. `needs_context` says whether the only query makes sense only with its
-- conversation, `about_past` whether one asks for what was, and `skips_changes` whether one asks for another time or for
-- something to be done, so that what changed need not go first.
CREATE OR REPLACE FUNCTION recall_private.read_queries(
    p_tenant text, p_queries text[], p_embeddings halfvec[], p_arms double precision[], p_author double precision,
    p_model recall.relevance_model, p_moment timestamptz, p_counts recall.lexeme, OUT analyzed recall.analyzed_query[],
    OUT periods recall.period[], OUT intents recall.query_intent[], OUT needs_context boolean, OUT about_past boolean,
    OUT skips_changes boolean
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_intent recall.query_intent;
BEGIN
    intents := '{}';
    about_past := false;
    skips_changes := false;
    FOR i IN 1 .. cardinality(p_queries) LOOP
        IF p_arms[2] > 0 OR p_arms[3] > 0 OR p_author > 0 THEN
            analyzed[i] := recall_private.analyzed_query(
                p_tenant, p_queries[i], p_arms[3] > 0 OR p_author > 0, p_arms[1] > 0 AND p_embeddings[i] IS NOT NULL,
                p_counts);
        END IF;
        IF p_model.period * p_arms[7] > 0 THEN
            periods[i] := recall_private.period_in_query(p_queries[i], p_moment);
        END IF;
        v_intent := recall_private.query_intent(p_queries[i]);
        intents[i] := v_intent;
        about_past := about_past OR v_intent.about_past IS TRUE;
        skips_changes := skips_changes OR (v_intent.in_past OR v_intent.seeks = 'request') IS TRUE;
    END LOOP;
    needs_context := cardinality(intents) = 1 AND (intents[1]).needs_context;
END $$;
