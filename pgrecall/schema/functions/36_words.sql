-- TEMPORARY stand-in of helper A's file.
CREATE OR REPLACE FUNCTION recall.query_words(p_tenant text, p_query text)
RETURNS TABLE (word text, documents bigint, total bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_total bigint;
BEGIN
    SELECT l.documents INTO v_total FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = '';
    IF v_total IS NOT NULL THEN
        RETURN QUERY
        SELECT c.word, c.documents, v_total
        FROM (
            SELECT b.* FROM (
                SELECT w.word, coalesce(l.documents, 0) AS documents,
                       row_number() OVER (PARTITION BY l.word IS NULL ORDER BY w.word) AS place
                FROM unnest(tsvector_to_array(to_tsvector(recall.language_of(p_tenant), p_query))) w(word)
                LEFT JOIN recall.lexeme l ON l.tenant = p_tenant AND l.word = w.word) b
            ORDER BY b.documents = 0 AND b.place > 8, b.documents, b.word LIMIT 16) c
        ORDER BY 2, 1;
    ELSE
        SELECT count(*) INTO v_total FROM (
            SELECT FROM recall.memory m WHERE m.tenant = p_tenant LIMIT 10000) counted;
        RETURN QUERY
        SELECT w.word, recall.document_frequency(p_tenant, w.word, 10000), v_total
        FROM (SELECT u.word FROM unnest(tsvector_to_array(to_tsvector(recall.language_of(p_tenant), p_query))) u(word) LIMIT 64) w
        ORDER BY 2, 1 LIMIT 16;
    END IF;
END $$;
CREATE OR REPLACE FUNCTION recall.words_of(p_tenant text, p_query text)
RETURNS TABLE (word text, documents bigint, total bigint, query tsquery, share double precision, step text)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
 SELECT w.word, w.documents, w.total, recall.quoted_query(w.word), 1, CASE WHEN w.documents>0 THEN 'word' ELSE 'unknown' END FROM recall.query_words(p_tenant, p_query) w $$;
CREATE OR REPLACE FUNCTION recall.phrase_of(p_tenant text, p_query text) RETURNS tsquery LANGUAGE sql STABLE AS $$ SELECT phraseto_tsquery(recall.language_of(p_tenant), p_query) $$;
CREATE OR REPLACE FUNCTION recall.hint_query(p_tenant text, p_hints text[]) RETURNS tsquery LANGUAGE sql STABLE AS $$ SELECT string_agg('('||phraseto_tsquery(recall.language_of(p_tenant), h)::text||')', ' & ')::tsquery FROM unnest(p_hints) h $$;

CREATE OR REPLACE FUNCTION recall.questions_without_names(p_queries text[]) RETURNS TABLE (place int, question text, names text[])
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
 SELECT q.n::int, x.question, x.names FROM unnest(p_queries) WITH ORDINALITY q(t, n) CROSS JOIN LATERAL recall.question_without_names(q.t) x ORDER BY 1 $$;
