-- Authors that a query names.

-- has_authors: whether a memory of the tenant has an author, by one probe of the index of authors.
CREATE OR REPLACE FUNCTION recall_private.has_authors(p_tenant text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.author IS NOT NULL AND recall_private.plain(lower(m.author)) COLLATE "C" >= '');
END $$;

-- author_named: an author with this name or first name, which is given without accents, by one probe of the index of
-- authors. Inlined.
CREATE OR REPLACE FUNCTION recall_private.author_named(p_tenant text, p_plain text) RETURNS TABLE (author text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.author FROM recall.memory m
    WHERE m.tenant = p_tenant AND m.author IS NOT NULL
      AND recall_private.plain(lower(m.author)) COLLATE "C" >= p_plain
      AND recall_private.plain(lower(m.author)) COLLATE "C" < p_plain || '!'
      AND (recall_private.plain(lower(m.author)) COLLATE "C" = p_plain
           OR recall_private.plain(lower(m.author)) COLLATE "C" > p_plain || ' ') LIMIT 1;
END;

-- authors_in_query: those of these phrases of a query that are the whole name or the first name of an author; stop words
-- ("will") and roles ("user") are none. Single words are looked for first: a longer phrase is a name only if its first word
-- begins one.
CREATE OR REPLACE FUNCTION recall_private.authors_in_query(p_tenant text, p_language regconfig, p_phrases text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_plain text[] := recall_private.plain_texts(p_phrases);
    v_first text[] := ARRAY(
        SELECT w.plain FROM (SELECT unnest(v_plain) AS plain OFFSET 0) w
        CROSS JOIN LATERAL recall_private.author_named(p_tenant, w.plain) WHERE position(' ' IN w.plain) = 0);
BEGIN
    RETURN CASE WHEN v_first = '{}' THEN v_first ELSE ARRAY(
        SELECT DISTINCT p.phrase FROM unnest(p_phrases, v_plain) p(phrase, plain)
        WHERE split_part(p.plain, ' ', 1) = ANY (v_first)
          AND (p.plain = ANY (v_first) OR EXISTS (SELECT FROM recall_private.author_named(p_tenant, p.plain)))
          AND to_tsvector(p_language, p.phrase) <> '' AND p.phrase <> ALL (recall_private.roles())) END;
END $$;
