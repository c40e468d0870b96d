-- Finding duplicates: each live memory is compared once with the nearest in meaning and with those that have the same
-- words. A memory without a vector is compared with those that share its rarest words. Only changed texts are compared
-- again. A pair is stored under both ids, so it does not matter from which side it was found.

-- near_by_vectors: pairs of these memories and the p_near nearest other live memories with at least this similarity.
-- Exact for a tenant without its own vector table.
CREATE OR REPLACE FUNCTION recall_private.near_by_vectors(
    p_tenant text, p_ids bigint[], p_near int, p_min_similarity double precision
) RETURNS TABLE (id bigint, other bigint, similarity double precision)
LANGUAGE plpgsql STABLE
-- An exact search sorts, whatever the session says of sorting.
SET enable_seqscan = off
SET enable_sort = on
SET hnsw.iterative_scan = off
SET hnsw.ef_search = 40 AS $$
DECLARE
    v_table text := recall_private.vector_table(p_tenant);
    v_look text := format(
        'SELECT o.memory_id AS id, n.memory_id AS other, n.part, n.distance FROM recall.%1$I o CROSS JOIN LATERAL ('
        'SELECT v.memory_id, v.part, v.embedding <=> o.embedding AS distance FROM recall.%1$I v WHERE %2$s NOT v.archived '
        'ORDER BY v.embedding <=> o.embedding LIMIT %3$s) n '
        'WHERE o.tenant = (SELECT $1) AND o.memory_id = ANY ($2) AND o.part = 0 AND NOT o.archived',
        v_table,
        -- Without a condition on the tenant for a table of one tenant: the planner uses the index only for the order.
        CASE v_table WHEN 'vector_shared' THEN 'v.tenant = (SELECT $1) AND' ELSE '' END,
        CASE v_table WHEN 'vector_shared' THEN p_near + 1 ELSE 2 * p_near + 1 END);
    v_ids bigint[] := p_ids;
BEGIN
    IF v_table <> 'vector_shared' THEN
        -- A quick search first: most memories have no near ones, and it finds at least one if there are any.
        PERFORM set_config('hnsw.ef_search', '10', true);
        EXECUTE format('SELECT array_agg(DISTINCT q.id) FROM (%s) q WHERE q.other <> q.id AND q.distance <= 1.02 - $3', v_look)
        INTO v_ids USING p_tenant, p_ids, p_min_similarity;
        PERFORM set_config('hnsw.ef_search', '40', true);
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT q.id, q.other, 1 - q.distance FROM (%s) q WHERE q.part = 0 AND q.other <> q.id AND q.distance <= 1 - $3', v_look)
    USING p_tenant, v_ids, p_min_similarity;
END $$;

-- paired_before: the stored pairs of these memories that are still at least this similar. The index may find a pair from one
-- side only, and comparing the other side must not lose it.
CREATE OR REPLACE FUNCTION recall_private.paired_before(p_tenant text, p_ids bigint[], p_min_similarity double precision)
RETURNS TABLE (id bigint, other bigint, similarity double precision)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off AS $$
DECLARE
    v_ids bigint[];
    v_others bigint[];
BEGIN
    SELECT array_agg(p.src), array_agg(p.dst) INTO v_ids, v_others FROM (
        SELECT d.src, d.dst FROM recall.duplicate_pair d WHERE d.tenant = p_tenant AND d.src = ANY (p_ids)
        UNION
        SELECT d.src, d.dst FROM recall.duplicate_pair d WHERE d.tenant = p_tenant AND d.dst = ANY (p_ids)) p;
    IF v_ids IS NOT NULL THEN
        RETURN QUERY
        WITH known AS MATERIALIZED (
            SELECT v.id, v.embedding FROM recall_private.stored_vectors(p_tenant, v_ids || v_others) v
        )
        SELECT a.id, b.id, 1 - (a.embedding <=> b.embedding)
        FROM unnest(v_ids, v_others) u(id, other)
        JOIN known a ON a.id = u.id
        JOIN known b ON b.id = u.other
        WHERE (a.embedding <=> b.embedding) <= 1 - p_min_similarity;
    END IF;
END $$;

-- near_by_words: pairs of these memories and other live memories with the same words, whatever the case and punctuation;
-- for a memory without a vector also up to p_near others that contain its three rarest words.
CREATE OR REPLACE FUNCTION recall_private.near_by_words(p_tenant text, p_ids bigint[], p_near int)
RETURNS TABLE (id bigint, other bigint)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, n.id
    FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.body FROM recall.memory o WHERE o.tenant = p_tenant AND o.id = u.id AND o.body <> '' OFFSET 0) m
    CROSS JOIN LATERAL (
        SELECT s.id FROM recall.memory s
        WHERE s.tenant = p_tenant
          AND hashtextextended(btrim(lower(regexp_replace(left(s.body, 4000), '\W+', ' ', 'g'))), 0)
              = hashtextextended(btrim(lower(regexp_replace(left(m.body, 4000), '\W+', ' ', 'g'))), 0)
          AND s.archived_at IS NULL AND s.id <> m.id
        LIMIT p_near) n
    UNION
    SELECT m.id, n.id
    FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.search_text FROM recall.memory o
        WHERE o.tenant = p_tenant AND o.id = u.id AND o.embedded_with IS NULL OFFSET 0) m
    CROSS JOIN LATERAL (
        -- Only words in the last count; duplicates by newer words are found after the next count.
        SELECT string_agg(r.quoted, ' & ')::tsquery AS query, count(*) AS words FROM (
            SELECT recall_private.lexeme_query(l.word)::text AS quoted
            FROM unnest(tsvector_to_array(m.search_text)) w(word)
            JOIN recall.lexeme l ON l.tenant = p_tenant AND l.word = w.word
            WHERE l.documents > 1 AND w.word !~ '\d' AND left(w.word, 1) <> chr(1)
            ORDER BY l.documents, l.word LIMIT 3) r) q
    CROSS JOIN LATERAL (
        SELECT s.id FROM recall.memory s
        WHERE q.words > 0 AND recall_private.tenant_words(s.tenant, s.search_text) @@ recall_private.tenant_query(p_tenant, q.query)
          AND s.tenant || '' = p_tenant AND s.archived_at IS NULL AND s.id <> m.id
        LIMIT p_near) n;
END $$;

-- lacks_words: whether one of these words, which only one text has, has no other spelling among the words that only the
-- other text has. Up to ten words may be spelled differently, as in compare_texts.
CREATE OR REPLACE FUNCTION recall_private.lacks_words(p_words text[], p_of_other text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT count(*) > 10 OR bool_or(NOT EXISTS (
        SELECT FROM unnest(p_of_other) o(word)
        WHERE left(o.word, 2) = left(w.word, 2) AND length(o.word) BETWEEN length(w.word) - 1 AND length(w.word) + 1
          AND recall_private.is_spelling_of(w.word, o.word)))
    -- Words with accents are in the index without them, and numbers are not compared as words.
    FROM unnest(p_words) w(word) WHERE w.word ~ '^[!-/:-~]+$'
$$;

-- may_say_the_same: those of these pairs of memories that compare_texts may call anything but `apart`. It compares the
-- stored words of the index, which costs a tenth: if each body has a word that the other memory does not contain,
-- neither contains all of the other. Long texts are left to compare_texts.
CREATE OR REPLACE FUNCTION recall_private.may_say_the_same(
    p_tenant text, p_ids bigint[], p_others bigint[], p_similarities double precision[]
) RETURNS TABLE (src bigint, dst bigint, similarity double precision)
LANGUAGE plpgsql STABLE
-- judged_pairs calls this and turns hash joins off for its own statement, and a session may turn loops off.
SET enable_nestloop = on
SET enable_hashjoin = on
SET enable_mergejoin = off
SET work_mem = '32MB' AS $$
BEGIN
    RETURN QUERY
    WITH pair AS MATERIALIZED (
        SELECT least(u.id, u.other) AS src, greatest(u.id, u.other) AS dst, max(u.similarity) AS similarity
        FROM unnest(p_ids, p_others, p_similarities) u(id, other, similarity) GROUP BY 1, 2
    ), telling AS MATERIALIZED (
        SELECT l.language, recall_private.ignored_stems(l.language) AS stems
        FROM (SELECT DISTINCT m.language FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = ANY (p_ids)) l
    ), known AS MATERIALIZED (
        SELECT m.id, m.words, tsvector_to_array(m.words) AS every, tsvector_to_array(ts_filter(m.words, '{c}')) AS body,
               ts_delete(ts_filter(m.words, '{c}'), t.stems || tsvector_to_array(m.parts)) AS own
        FROM (SELECT p.src AS id FROM pair p UNION SELECT p.dst FROM pair p) u
        CROSS JOIN LATERAL (
            SELECT o.id, o.language, recall_private.read_once(o.search_text) AS words,
                   -- The parts of FooBar are in the index, but not those of foobar, which is the same word. Words with digits are
                   -- compared as numbers, so their parts do not count either.
                   to_tsvector(recall_private.configuration(o.language), recall_private.compound_parts(ARRAY(
                       SELECT c FROM unnest(recall_private.compounds(o.body)) c
                       WHERE c ~ '[[:lower:]][[:upper:]]|[[:upper:]]{2}[[:lower:]]|[0-9]'))) AS parts
            FROM recall.memory o
            WHERE o.tenant = p_tenant AND o.id = u.id AND octet_length(o.body) <= 32000 OFFSET 0) m
        JOIN telling t ON t.language = m.language
    )
    SELECT p.src, p.dst, p.similarity
    FROM pair p
    LEFT JOIN known a ON a.id = p.src
    LEFT JOIN known b ON b.id = p.dst
    WHERE a.id IS NULL OR b.id IS NULL OR NOT (
        recall_private.lacks_words(tsvector_to_array(ts_delete(a.own, b.every)), tsvector_to_array(ts_delete(b.words, a.body)))
        AND recall_private.lacks_words(tsvector_to_array(ts_delete(b.own, a.every)), tsvector_to_array(ts_delete(a.words, b.body)))
    ) IS TRUE;
END $$;

-- judged_pairs: which of these pairs are duplicates or may contradict each other. Turns of a conversation (linked by
-- `next`) are never duplicates, because both were said; a contradiction that is already linked is left out.
CREATE OR REPLACE FUNCTION recall_private.judged_pairs(
    p_tenant text, p_ids bigint[], p_others bigint[], p_similarities double precision[]
) RETURNS TABLE (
    src bigint, dst bigint, verdict text, reason text, similarity double precision, src_words int, dst_words int
)
LANGUAGE plpgsql STABLE
-- One index probe for each memory of a pair, whatever the planner estimates.
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT p.src, p.dst, c.verdict, c.reason, p.similarity, c.one_words, c.other_words
    FROM recall_private.may_say_the_same(p_tenant, p_ids, p_others, p_similarities) p
    JOIN recall.memory one ON one.tenant = p_tenant AND one.id = p.src AND one.archived_at IS NULL AND one.superseded_by IS NULL
    JOIN recall.memory two ON two.tenant = p_tenant AND two.id = p.dst AND two.archived_at IS NULL AND two.superseded_by IS NULL
    CROSS JOIN LATERAL recall_private.compare_texts(
        one.language, recall_private.whole_text(one.title, one.body), recall_private.whole_text(two.title, two.body)) c
    WHERE recall_private.attribute_difference(one, two) IS NULL AND c.verdict <> 'apart'
      AND (c.verdict = 'contradicts' OR recall_private.is_same_title(one.language, one.title, two.title))
      AND NOT EXISTS (
          SELECT FROM recall.link l WHERE l.tenant = p_tenant
          AND (l.src = p.src AND l.dst = p.dst OR l.src = p.dst AND l.dst = p.src)
          AND l.relation IN ('next', 'contradicts', 'supersedes'))
      AND (c.verdict = 'contradicts' OR NOT EXISTS (
          SELECT FROM recall.link l WHERE l.tenant = p_tenant AND l.relation = 'next'
          AND (l.src IN (p.src, p.dst) OR l.dst IN (p.src, p.dst))));
END $$;

-- uncompared: up to p_limit (NULL means all) live memories of a tenant that wait to be compared, by id.
CREATE OR REPLACE FUNCTION recall_private.uncompared(p_tenant text, p_limit int DEFAULT NULL) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_min double precision := recall_private.setting_number(p_tenant, 'dedupe.min_similarity');
BEGIN
    RETURN QUERY
    SELECT m.id FROM recall.memory m
    LEFT JOIN recall.compared c ON c.tenant = p_tenant AND c.memory_id = m.id
    WHERE m.tenant = p_tenant AND m.archived_at IS NULL AND m.superseded_by IS NULL
      AND (c.content_hash = m.content_hash AND c.embedded = (m.embedded_with IS NOT NULL)
           AND c.min_similarity <= v_min) IS NOT TRUE
    ORDER BY m.id LIMIT p_limit;
END $$;

-- find_duplicates (app; Plans): compares up to p_limit memories that were not compared since their text changed, stores
-- the pairs that are duplicates or may contradict each other, and returns how many memories it compared; 0 when none is
-- left. Each call is complete in itself, so an interrupted run continues where the last call ended. No memory changes.
CREATE OR REPLACE FUNCTION recall.find_duplicates(p_limit int DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_near int := recall_private.setting_number(v_tenant, 'dedupe.neighbours')::int;
    v_min double precision := recall_private.setting_number(v_tenant, 'dedupe.min_similarity');
    v_ids bigint[];
    v_hashes text[];
    v_embedded boolean[];
    v_words int[];
    v_pairs recall.duplicate_pair[];
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 100000, 'p_limit');
    PERFORM recall_private.lock_tenant(v_tenant, 'dedupe');
    SELECT array_agg(m.id ORDER BY m.id), array_agg(m.content_hash ORDER BY m.id),
           array_agg(m.embedded_with IS NOT NULL ORDER BY m.id),
           array_agg(cardinality(recall_private.content_words(m.language, left(recall_private.whole_text(m.title, m.body), 8000)))
                     ORDER BY m.id)
    INTO v_ids, v_hashes, v_embedded, v_words
    FROM recall_private.uncompared(v_tenant, p_limit) w(id) JOIN recall.memory m ON m.tenant = v_tenant AND m.id = w.id;
    IF v_ids IS NULL THEN
        RETURN 0;
    END IF;
    WITH near AS MATERIALIZED (
        SELECT n.id, n.other, n.similarity FROM recall_private.near_by_vectors(v_tenant, v_ids, v_near, v_min) n
        UNION ALL SELECT p.id, p.other, p.similarity FROM recall_private.paired_before(v_tenant, v_ids, v_min) p
        UNION ALL SELECT w.id, w.other, NULL FROM recall_private.near_by_words(v_tenant, v_ids, v_near) w
    ), listed AS (
        SELECT array_agg(n.id) AS ids, array_agg(n.other) AS others, array_agg(n.similarity) AS similarities FROM near n
    )
    SELECT array_agg(ROW(v_tenant, j.src, j.dst, j.verdict, j.reason, j.similarity, j.src_words, j.dst_words)
                     ::recall.duplicate_pair)
    INTO v_pairs
    FROM listed l CROSS JOIN LATERAL recall_private.judged_pairs(v_tenant, l.ids, l.others, l.similarities) j;
    -- Memories are locked last, in the order that all deletions use. Memories deleted meanwhile are left out.
    PERFORM recall_private.lock_memories(v_tenant, v_ids || ARRAY(SELECT p.src FROM unnest(v_pairs) p)
                                 || ARRAY(SELECT p.dst FROM unnest(v_pairs) p));
    DELETE FROM recall.duplicate_pair p WHERE p.tenant = v_tenant AND (p.src = ANY (v_ids) OR p.dst = ANY (v_ids));
    INSERT INTO recall.duplicate_pair
    SELECT p.* FROM unnest(v_pairs) p
    WHERE EXISTS (SELECT FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p.src)
      AND EXISTS (SELECT FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p.dst);
    INSERT INTO recall.compared (tenant, memory_id, content_hash, embedded, min_similarity, words)
    SELECT v_tenant, u.id, u.hash, u.embedded, v_min, u.words
    FROM unnest(v_ids, v_hashes, v_embedded, v_words) u(id, hash, embedded, words)
    WHERE EXISTS (SELECT FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = u.id)
    ON CONFLICT (tenant, memory_id) DO UPDATE SET content_hash = excluded.content_hash, embedded = excluded.embedded,
        min_similarity = excluded.min_similarity, words = excluded.words;
    RETURN cardinality(v_ids);
END $$;
