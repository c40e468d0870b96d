-- Document frequencies, which tell how rare a word is. They are counted for each tenant, so that no tenant learns the
-- words of another.

-- lexeme_query: a tsquery of exactly this lexeme, whatever characters it contains.
CREATE OR REPLACE FUNCTION recall_private.lexeme_query(p_lexeme text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;

-- tenant_query: this query in the form of the text index, which contains tenant_words: each word is preceded by the
-- tenant's mark, so that no postings of other tenants are read. The caller must still compare the tenant of each row,
-- because two tenants may have the same mark.
CREATE OR REPLACE FUNCTION recall_private.tenant_query(p_tenant text, p_query tsquery) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    p_query::text, '''((?:[^'']|'''')*)''', '''' || recall_private.tenant_mark(p_tenant) || '\1''', 'g')::tsquery;

-- idf: inverse document frequency in the form of BM25, never negative.
CREATE OR REPLACE FUNCTION recall_private.idf(p_documents bigint, p_total bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(1 + (greatest(p_total, p_documents) - p_documents + 0.5::double precision) / (p_documents + 0.5::double precision));

-- indexed_length: the number of bytes of a text, at most p_limit. Does not decompress the text.
CREATE OR REPLACE FUNCTION recall_private.indexed_length(p_text text, p_limit int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(octet_length(p_text), p_limit);

-- read_once: returns its argument, read from the TOAST table once. Otherwise every function that receives the stored
-- value would fetch or decompress it again. For a subquery with OFFSET 0.
CREATE OR REPLACE FUNCTION recall_private.read_once(p_words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY[p_words])[1];

-- tenant_counts: the number of this tenant's live memories and the mean length of their bodies in bytes, from the last count
-- of the job `statistics`. Before the first count, up to 10,000 memories and the bodies of 1,000 are counted now, and
-- `word` is NULL.
CREATE OR REPLACE FUNCTION recall_private.tenant_counts(p_tenant text) RETURNS recall.lexeme
LANGUAGE plpgsql STABLE
-- Always by index, whatever random_page_cost says: a sequential scan would read the rows of other tenants.
SET enable_seqscan = off AS $$
DECLARE
    c recall.lexeme;
BEGIN
    SELECT l.* INTO c FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = '';
    IF c.word IS NULL THEN
        c.documents := (SELECT count(*) FROM (SELECT FROM recall.memory m WHERE m.tenant = p_tenant LIMIT 10000) counted);
    END IF;
    IF c.body_length IS NULL THEN
        c.body_length := coalesce((
            SELECT avg(recall_private.indexed_length(m.body, 10000))
            FROM (SELECT k.body FROM recall.memory k WHERE k.tenant = p_tenant LIMIT 1000) m), 0);
    END IF;
    RETURN c;
END $$;

-- count_lexemes: counts how many of this tenant's live memories contain each word, and updates the rows that changed.
-- Returns how many memories were counted. The row of the empty word holds that total, the mean length of a body, and the
-- mean vector.
CREATE OR REPLACE FUNCTION recall_private.count_lexemes(p_tenant text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_total bigint;
    v_length double precision;
BEGIN
    PERFORM recall_private.lock_tenant(p_tenant, 'lexemes');
    SELECT count(*), avg(recall_private.indexed_length(m.body, 10000)) INTO v_total, v_length
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
    -- Unchanged rows are not written, because every new row costs entries in the trigram index.
    INSERT INTO recall.lexeme AS l (tenant, word, documents, body_length)
    SELECT p_tenant, c.word, c.ndoc, c.body_length FROM counted c
    ON CONFLICT (tenant, word) DO UPDATE SET documents = excluded.documents, body_length = excluded.body_length
    WHERE (l.documents, l.body_length) IS DISTINCT FROM (excluded.documents, excluded.body_length);
    UPDATE recall.lexeme l SET mean_embedding = m.embedding, mean_embedder = m.embedder
    FROM recall_private.mean_embedding(p_tenant) m
    WHERE l.tenant = p_tenant AND l.word = ''
      AND (l.mean_embedding::text, l.mean_embedder) IS DISTINCT FROM (m.embedding::text, m.embedder);
    RETURN v_total;
END $$;

-- refresh_lexemes (app; Jobs and maintenance): recounts the document frequencies of this tenant's live memories.
-- Returns how many memories were counted.
CREATE OR REPLACE FUNCTION recall.refresh_lexemes() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_total bigint := recall_private.count_lexemes(v_tenant);
BEGIN
    INSERT INTO recall.setting (tenant, name, value)
    VALUES (v_tenant, 'statistics_at', to_jsonb(now()))
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value;
    RETURN v_total;
END $$;

-- document_frequency: how many of this tenant's memories contain the lexeme, counted now, at most p_limit.
CREATE OR REPLACE FUNCTION recall_private.document_frequency(p_tenant text, p_lexeme text, p_limit int)
RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM recall.memory m
        WHERE recall_private.tenant_words(m.tenant, m.search_text)
              @@ recall_private.tenant_query(p_tenant, recall_private.lexeme_query(p_lexeme))
          AND m.tenant || '' = p_tenant
        LIMIT p_limit) counted
$$;

-- drop_unused_lexemes: deletes the document frequencies of those of these words that no memory of this tenant contains
-- any more. Otherwise words of deleted memories would stay there until the next count.
CREATE OR REPLACE FUNCTION recall_private.drop_unused_lexemes(p_tenant text, p_words text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- The lock keeps a count that has already begun from bringing them back.
    PERFORM recall_private.lock_tenant(p_tenant, 'lexemes');
    DELETE FROM recall.lexeme l
    WHERE l.tenant = p_tenant AND l.word = ANY (p_words) AND l.word <> ''
      AND recall_private.document_frequency(p_tenant, l.word, 1) = 0;
    -- The mean vector contains a part of the deleted vectors.
    UPDATE recall.lexeme l SET mean_embedding = NULL, mean_embedder = NULL
    WHERE l.tenant = p_tenant AND l.word = '' AND l.mean_embedder IS NOT NULL;
END $$;
