-- The lexical arm: memories that contain the words of the query.

-- field_weights: the weights of a memory's fields for ts_rank (context, body, author and tags, title and aliases).
-- Lengths are in bytes. As in BM25, a word counts less in a long body or context than in a short one, relative to the
-- mean body of the tenant. 600 bytes are added to every length, because among short texts length says little. A body
-- counts as at most 10,000 bytes: BM25 gives next to nothing for a word in a very long text, even one that no other text
-- contains (Lv and Zhai, CIKM 2011). Names are short and keep their weight. All weights are divided by four, because
-- ts_rank takes no weight above 1, and a short body counts up to four times as much as an average one.
CREATE OR REPLACE FUNCTION recall_private.field_weights(p_body int, p_context int, p_mean double precision) RETURNS real[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    0.15 * least(1, (600 + p_mean) / (600 + p_context)), least(1, 0.25 * (600 + p_mean) / (600 + p_body)),
    0.25, 0.25]::real[];

-- strength_of_more_words: the part of lexical_strength for the ninth and further words. It is a function of its own,
-- because every search prepares all inlined expressions, and few queries have so many words.
CREATE OR REPLACE FUNCTION recall_private.strength_of_more_words(
    p_text tsvector, p_weights real[], p_words tsquery[], p_idfs double precision[]
) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN
    coalesce(p_idfs[9] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[9]))), 0)
    + coalesce(p_idfs[10] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[10]))), 0)
    + coalesce(p_idfs[11] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[11]))), 0)
    + coalesce(p_idfs[12] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[12]))), 0)
    + CASE WHEN p_words[13] IS NULL THEN 0 ELSE
    coalesce(p_idfs[13] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[13]))), 0)
    + coalesce(p_idfs[14] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[14]))), 0)
    + coalesce(p_idfs[15] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[15]))), 0)
    + coalesce(p_idfs[16] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[16]))), 0) END;
END $$;

-- lexical_strength: the weight of the query's words in one memory with these field_weights: the BM25 sum over up to 16
-- words of idf (k + 1) x / (x + k), k = 1.2. x is 1 for one occurrence in a body of mean length, and at most 1.64 for
-- many (ts_rank, times four pi squared / 6). So a word counts 1 to 1.27 times its idf there, and at most 1.86 times in a
-- short body. It is one expression, so that it can be inlined; p_weights has to be a column. Its CASEs are nested,
-- because few queries have many words.
CREATE OR REPLACE FUNCTION recall_private.lexical_strength(
    p_text tsvector, p_weights real[], p_words tsquery[], p_idfs double precision[]
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2.2 * (
    coalesce(p_idfs[1] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[1]))), 0)
    + coalesce(p_idfs[2] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[2]))), 0)
    + coalesce(p_idfs[3] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[3]))), 0)
    + coalesce(p_idfs[4] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[4]))), 0)
    + CASE WHEN p_words[5] IS NULL THEN 0 ELSE
    coalesce(p_idfs[5] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[5]))), 0)
    + coalesce(p_idfs[6] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[6]))), 0)
    + coalesce(p_idfs[7] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[7]))), 0)
    + coalesce(p_idfs[8] * (1 - 1.2 / (1.2 + 6.5797362673929 * ts_rank(p_weights, p_text, p_words[8]))), 0)
    + CASE WHEN p_words[9] IS NULL THEN 0
      ELSE recall_private.strength_of_more_words(p_text, p_weights, p_words, p_idfs) END END);

-- lexical_gate: the query by which the lexical arm reads memories, made of these words (rarest first, each a query).
-- `gate` matches each of the rarest words, up to 100 memories in total. A further word is matched only together with one
-- of the two after it. It stops before the total exceeds 300 memories (2,000 for the first word alone), and is NULL if
-- even the first word exceeds this. `rest` is the place of the first word that is not matched alone. `wide` is NULL unless
-- the gate names a word that more than 5,000 memories contain, which an index would all read. (GIN takes a word for rare if the
-- oldest memories that contained it are gone, and compares the gate with each of the others.) It leaves such words out, so it
-- matches up to 300 memories, among them all that the gate matches.
CREATE OR REPLACE FUNCTION recall_private.lexical_gate(
    p_queries tsquery[], p_documents bigint[], OUT gate tsquery, OUT rest int, OUT wide tsquery
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_reached bigint := 0;
    v_taken tsquery;
BEGIN
    rest := 1;
    FOR i IN 1 .. cardinality(p_queries) LOOP
        v_reached := v_reached + p_documents[i];
        EXIT WHEN v_reached > CASE WHEN i = 1 THEN 2000 ELSE 300 END;
        IF v_reached <= 100 THEN
            v_taken := p_queries[i];
            rest := i + 1;
        ELSE
            v_taken := p_queries[i] && coalesce(p_queries[i + 1] || p_queries[i + 2], p_queries[i + 1]);
            IF v_reached <= 300 AND greatest(p_documents[i + 1], p_documents[i + 2]) > 5000 THEN
                wide := coalesce(coalesce(wide, gate) || p_queries[i], p_queries[i]);
            END IF;
        END IF;
        gate := coalesce(gate || v_taken, gate, v_taken);
    END LOOP;
END $$;

-- memories_matching: of up to p_read memories, except p_except, that match this query and pass the filter, the p_pool
-- with the greatest lexical_strength, strongest first. p_wide, if it is not NULL, matches more and is what the index reads.
CREATE OR REPLACE FUNCTION recall_private.memories_matching(
    p_tenant text, p_query tsquery, p_wide tsquery, p_except bigint[], p_read int, p_pool int, p_words tsquery[],
    p_idfs double precision[], p_mean double precision, p_filter recall.search_filter,
    OUT ids bigint[], OUT strengths double precision[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_query tsquery := recall_private.tenant_query(p_tenant, coalesce(p_wide, p_query));
BEGIN
    -- `tenant || ''` hides the tenant from the planner, which would otherwise read all of its rows by index.
    SELECT coalesce(array_agg(b.id), '{}'), coalesce(array_agg(b.strength), '{}') INTO ids, strengths
    FROM (
        SELECT h.id, recall_private.lexical_strength(h.search_text, h.weights, p_words, p_idfs) AS strength
        FROM (
            SELECT m.id, recall_private.read_once(m.search_text) AS search_text, recall_private.field_weights(
                       recall_private.indexed_length(m.body, 10000), recall_private.indexed_length(m.context, 10000),
                       p_mean) AS weights
            FROM recall.memory m
            WHERE recall_private.tenant_words(m.tenant, m.search_text) @@ v_query AND m.tenant || '' = p_tenant
              AND (p_wide IS NULL OR m.search_text @@ p_query)
              AND recall_private.passes_filter(m, p_filter)
              AND m.id <> ALL (p_except)
            LIMIT p_read) h
        ORDER BY 2 DESC, 1 LIMIT p_pool) b;
END $$;

-- newest_memories_matching: up to p_limit of the newest 1,000 memories, except p_except, that contain one of these words
-- and pass the filter, with the lexical_strength of each.
CREATE OR REPLACE FUNCTION recall_private.newest_memories_matching(
    p_tenant text, p_except bigint[], p_limit int, p_words tsquery[], p_idfs double precision[],
    p_mean double precision, p_filter recall.search_filter, OUT ids bigint[], OUT strengths double precision[]
)
LANGUAGE plpgsql STABLE
-- With a high random_page_cost, the planner would read and sort all rows of the tenant instead of using the index.
SET enable_sort = off AS $$
DECLARE
    v_any tsquery := recall_private.any_of(p_words);
BEGIN
    SELECT coalesce(array_agg(h.id), '{}'),
           coalesce(array_agg(recall_private.lexical_strength(h.search_text, h.weights, p_words, p_idfs)), '{}')
    INTO ids, strengths
    FROM (
        SELECT n.id, recall_private.read_once(n.search_text) AS search_text, recall_private.field_weights(
                   recall_private.indexed_length(n.body, 10000), recall_private.indexed_length(n.context, 10000), p_mean) AS weights
        FROM (
            SELECT m.* FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.happened_at <= coalesce(p_filter.until, 'infinity')
            ORDER BY m.happened_at DESC LIMIT 1000) n
        WHERE n.search_text @@ v_any AND recall_private.passes_filter(n, p_filter)
          AND n.id <> ALL (p_except)
        LIMIT p_limit) h;
END $$;

-- lexical_arm: the memories that contain words of the query, best first; rare words count most. The number of memories
-- that it reads and scores is bounded, however many memories there are and however common the words: those that match
-- lexical_gate, then those that contain the next word. If even the rarest word is common, those that contain all words
-- come first (unless more than 10,000 memories contain it). For words that more than 5,000 memories contain, only the
-- newest memories are read, unless filters leave too few or none is found.
CREATE OR REPLACE FUNCTION recall_private.lexical_arm(
    p_tenant text, p_words tsquery[], p_documents bigint[], p_idfs double precision[], p_mean double precision,
    p_pool int, p_filter recall.search_filter, OUT ids bigint[], OUT strengths double precision[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_read record := recall_private.lexical_gate(p_words, p_documents);
    v_gate tsquery := v_read.gate;
    v_rest int := v_read.rest;
    v_sorted int := 0;  -- how many of the ids are in order
BEGIN
    ids := '{}';
    strengths := '{}';
    IF v_gate IS NULL AND p_documents[1] BETWEEN 2001 AND 10000 AND cardinality(p_words) > 1 THEN
        v_gate := recall_private.all_of(p_words);
    END IF;
    IF v_gate IS NOT NULL THEN
        v_read := recall_private.memories_matching(
            p_tenant, v_gate, v_read.wide, '{}', p_pool * 20, p_pool, p_words, p_idfs, p_mean, p_filter);
        ids := v_read.ids;
        strengths := v_read.strengths;
        v_sorted := cardinality(ids);
    END IF;
    IF cardinality(ids) < p_pool AND p_documents[1] > 5000 THEN
        v_read := recall_private.newest_memories_matching(
            p_tenant, ids, p_pool * 2, p_words, p_idfs, p_mean, p_filter);
        ids := ids || v_read.ids;
        strengths := strengths || v_read.strengths;
    END IF;
    IF cardinality(ids) < p_pool AND (
        p_documents[v_rest] <= 5000
        OR v_rest = 1 AND (ids = '{}' OR recall_private.narrows(p_filter))) THEN
        v_read := recall_private.memories_matching(
            p_tenant, p_words[v_rest], NULL, ids,
            -- If they are few, all are read, because lexical_strength differs.
            p_pool * CASE WHEN p_documents[v_rest] <= 400 THEN 8 ELSE 1 END, p_pool, p_words, p_idfs, p_mean, p_filter);
        ids := ids || v_read.ids;
        strengths := strengths || v_read.strengths;
    END IF;
    IF cardinality(ids) > v_sorted THEN
        SELECT array_agg(b.id), array_agg(b.strength) INTO ids, strengths
        FROM (SELECT u.id, u.strength FROM unnest(ids, strengths) u(id, strength) ORDER BY 2 DESC, 1 LIMIT p_pool) b;
    END IF;
END $$;
