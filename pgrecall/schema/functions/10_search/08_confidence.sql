-- The confidence of a search: how likely it is that any of its hits answers.

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
-- By index, however dear random reads are said to be: the neighbours' rows are not read.
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce(
        (SELECT l.documents FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = ''),
        (SELECT count(*) FROM (SELECT FROM recall.memory m WHERE m.tenant = p_tenant LIMIT 10000) counted));
END $$;
