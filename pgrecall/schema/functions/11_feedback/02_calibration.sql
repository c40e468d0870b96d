-- Calibration: the coefficients that turn the features of a candidate into a probability, and replacing them for a
-- tenant. `pgrecall calibration fit` fits them.

-- relevance_models (reader; Relevance and rerankers): the models of relevance available to this tenant's searches, or
-- those of one profile, by profile, the one in force first. `coefficients` has, by name, the intercept, no_similarity,
-- and a coefficient for each feature.
CREATE OR REPLACE FUNCTION recall.relevance_models(p_profile text DEFAULT NULL)
RETURNS TABLE (
    profile text, embedder text, source text, in_force boolean, form text, coefficients jsonb,
    vitality_weight double precision, vitality_mode text, fitted_on text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.profile, r.embedder, CASE r.tenant WHEN '*' THEN 'database' ELSE 'tenant' END,
           row_number() OVER chosen = 1, r.form,
           to_jsonb(r) - '{tenant, embedder, profile, form, vitality_weight, vitality_mode, fitted_on}'::text[],
           r.vitality_weight, r.vitality_mode, r.fitted_on
    FROM recall.relevance_model r
    WHERE r.tenant IN ((SELECT recall.current_tenant()), '*') AND (p_profile IS NULL OR r.profile = p_profile)
      AND r.embedder IN (coalesce(recall_private.setting_value('*', 'embedding.model') #>> '{}', '*'), '*')
    WINDOW chosen AS (PARTITION BY r.profile ORDER BY r.tenant = '*', r.embedder = '*')
    ORDER BY r.profile, row_number() OVER chosen
$$;

-- check_coefficients: raises an error unless p_coefficients is an object with a finite number for each of p_names and
-- nothing else. Only those in p_free may be negative.
CREATE OR REPLACE FUNCTION recall_private.check_coefficients(p_coefficients jsonb, p_names text[], p_free text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_wrong record;
BEGIN
    IF jsonb_typeof(p_coefficients) IS DISTINCT FROM 'object' THEN
        PERFORM recall_private.raise_invalid('The coefficients are not a JSON object.',
            format('Give a number for each of %s.', array_to_string(p_names, ', ')));
    END IF;
    SELECT coalesce(c.key, n.name) AS name, n.name IS NOT NULL AS known, c.value INTO v_wrong
    FROM unnest(p_names) n(name) FULL JOIN jsonb_each(p_coefficients) c ON c.key = n.name
    WHERE n.name IS NULL OR c.key IS NULL OR jsonb_typeof(c.value) <> 'number'
       -- Log-odds of a thousand are certainty; a greater value is a mistake and could overflow.
       OR CASE WHEN jsonb_typeof(c.value) = 'number' THEN abs(c.value::numeric) > 1000
               OR (c.value::numeric < 0 AND n.name <> ALL (p_free)) END
    ORDER BY 1 LIMIT 1;
    IF FOUND AND NOT v_wrong.known THEN
        PERFORM recall_private.raise_invalid(format('There is no coefficient %L.', left(v_wrong.name, 100)),
            format('Choose one of: %s.', array_to_string(p_names, ', ')));
    ELSIF FOUND THEN
        PERFORM recall_private.raise_invalid(
            format('The coefficient %s is %s.', v_wrong.name, coalesce(left(v_wrong.value::text, 50), 'not given')),
            format('Give a number from %s to 1,000.',
                   CASE WHEN v_wrong.name = ANY (p_free) THEN '-1,000' ELSE '0' END));
    END IF;
END $$;

-- require_fitted_on: the description of the data that coefficients were fitted on. Raises an error unless it is a
-- text of 1 to 500 characters.
CREATE OR REPLACE FUNCTION recall_private.require_fitted_on(p_model jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF NOT coalesce(jsonb_typeof(p_model -> 'fitted_on') = 'string'
                    AND length(p_model ->> 'fitted_on') BETWEEN 1 AND 500, false) THEN
        PERFORM recall_private.raise_invalid('The model does not say what it was fitted on.',
            'Give fitted_on, a text of 1 to 500 characters.');
    END IF;
    RETURN p_model ->> 'fitted_on';
END $$;

-- require_logistic_model: the model in force for a profile. Raises an error unless there is one with fitted
-- coefficients.
CREATE OR REPLACE FUNCTION recall_private.require_logistic_model(p_profile text) RETURNS recall.relevance_model
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_model recall.relevance_model := recall_private.relevance_model_of(
        recall.current_tenant(), recall_private.setting_value('*', 'embedding.model') #>> '{}', ARRAY[p_profile]);
BEGIN
    IF v_model.profile IS NULL THEN
        PERFORM recall_private.raise_invalid(format('There is no profile %L.', left(p_profile, 100)), format('Choose one of: %s.', (
            SELECT string_agg(m.profile, ', ' ORDER BY m.profile) FROM recall.relevance_models() m WHERE m.in_force)));
    ELSIF v_model.form <> 'logistic' THEN
        PERFORM recall_private.raise_invalid(format('The profile %s is a fixed formula (%s)and has no coefficients to fit.',
            p_profile, v_model.form), 'Calibrate another profile.');
    END IF;
    RETURN v_model;
END $$;

-- store_relevance_model (app; Relevance and rerankers): stores this tenant's own coefficients of a profile and puts
-- them in force. p_model has `profile`, `coefficients`, `fitted_on`, and `embedder`, the name of the embedder whose
-- similarities were used in the fit (null without one), which must be this database's. The weight of vitality in the
-- profile does not change.
CREATE OR REPLACE FUNCTION recall.store_relevance_model(p_model jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_embedder text := recall_private.setting_value('*', 'embedding.model') #>> '{}';
    v_given jsonb := p_model -> 'coefficients';
    v_model recall.relevance_model;
BEGIN
    v_model := recall_private.require_logistic_model(p_model ->> 'profile');
    IF jsonb_typeof(v_given) = 'object' THEN
        -- Clients of schemas before 0030 do not fit no_number, and those before 0043 fit phrase.
        v_given := '{"no_number": 0}' || v_given - 'phrase';
    END IF;
    PERFORM recall_private.check_coefficients(v_given, ARRAY['intercept', 'similarity', 'no_similarity', 'coverage',
        'information', 'name', 'author', 'cue', 'period', 'session_coverage', 'question', 'speaker',
        'no_number', 'graph', 'token_similarity', 'no_token_similarity'], ARRAY['intercept', 'no_similarity', 'no_token_similarity']);
    IF p_model ->> 'embedder' IS DISTINCT FROM v_embedder THEN
        PERFORM recall_private.raise_invalid(format('The coefficients were fitted with the embedder %s, and this database has %s.',
            coalesce(p_model ->> 'embedder', 'none'), coalesce(v_embedder, 'none')), 'Fit them with its own.');
    END IF;
    v_model := jsonb_populate_record(v_model, v_given || jsonb_build_object(
        'tenant', recall.current_tenant(), 'embedder', coalesce(v_embedder, '*'),
        'fitted_on', recall_private.require_fitted_on(p_model)));
    INSERT INTO recall.relevance_model SELECT v_model.*
    ON CONFLICT (tenant, embedder, profile) DO UPDATE SET
        intercept = excluded.intercept, similarity = excluded.similarity,
        no_similarity = excluded.no_similarity, coverage = excluded.coverage,
        information = excluded.information, name = excluded.name, author = excluded.author,
        cue = excluded.cue, period = excluded.period, question = excluded.question,
        speaker = excluded.speaker, no_number = excluded.no_number,
        session_coverage = excluded.session_coverage, token_similarity = excluded.token_similarity,
        no_token_similarity = excluded.no_token_similarity, graph = excluded.graph, fitted_on = excluded.fitted_on;
END $$;

-- reset_relevance_model (app; Relevance and rerankers): deletes this tenant's own coefficients of a profile, so that
-- the shipped ones apply again. Returns whether there were any.
CREATE OR REPLACE FUNCTION recall.reset_relevance_model(p_profile text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall_private.require_logistic_model(p_profile);
    DELETE FROM recall.relevance_model r WHERE r.tenant = (SELECT recall.current_tenant()) AND r.profile = p_profile;
    RETURN FOUND;
END $$;

-- rerank_models (reader; Relevance and rerankers): how this tenant's searches convert scores of rerankers, by reranker
-- ('*' means any other), the model in force first. logit(p) = intercept + rerank * score + fused * logit(p before).
CREATE OR REPLACE FUNCTION recall.rerank_models()
RETURNS TABLE (reranker text, source text, in_force boolean, coefficients jsonb, fitted_on text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.reranker, CASE r.tenant WHEN '*' THEN 'database' ELSE 'tenant' END,
           row_number() OVER (PARTITION BY r.reranker ORDER BY r.tenant = '*') = 1,
           jsonb_build_object('intercept', r.intercept, 'rerank', r.rerank, 'fused', r.fused), r.fitted_on
    FROM recall.rerank_model r
    WHERE r.tenant IN ((SELECT recall.current_tenant()), '*')
    ORDER BY r.reranker = '*', r.reranker, r.tenant = '*'
$$;

-- store_rerank_model (app; Relevance and rerankers): stores this tenant's own coefficients for a reranker and puts them
-- in force. p_model has `reranker`, its name, `coefficients` (intercept, rerank, fused) and `fitted_on`.
CREATE OR REPLACE FUNCTION recall.store_rerank_model(p_model jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_given jsonb := p_model -> 'coefficients';
BEGIN
    IF NOT coalesce(length(p_model ->> 'reranker') BETWEEN 1 AND 500 AND p_model ->> 'reranker' <> '*', false) THEN
        PERFORM recall_private.raise_invalid('The name of the reranker is missing, too long or *.',
            'Give its name: coefficients are valid only for the reranker they were fitted for.');
    END IF;
    PERFORM recall_private.check_coefficients(v_given, ARRAY['intercept', 'rerank', 'fused'], ARRAY['intercept']);
    INSERT INTO recall.rerank_model (tenant, reranker, intercept, rerank, fused, fitted_on)
    VALUES (recall.current_tenant(), p_model ->> 'reranker', (v_given ->> 'intercept')::double precision,
            (v_given ->> 'rerank')::double precision, (v_given ->> 'fused')::double precision,
            recall_private.require_fitted_on(p_model))
    ON CONFLICT (tenant, reranker) DO UPDATE SET
        intercept = excluded.intercept, rerank = excluded.rerank, fused = excluded.fused,
        fitted_on = excluded.fitted_on;
END $$;

-- reset_rerank_model (app; Relevance and rerankers): deletes this tenant's own coefficients for a reranker. Returns
-- whether there were any.
CREATE OR REPLACE FUNCTION recall.reset_rerank_model(p_reranker text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall.rerank_model r WHERE r.tenant = (SELECT recall.current_tenant()) AND r.reranker = p_reranker;
    RETURN FOUND;
END $$;
