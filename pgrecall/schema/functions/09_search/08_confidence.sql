-- The confidence of a search: how likely it is that any of its hits answers.

-- search_confidence: the probability that a search found an answer, from the log-odds of its ten most relevant
-- candidates, best first, and the number of the tenant's memories: a logistic model of the best log-odds, of how far it
-- is above the mean of the others, and of ln(1 + memories). A large tenant has something near every question, and an
-- answer stands out from what is near. 0 without candidates.
CREATE OR REPLACE FUNCTION recall.search_confidence(
    p_logits double precision[], p_memories bigint, p_settings jsonb
) RETURNS double precision
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN cardinality(p_logits) > 0 THEN recall.logistic(
        (p_settings ->> 'confidence.intercept')::double precision
        + (p_settings ->> 'confidence.best')::double precision * p_logits[1]
        + (p_settings ->> 'confidence.lead')::double precision
          * coalesce(p_logits[1] - (SELECT avg(l) FROM unnest(p_logits[2:10]) l), 0)
        + (p_settings ->> 'confidence.size')::double precision * ln(1 + p_memories)) ELSE 0 END
$$;

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
