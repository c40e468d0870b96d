-- What the most relevant candidate says of a search: how likely any of its hits answers, and how much use counts.

-- search_confidence: the probability that a search found an answer, from the log-odds of its most relevant candidate
-- and the number of the tenant's memories: a logistic model. A large tenant has something near every question, so the
-- same relevance means less there. Beyond 1,000 memories, which is more than was measured, the number changes nothing.
-- 0 without a candidate.
CREATE OR REPLACE FUNCTION recall.search_confidence(
    p_logit double precision, p_memories bigint, p_settings jsonb
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_logit IS NULL THEN 0 ELSE recall.logistic(
    (p_settings ->> 'confidence.intercept')::double precision
    + (p_settings ->> 'confidence.relevance')::double precision * p_logit
    + (p_settings ->> 'confidence.size')::double precision * ln(1 + least(p_memories, 1000))) END;

-- memory_count: the number of the tenant's live memories as the job `statistics` counted it; before that, counted up
-- to 10,000.
CREATE OR REPLACE FUNCTION recall.memory_count(p_tenant text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce(
        (SELECT l.documents FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = ''),
        (SELECT count(*) FROM (SELECT FROM recall.memory m WHERE m.tenant = p_tenant LIMIT 10000) counted));
END $$;

-- weight_beside: the weight of use in a search whose most relevant candidate has these log-odds: twice p_weight where
-- nothing seems to answer, p_weight at a relevance of one half, and half of it from three quarters on. What a text says
-- clearly, use need not say.
CREATE OR REPLACE FUNCTION recall.weight_beside(p_weight double precision, p_best_logit double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2 * p_weight * greatest(1 - recall.logistic(p_best_logit), 0.25);
