-- Document frequencies: what makes a word rare. Kept per tenant, so that no tenant learns another's words.

-- lexeme_query: a tsquery of exactly this lexeme, whatever characters it holds.
CREATE OR REPLACE FUNCTION recall.lexeme_query(p_lexeme text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;

-- tenant_query: this query as the text index is asked, which holds tenant_words: each word led by the tenant's mark,
-- so that no other tenant's postings are read. What it finds is to be asked for its tenant: two may have the same
-- mark.
CREATE OR REPLACE FUNCTION recall.tenant_query(p_tenant text, p_query tsquery) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    p_query::text, '''(([^'']|'''')*)''', '''' || recall.tenant_mark(p_tenant) || '\1''', 'g')::tsquery;

-- idf: inverse document frequency in the form of BM25, never negative.
CREATE OR REPLACE FUNCTION recall.idf(p_documents bigint, p_total bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(1 + (greatest(p_total, p_documents) - p_documents + 0.5::double precision) / (p_documents + 0.5));

-- indexed_length: the bytes of a text, of which the words index takes at most p_limit. It reads no compressed text.
CREATE OR REPLACE FUNCTION recall.indexed_length(p_text text, p_limit int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(octet_length(p_text), p_limit);

-- read_once: these words as they are, but read from where a long row keeps them: every function that is given the stored
-- value copies or decompresses it again. For a subquery with OFFSET 0.
CREATE OR REPLACE FUNCTION recall.read_once(p_words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY[p_words])[1];

-- mean_body_length: the mean number of bytes of the bodies of this tenant's memories, as counted last; before the
-- first count, of 1,000 of them.
CREATE OR REPLACE FUNCTION recall.mean_body_length(p_tenant text) RETURNS double precision
LANGUAGE sql STABLE
SET search_path FROM CURRENT
-- By index, however dear random reads are said to be: the neighbours' rows are not read.
SET enable_seqscan = off AS $$
    SELECT coalesce(
        (SELECT l.body_length FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = ''),
        (SELECT avg(recall.indexed_length(m.body, 100000))
         FROM (SELECT k.body FROM recall.memory k WHERE k.tenant = p_tenant LIMIT 1000) m),
        0)
$$;

-- count_lexemes: counts how many of this tenant's live memories hold each word, and changes the rows that are no
-- longer right; returns how many memories were counted. The row of the empty word holds that total, the mean
-- length of a body, and the mean vector.
CREATE OR REPLACE FUNCTION recall.count_lexemes(p_tenant text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_total bigint;
    v_length double precision;
BEGIN
    PERFORM recall.lock_tenant(p_tenant, 'lexemes');
    SELECT count(*), avg(recall.indexed_length(m.body, 100000)) INTO v_total, v_length
    FROM recall.memory m WHERE m.tenant = p_tenant AND m.archived_at IS NULL;
    WITH counted AS MATERIALIZED (
        SELECT s.word, s.ndoc, NULL::double precision AS body_length
        FROM ts_stat(format(
            'SELECT search_text FROM recall.memory WHERE tenant = %L AND archived_at IS NULL', p_tenant)) s
        WHERE s.word <> chr(1) || p_tenant
        UNION ALL SELECT '', v_total, v_length
    ), gone AS (
        DELETE FROM recall.lexeme l
        WHERE l.tenant = p_tenant AND NOT EXISTS (SELECT FROM counted c WHERE c.word = l.word)
    )
    -- Rows that are right stay as they are: every new one costs entries of the trigram index.
    INSERT INTO recall.lexeme AS l (tenant, word, documents, body_length)
    SELECT p_tenant, c.word, c.ndoc, c.body_length FROM counted c
    ON CONFLICT (tenant, word) DO UPDATE SET documents = excluded.documents, body_length = excluded.body_length
    WHERE (l.documents, l.body_length) IS DISTINCT FROM (excluded.documents, excluded.body_length);
    UPDATE recall.lexeme l SET mean_embedding = m.embedding, mean_embedder = m.embedder
    FROM recall.mean_embedding(p_tenant) m
    WHERE l.tenant = p_tenant AND l.word = ''
      AND (l.mean_embedding::text, l.mean_embedder) IS DISTINCT FROM (m.embedding::text, m.embedder);
    RETURN v_total;
END $$;

-- refresh_lexemes: recounts the document frequencies of this tenant's live memories; returns how many memories were
-- counted.
CREATE OR REPLACE FUNCTION recall.refresh_lexemes() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_total bigint := recall.count_lexemes(v_tenant);
BEGIN
    INSERT INTO recall.setting (tenant, name, value)
    VALUES (v_tenant, 'statistics_at', to_jsonb(now()))
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value;
    RETURN v_total;
END $$;

-- document_frequency: how many of this tenant's memories hold the lexeme, counted now, at most p_limit.
CREATE OR REPLACE FUNCTION recall.document_frequency(p_tenant text, p_lexeme text, p_limit int)
RETURNS bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT count(*) FROM (
        SELECT FROM recall.memory m
        WHERE recall.tenant_words(m.tenant, m.search_text)
              @@ recall.tenant_query(p_tenant, recall.lexeme_query(p_lexeme))
          AND m.tenant || '' = p_tenant
        LIMIT p_limit) counted
$$;

-- drop_unused_lexemes: takes those of these words that no memory of this tenant holds any more out of the document
-- frequencies, which would otherwise keep what was deleted until they are counted again.
CREATE OR REPLACE FUNCTION recall.drop_unused_lexemes(p_tenant text, p_words text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    -- A count that has begun before would bring them back.
    PERFORM recall.lock_tenant(p_tenant, 'lexemes');
    DELETE FROM recall.lexeme l
    WHERE l.tenant = p_tenant AND l.word = ANY (p_words) AND l.word <> ''
      AND recall.document_frequency(p_tenant, l.word, 1) = 0;
    -- The mean vector holds a part of what was deleted.
    UPDATE recall.lexeme l SET mean_embedding = NULL, mean_embedder = NULL
    WHERE l.tenant = p_tenant AND l.word = '' AND l.mean_embedder IS NOT NULL;
END $$;
