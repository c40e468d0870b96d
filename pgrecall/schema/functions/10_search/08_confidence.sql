-- The confidence of a search: the probability that any of its hits answers the query.

-- search_confidence: the probability that a search found an answer: a logistic model of the log-odds of its most relevant
-- candidate and the number of the tenant's memories. A large tenant has something near every query, so the same
-- relevance means less there. The number counts up to 1,000 memories, because larger numbers were not measured. 0
-- without a candidate.
CREATE OR REPLACE FUNCTION recall.search_confidence(
    p_logit double precision, p_memories bigint, p_settings jsonb
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_logit IS NULL THEN 0 ELSE recall.logistic(
    (p_settings ->> 'confidence.intercept')::double precision
    + (p_settings ->> 'confidence.relevance')::double precision * p_logit
    + (p_settings ->> 'confidence.size')::double precision * ln(1 + least(p_memories, 1000))) END;

-- memory_count: the number of the tenant's live memories as last counted by the job `statistics`. Before the first count,
-- it is counted now, up to 10,000.
CREATE OR REPLACE FUNCTION recall.memory_count(p_tenant text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
-- Always by index, whatever random_page_cost says: a sequential scan would read the rows of other tenants.
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce(
        (SELECT l.documents FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = ''),
        (SELECT count(*) FROM (SELECT FROM recall.memory m WHERE m.tenant = p_tenant LIMIT 10000) counted));
END $$;
