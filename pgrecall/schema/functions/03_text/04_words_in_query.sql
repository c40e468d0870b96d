-- The words of a query: which of them memories contain, how rare each is, and substitutes for the others.

-- prefix_query: a tsquery that matches every lexeme that begins with this one.
CREATE OR REPLACE FUNCTION recall_private.prefix_query(p_lexeme text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || ''':*')::tsquery;

-- any_of: a tsquery that matches whatever one of these matches. NULL for an empty array.
CREATE OR REPLACE FUNCTION recall_private.any_of(p_queries tsquery[]) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg('(' || q::text || ')', ' | ')::tsquery FROM unnest(p_queries) q WHERE numnode(q) > 0
$$;

-- all_of: a tsquery that matches whatever all of these match. NULL for an empty array.
CREATE OR REPLACE FUNCTION recall_private.all_of(p_queries tsquery[]) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg('(' || q::text || ')', ' & ')::tsquery FROM unnest(p_queries) q WHERE numnode(q) > 0
$$;

-- lexemes_of: the lexemes of a query in this language, with the parts of compounds (`schema/functions`, `getUserName`),
-- pairs of Chinese, Japanese and Korean letters, and single Han letters; at most p_limit if it is given. `identifiers`
-- marks a lexeme that is dropped if no memory contains it: a whole compound, a pair with a hiragana letter (mostly endings
-- and particles), and a stop word that is written like a name ("IT", "Will" inside a sentence), in lower case. In a query
-- that consists of stop words, every word is an identifier.
CREATE OR REPLACE FUNCTION recall_private.lexemes_of(
    p_language regconfig, p_text text, p_limit int, OUT words text[], OUT identifiers boolean[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_text text := recall_private.unchained(recall_private.folded(p_text));
    v_spaced text := v_text;
    v_words text[];
    v_compounds text[] := recall_private.compounds(v_text);
    v_parts text[] := '{}';
    v_wholes text[] := '{}';
    v_han text[] := '{}';
    v_hiragana boolean := false;
    v_names text[] := '{}';
BEGIN
    IF octet_length(v_text) > length(v_text) THEN  -- ASCII has no such letters
        v_han := ARRAY(
            SELECT h.found[1] FROM regexp_matches(
                left(v_text, 1000), '(?<![\u4E00-\u9FFF])[\u4E00-\u9FFF](?![\u4E00-\u9FFF])', 'g') h(found));
        v_hiragana := v_text ~ '[\u3041-\u3096]';
        v_spaced := recall_private.spaced(v_text);
    END IF;
    v_words := tsvector_to_array(to_tsvector(p_language, v_spaced));
    IF v_compounds <> '{}' THEN
        v_parts := tsvector_to_array(to_tsvector(p_language, recall_private.compound_parts(v_compounds)));
    END IF;
    IF v_parts <> '{}' THEN
        v_wholes := tsvector_to_array(to_tsvector(p_language, array_to_string(v_compounds, ' ')));
    END IF;
    words := v_words;
    IF v_han <> '{}' OR v_hiragana OR v_parts <> '{}' OR octet_length(v_text) > 1000 OR cardinality(v_words) > p_limit THEN
        -- Together with the tenant's mark, a longer lexeme does not fit into the text index.
        SELECT coalesce(array_agg(u ORDER BY u), '{}'), array_agg(
                   u = ANY (v_wholes) AND u <> ALL (v_parts)
                   OR u ~ '^.?[\u3041-\u3096].?$' AND EXISTS (SELECT FROM unnest(v_words || v_han) o WHERE o !~ '[\u3041-\u3096]')
                   ORDER BY u)
        INTO words, identifiers
        FROM (SELECT unnest(v_words || v_han) UNION SELECT unnest(v_parts)) x(u) WHERE octet_length(u) <= 2040;
    END IF;
    -- Most queries have no capital but their first letter. Of "On-call", the first part is a word inside the sentence.
    IF cardinality(v_words || v_han) = 0 OR substr(v_text, 2) ~ '[[:upper:]-]' AND v_text <> upper(v_text) THEN
        v_names := ARRAY(
            SELECT DISTINCT lower(t.token)
            FROM ts_parse('default', left(v_text, 2000)) WITH ORDINALITY t(kind, token, place)
            WHERE (cardinality(v_words || v_han) = 0
                   OR t.token <> lower(t.token) AND (t.place > 1 OR length(t.token) > 1 AND t.token = upper(t.token)))
              AND to_tsvector(p_language, t.token) = '' AND to_tsvector(recall_private.configuration('simple'), t.token) <> ''
            LIMIT 16);
    END IF;
    identifiers := coalesce(identifiers, array_fill(false, ARRAY[cardinality(words)])) || array_fill(true, ARRAY[cardinality(v_names)]);
    words := words || v_names;
    IF cardinality(words) > p_limit THEN
        words := words[:p_limit];
        identifiers := identifiers[:p_limit];
    END IF;
END $$;

-- one_edit_away: words of which this one may be a misspelling: with two neighbouring letters swapped; from six letters
-- on with one letter fewer or more; from seven on with one other letter. In shorter words, and at the first letter, such
-- an edit usually makes a different word ("world" is not "word").
CREATE OR REPLACE FUNCTION recall_private.one_edit_away(p_word text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 400
SET search_path FROM CURRENT AS $$
    WITH place AS (
        SELECT n, left(p_word, n - 1) AS before, substr(p_word, n, 1) AS letter, substr(p_word, n + 1) AS after
        FROM generate_series(1, length(p_word)) n
    ), letter AS (
        SELECT chr(c) AS other
        FROM (VALUES ('[a-z]', 97, 122), ('[α-ω]', 945, 969), ('[а-я]', 1072, 1103)) script(kind, first, last),
             generate_series(script.first, script.last) c
        WHERE p_word ~ script.kind
    )
    SELECT before || left(after, 1) || letter || substr(after, 2) FROM place
    WHERE after <> '' AND (n > 1 OR length(p_word) >= 6)
    UNION ALL SELECT before || after FROM place WHERE n > 1 AND length(p_word) >= 6
    UNION ALL SELECT before || letter || other || after FROM place, letter WHERE length(p_word) >= 6
    UNION ALL SELECT before || other || after FROM place, letter WHERE n > 1 AND length(p_word) >= 7
$$;

-- trigram_query: a query for tenant_trigrams that matches every text of a tenant with a similarity of at least
-- p_similarity to this one. NULL for a text without trigrams. It matches more: the caller must compare the texts.
-- Similarity is the number of common trigrams divided by the number of all, so at least p_similarity * n of n trigrams
-- must be common. The query asks for any two: it numbers the trigrams, and two numbers differ in at least one binary
-- digit.
CREATE OR REPLACE FUNCTION recall_private.trigram_query(p_tenant text, p_text text, p_similarity double precision)
RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_words text[] := ARRAY(
        SELECT recall_private.lexeme_query(recall_private.tenant_mark(p_tenant) || u)::text FROM unnest(show_trgm(p_text)) u);
    v_number int := cardinality(v_words);
BEGIN
    IF v_number = 0 THEN
        RETURN NULL;
    ELSIF p_similarity * v_number <= 1 THEN
        RETURN array_to_string(v_words, '|')::tsquery;
    END IF;
    RETURN (
        SELECT string_agg(d.either, '|')::tsquery
        FROM (
            SELECT '(' || string_agg(w.word, '|') FILTER (WHERE (w.place >> digit) & 1 = 0) || ')&('
                       || string_agg(w.word, '|') FILTER (WHERE (w.place >> digit) & 1 = 1) || ')' AS either
            FROM generate_series(0, 30) digit, unnest(v_words) WITH ORDINALITY w(word, place)
            WHERE 1 << digit <= v_number
            GROUP BY digit) d);
END $$;

-- word_substitutes: substitutes for a lexeme that no memory contains: lexemes that begin with it, else those one edit
-- away, else those with many of its trigrams. (A short word keeps few of its trigrams when two letters are swapped.)
-- `share` is the weight of the substitutes, `step` how they were found. No row if there are none; a number has none.
-- Before the words are counted, only longer words with this beginning are found.
CREATE OR REPLACE FUNCTION recall_private.word_substitutes(p_tenant text, p_word text, p_counted boolean, p_similar boolean)
RETURNS TABLE (documents bigint, query tsquery, share double precision, step text)
LANGUAGE plpgsql STABLE ROWS 1
SET pg_trgm.similarity_threshold = 0.5 AS $$
BEGIN
    IF length(p_word) < 4 OR p_word ~ '[0-9]$' THEN
        RETURN;
    ELSIF NOT p_counted THEN
        SELECT count(*), recall_private.prefix_query(p_word), 0.7, 'prefix' INTO documents, query, share, step
        FROM (
            SELECT FROM recall.memory m
            WHERE recall_private.tenant_words(m.tenant, m.search_text)
                  @@ recall_private.tenant_query(p_tenant, recall_private.prefix_query(p_word))
              AND m.tenant || '' = p_tenant
            LIMIT 10000) counted;
    ELSE
        SELECT sum(f.documents), recall_private.any_of(array_agg(recall_private.lexeme_query(f.word))), 0.7, 'prefix'
        INTO documents, query, share, step
        FROM (
            SELECT b.word, b.documents
            FROM (
                SELECT l.word, l.documents FROM recall.lexeme l
                WHERE l.tenant = p_tenant AND l.word >= p_word COLLATE "C"
                  AND l.word < (p_word || chr(1114111)) COLLATE "C"  -- the last character there is
                ORDER BY l.word LIMIT 500) b
            ORDER BY length(b.word), b.documents DESC, b.word LIMIT 5) f;
    END IF;
    IF documents > 0 THEN
        RETURN NEXT;
    ELSIF p_counted AND p_similar AND p_word !~ '[0-9]' THEN
        SELECT sum(f.documents), recall_private.any_of(array_agg(recall_private.lexeme_query(f.word))), max(f.likeness), 'similar'
        INTO documents, query, share, step
        FROM (
            SELECT l.word, l.documents, greatest(similarity(l.word, p_word), 0.5)::double precision AS likeness
            FROM recall.lexeme l
            WHERE l.tenant = p_tenant AND length(p_word) <= 20
              AND l.word = ANY (ARRAY(SELECT v COLLATE "C" FROM recall_private.one_edit_away(p_word) v))
            ORDER BY 3 DESC, 2 DESC, 1 LIMIT 3) f;
        IF documents > 0 THEN
            RETURN NEXT;
            RETURN;
        END IF;
        -- `tenant || ''` forces the trigram index, whose entries begin with the tenant.
        SELECT sum(f.documents), recall_private.any_of(array_agg(recall_private.lexeme_query(f.word))), max(f.likeness), 'similar'
        INTO documents, query, share, step
        FROM (
            SELECT l.word, l.documents, similarity(l.word, p_word)::double precision AS likeness
            FROM recall.lexeme l
            WHERE l.tenant || '' = p_tenant
              AND recall_private.tenant_trigrams(l.tenant, l.word) @@ recall_private.trigram_query(p_tenant, p_word, 0.5)
              AND l.word % p_word
            ORDER BY 3 DESC, 2 DESC, 1 LIMIT 3) f;
        IF documents > 0 THEN
            RETURN NEXT;
        END IF;
    END IF;
END $$;

-- may_stand_for: whether a word of a tenant may be a substitute of this one by any of the steps of word_substitutes; true
-- for more words than those. Inlined.
CREATE OR REPLACE FUNCTION recall_private.may_stand_for(p_known text, p_word text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN starts_with(p_known, p_word)
    -- One edit changes one letter at most.
    OR abs(length(p_known) - length(p_word)) <= 1 AND length(translate(p_known, p_word, '')) <= 1
       AND length(translate(p_word, p_known, '')) <= 1
    OR similarity(p_known, p_word) >= 0.5;

-- texts_of: the words of each memory of a small tenant. NULL if they have more than 100,000 bytes, or if there are none.
CREATE OR REPLACE FUNCTION recall_private.texts_of(p_tenant text) RETURNS tsvector[]
LANGUAGE plpgsql STABLE
-- Always by index, as in tenant_counts.
SET enable_seqscan = off AS $$
BEGIN
    RETURN (
        SELECT CASE WHEN t.bytes <= 100000
                    THEN ARRAY(SELECT m.search_text FROM recall.memory m WHERE m.tenant = p_tenant) END
        FROM (SELECT sum(pg_column_size(m.search_text)) AS bytes FROM recall.memory m WHERE m.tenant = p_tenant) t);
END $$;

-- query_words: the words of a query in this tenant's language, rarest first, at most 16. `documents` memories contain a
-- word, of those counted (p_counts are the tenant_counts); `queries` find them; `idfs` are the weights, of which
-- substitutes are worth a part. `steps` is word (memories contain it), prefix or similar (it has substitutes), or unknown.
-- If there are more than 16 words, at most eight unknown ones precede the known ones. Substitutes by spelling are searched
-- for the four longest.
CREATE OR REPLACE FUNCTION recall_private.query_words(
    p_tenant text, p_language regconfig, p_query text, p_counts recall.lexeme
) RETURNS recall.analyzed_query
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_total bigint := p_counts.documents;
    v_counted boolean := p_counts.word IS NOT NULL;
    v_asked record := recall_private.lexemes_of(p_language, p_query, CASE WHEN NOT v_counted THEN 64 END);
    v_stock text[];  -- all words of a small tenant
    -- All texts of a small tenant without statistics, whose words are counted now, so that rare ones weigh more from the
    -- first search on.
    v_texts tsvector[] := CASE WHEN NOT v_counted AND v_total <= 100 THEN recall_private.texts_of(p_tenant) END;
    v_unknown int;
    v_alike boolean;  -- whether an unknown word may have substitutes
    v_longest text[];
    q recall.analyzed_query;
BEGIN
    SELECT array_agg(k.word), array_agg(k.documents), array_agg(k.query), array_agg(k.idf), sum(k.idf),
           count(*) FILTER (WHERE k.documents = 0),
           bool_or(k.documents = 0 AND CASE WHEN v_texts IS NULL THEN length(k.word) >= 4 ELSE EXISTS (
               SELECT FROM unnest(v_texts) t WHERE t @@ k.prefix) END)
    INTO q.words, q.documents, q.queries, q.idfs, q.idf_sum, v_unknown, v_alike
    FROM (SELECT c.word, c.query, c.prefix, c.documents, recall_private.idf(c.documents, v_total) AS idf
          FROM (SELECT w.*, CASE
                    WHEN v_counted THEN coalesce((
                        SELECT l.documents FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = w.word), 0)
                    WHEN v_texts IS NULL THEN recall_private.document_frequency(p_tenant, w.word, 10000)
                    ELSE (SELECT count(*) FROM unnest(v_texts) t WHERE t @@ w.query) END AS documents
                FROM (SELECT u.word, u.identifier, recall_private.lexeme_query(u.word) AS query,
                             CASE WHEN v_texts IS NOT NULL THEN recall_private.prefix_query(u.word) END AS prefix
                      FROM unnest(v_asked.words, v_asked.identifiers) u(word, identifier) OFFSET 0) w
                OFFSET 0) c
          WHERE c.documents > 0 OR NOT c.identifier ORDER BY c.documents, c.word) k;
    IF q.words IS NULL THEN
        RETURN q;
    END IF;
    q.body_length := p_counts.body_length;
    IF NOT v_alike AND cardinality(q.words) <= 16 THEN
        q.steps := array_fill(text 'unknown', ARRAY[v_unknown]) || array_fill(text 'word', ARRAY[cardinality(q.words) - v_unknown]);
        RETURN q;
    END IF;
    v_longest := ARRAY(SELECT u FROM unnest(q.words[:v_unknown]) u ORDER BY length(u) DESC, u LIMIT 4);
    IF v_counted AND v_total <= 100 THEN
        v_stock := ARRAY(SELECT l.word FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word > '' ORDER BY l.word LIMIT 201);
        v_stock := CASE WHEN cardinality(v_stock) <= 200 THEN v_stock END;
    END IF;
    SELECT array_agg(w.word), array_agg(w.step), array_agg(w.documents), array_agg(w.query),
           array_agg(w.share * w.idf), sum(w.idf)
    INTO q.words, q.steps, q.documents, q.queries, q.idfs, q.idf_sum
    FROM (
        SELECT c.word, coalesce(r.documents, c.documents) AS documents, coalesce(r.share, 1) AS share,
               coalesce(r.step, CASE WHEN c.documents > 0 THEN 'word' ELSE 'unknown' END) AS step,
               -- The word itself is included, because a memory stored since the count may contain it.
               recall_private.lexeme_query(c.word) || coalesce(r.query, '') AS query,
               recall_private.idf(coalesce(r.documents, c.documents), v_total) AS idf
        FROM (SELECT u.word, q.documents[array_position(q.words, u.word)] AS documents
              FROM unnest((q.words[:least(v_unknown, 8)] || q.words[v_unknown + 1:] || q.words[9:v_unknown])[:16]) u(word)
              OFFSET 0) c
        LEFT JOIN LATERAL (
            SELECT s.* FROM recall_private.word_substitutes(p_tenant, c.word, v_counted, c.word = ANY (v_longest)) s
            -- In a small tenant, most words have nothing like them, which one pass over its words or texts shows.
            WHERE c.documents = 0
              AND (v_stock IS NULL OR EXISTS (
                  SELECT FROM unnest(v_stock) o(word) WHERE recall_private.may_stand_for(o.word, c.word)))
              AND (v_texts IS NULL OR EXISTS (
                  SELECT FROM unnest(v_texts) t WHERE t @@ recall_private.prefix_query(c.word))) OFFSET 0) r ON true
        ORDER BY 2, 1) w;
    RETURN q;
END $$;
