-- The arms of search: what passes its filters, what the words of a question weigh, and who is nearest.

-- passes: whether a memory is inside the filters; NULL filters let everything through. Inlined. One CASE, so
-- that a generic plan expects half of the rows to pass: conditions side by side, each of a parameter it does
-- not know, make it expect a single row, and then it reads the whole tenant instead of the vector index.
CREATE OR REPLACE FUNCTION recall.passes(
    m recall.memory, p_layers text[], p_roles text[], p_authors text[], p_tags text[],
    p_since timestamptz, p_until timestamptz, p_archived boolean, p_superseded boolean, p_invalid boolean,
    p_must tsquery, p_now timestamptz
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p_archived OR m.archived_at IS NULL)
    AND (p_superseded OR m.superseded_by IS NULL)
    AND (p_invalid OR ((m.valid_from IS NULL OR m.valid_from <= p_now)
                       AND (m.valid_until IS NULL OR m.valid_until > p_now)
                       -- What expiry has archived is archived, no more and no less.
                       AND (m.expires_at IS NULL OR m.expires_at > p_now OR m.archived_at IS NOT NULL)))
    AND (p_layers IS NULL OR m.layer = ANY (p_layers))
    AND (p_roles IS NULL OR m.role = ANY (p_roles))
    AND (p_authors IS NULL OR m.author = ANY (p_authors))
    AND (p_tags IS NULL OR m.tags @> p_tags)
    AND (p_since IS NULL OR m.happened_at >= p_since)
    AND (p_until IS NULL OR m.happened_at < p_until)
    AND (p_must IS NULL OR m.search_text @@ p_must)
    THEN true ELSE false END;

-- lexical_sum: the weight of the query's words in one memory: for each of up to 16 words its idf times how
-- strongly the memory holds it (1 for one occurrence in the body, saturating at 1.64). Flat, to be inlined.
CREATE OR REPLACE FUNCTION recall.lexical_sum(p_text tsvector, p_words tsquery[], p_idfs double precision[])
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1.6449340668482264 * (
    coalesce(p_idfs[1] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[1]), 0)
    + coalesce(p_idfs[2] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[2]), 0)
    + coalesce(p_idfs[3] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[3]), 0)
    + coalesce(p_idfs[4] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[4]), 0)
    + coalesce(p_idfs[5] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[5]), 0)
    + coalesce(p_idfs[6] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[6]), 0)
    + coalesce(p_idfs[7] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[7]), 0)
    + coalesce(p_idfs[8] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[8]), 0)
    + coalesce(p_idfs[9] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[9]), 0)
    + coalesce(p_idfs[10] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[10]), 0)
    + coalesce(p_idfs[11] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[11]), 0)
    + coalesce(p_idfs[12] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[12]), 0)
    + coalesce(p_idfs[13] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[13]), 0)
    + coalesce(p_idfs[14] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[14]), 0)
    + coalesce(p_idfs[15] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[15]), 0)
    + coalesce(p_idfs[16] * ts_rank('{0.8, 1, 1, 1}', p_text, p_words[16]), 0));

-- gate_of: an OR of the rarest of these words (rarest first, each a query) that together occur in at most
-- p_budget memories, and always of the rarest one that occurs at all: bounds what the lexical arm reads.
CREATE OR REPLACE FUNCTION recall.gate_of(p_queries tsquery[], p_documents bigint[], p_budget bigint)
RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT string_agg('(' || g.query::text || ')', ' | ')::tsquery
    FROM (
        SELECT w.query, w.documents, sum(w.documents) OVER (ORDER BY w.place) AS reached
        FROM unnest(p_queries, p_documents) WITH ORDINALITY w(query, documents, place)
    ) g
    WHERE g.reached <= p_budget OR g.reached = g.documents
$$;

-- lexical_arm: the memories that hold the question's rare words, best first; at most 2,000 are scored. Where even
-- the rarest word (p_rarest memories) is common, those that hold all of the words come first.
CREATE OR REPLACE FUNCTION recall.lexical_arm(
    p_tenant text, p_gate tsquery, p_all tsquery, p_rarest bigint, p_words tsquery[], p_idfs double precision[],
    p_pool int, p_layers text[], p_roles text[], p_authors text[], p_tags text[], p_since timestamptz,
    p_until timestamptz, p_archived boolean, p_superseded boolean, p_invalid boolean, p_must tsquery,
    p_now timestamptz
) RETURNS TABLE (id bigint, strength double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_all bigint[] := '{}';
BEGIN
    -- `tenant || ''` hides the tenant from the planner, which would read all of its rows by index first.
    IF p_rarest > 2000 AND cardinality(p_words) > 1 THEN
        v_all := ARRAY(
            SELECT m.id FROM recall.memory m
            WHERE m.search_text @@ p_all AND m.tenant || '' = p_tenant AND recall.passes(
                m, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived, p_superseded, p_invalid,
                p_must, p_now)
            LIMIT 1000);
    END IF;
    RETURN QUERY
    SELECT g.id, recall.lexical_sum(g.search_text, p_words, p_idfs) AS strength
    FROM (
        SELECT m.id, m.search_text FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = ANY (v_all)
        UNION ALL
        (SELECT m.id, m.search_text FROM recall.memory m
         WHERE m.search_text @@ p_gate AND m.tenant || '' = p_tenant AND recall.passes(
             m, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived, p_superseded, p_invalid,
             p_must, p_now)
           AND m.id <> ALL (v_all)
         LIMIT 2000)) g
    ORDER BY 2 DESC, 1 LIMIT p_pool;
END $$;
