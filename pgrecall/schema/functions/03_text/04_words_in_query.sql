-- The words of a query: which of them memories contain, how rare each is, and substitutes for the others.

-- prefix_query: a tsquery that matches every lexeme that begins with this one.
CREATE OR REPLACE FUNCTION recall_private.prefix_query(p_lexeme text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (recall_private.lexeme_query(p_lexeme)::text || ':*')::tsquery;

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
-- pairs of Chinese, Japanese and Korean letters, and single Han letters. `identifier` marks a lexeme that is dropped if
-- no memory contains it: a whole compound, a pair with a hiragana letter (mostly endings and particles), and a stop word
-- that is written like a name ("IT", "Will" inside a sentence), in lower case. In a query that consists of stop words,
-- every word is an identifier.
CREATE OR REPLACE FUNCTION recall_private.lexemes_of(p_language regconfig, p_text text)
RETURNS TABLE (word text, identifier boolean)
LANGUAGE plpgsql STABLE ROWS 8 AS $$
DECLARE
    v_text text := recall_private.unchained(recall_private.folded(p_text));
    v_words text[] := tsvector_to_array(to_tsvector(p_language, recall_private.spaced(v_text)));
    v_compounds text[] := recall_private.compounds(v_text);
    v_parts text[] := tsvector_to_array(to_tsvector(p_language, recall_private.compound_parts(v_compounds)));
    v_wholes text[] := '{}';
    v_hiragana text;
BEGIN
    IF octet_length(v_text) > length(v_text) THEN  -- ASCII has no such letters
        v_words := v_words || ARRAY(
            SELECT h.found[1] FROM regexp_matches(
                left(v_text, 1000), '(?<![\u4E00-\u9FFF])[\u4E00-\u9FFF](?![\u4E00-\u9FFF])', 'g') h(found));
        IF EXISTS (SELECT FROM unnest(v_words) u WHERE u !~ '[\u3041-\u3096]') THEN
            v_hiragana := '^.?[\u3041-\u3096].?$';
        END IF;
    END IF;
    IF v_parts <> '{}' THEN
        v_wholes := tsvector_to_array(to_tsvector(p_language, array_to_string(v_compounds, ' ')));
    END IF;
    -- Together with the tenant's mark, a longer lexeme does not fit into the text index.
    RETURN QUERY SELECT u, u = ANY (v_wholes) AND u <> ALL (v_parts) OR coalesce(u ~ v_hiragana, false)
    FROM (SELECT unnest(v_words) UNION SELECT unnest(v_parts)) x(u) WHERE octet_length(u) <= 2040
    ORDER BY 1;
    IF cardinality(v_words) > 0 AND (v_text = lower(v_text) OR v_text = upper(v_text)) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT DISTINCT lower(t.token), true
    FROM ts_parse('default', left(v_text, 2000)) WITH ORDINALITY t(kind, token, place)
    WHERE (cardinality(v_words) = 0
           OR t.token <> lower(t.token) AND (t.place > 1 OR length(t.token) > 1 AND t.token = upper(t.token)))
      AND to_tsvector(p_language, t.token) = '' AND to_tsvector(recall_private.configuration('simple'), t.token) <> ''
    LIMIT 16;
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

-- query_words: the words of a query in this tenant's language, rarest first, at most 16. `documents` of `total` counted
-- memories contain a word; `query` finds them; `share` is the part of the word's weight that a match is worth. `step` is
-- word (memories contain it), prefix or similar (it has substitutes), or unknown. If there are more than 16 words, at
-- most eight unknown ones precede the known ones. Substitutes by spelling are searched for the four longest. p_counts
-- are its tenant_counts.
CREATE OR REPLACE FUNCTION recall_private.query_words(
    p_tenant text, p_language regconfig, p_query text, p_counts recall.lexeme
) RETURNS TABLE (
    word text, documents bigint, total bigint, query tsquery, share double precision, step text
)
LANGUAGE plpgsql STABLE ROWS 8 AS $$
DECLARE
    v_total bigint := p_counts.documents;
    v_counted boolean := p_counts.word IS NOT NULL;
    v_known text[];  -- all words of a small tenant
    v_texts tsvector[];  -- all texts of a small tenant without statistics
BEGIN
    -- Without statistics, words are counted now, so that rare ones weigh more from the first search on.
    IF v_total <= 100 AND NOT v_counted THEN
        v_texts := recall_private.texts_of(p_tenant);
    ELSIF v_total <= 100 THEN
        v_known := ARRAY(SELECT l.word FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word > '' ORDER BY l.word LIMIT 201);
        v_known := CASE WHEN cardinality(v_known) <= 200 THEN v_known END;
    END IF;
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT w.word, w.identifier,
               CASE WHEN v_counted THEN coalesce(l.documents, 0)
                    WHEN v_texts IS NOT NULL THEN (
                        SELECT count(*) FROM unnest(v_texts) t WHERE t @@ recall_private.lexeme_query(w.word))
                    ELSE recall_private.document_frequency(p_tenant, w.word, 10000) END AS documents
        FROM (SELECT * FROM recall_private.lexemes_of(p_language, p_query) LIMIT CASE WHEN NOT v_counted THEN 64 END) w
        LEFT JOIN recall.lexeme l ON v_counted AND l.tenant = p_tenant AND l.word = w.word
    ), missing AS MATERIALIZED (
        SELECT a.word, row_number() OVER (ORDER BY a.word) AS place,
               row_number() OVER (ORDER BY length(a.word) DESC, a.word) AS by_length
        FROM asked a WHERE a.documents = 0 AND NOT a.identifier
    ), chosen AS MATERIALIZED (
        SELECT c.word, c.documents, c.by_length
        FROM (
            SELECT a.word, a.documents, NULL::bigint AS by_length, 0 AS place FROM asked a WHERE a.documents > 0
            UNION ALL SELECT m.word, 0, m.by_length, m.place FROM missing m) c
        ORDER BY c.place > 8, c.documents, c.word LIMIT 16
    ), stood_in AS (
        SELECT c.word, r.*
        FROM (SELECT * FROM chosen k
              -- In a small tenant, most words have nothing like them, which one pass over its words or texts shows.
              WHERE k.documents = 0
                AND (v_known IS NULL OR EXISTS (
                    SELECT FROM unnest(v_known) o(word) WHERE recall_private.may_stand_for(o.word, k.word)))
                AND (v_texts IS NULL OR EXISTS (
                    SELECT FROM unnest(v_texts) t WHERE t @@ recall_private.prefix_query(k.word))) OFFSET 0) c
        CROSS JOIN LATERAL recall_private.word_substitutes(p_tenant, c.word, v_counted, c.by_length <= 4) r
    )
    SELECT c.word, coalesce(r.documents, c.documents), v_total,
           -- The word itself is included, because a memory stored since the count may contain it.
           coalesce(recall_private.lexeme_query(c.word) || r.query, recall_private.lexeme_query(c.word)),
           coalesce(r.share, 1), coalesce(r.step, CASE WHEN c.documents > 0 THEN 'word' ELSE 'unknown' END)
    FROM chosen c LEFT JOIN stood_in r ON r.word = c.word
    ORDER BY 2, 1;
END $$;

-- hint_query: a tsquery for memories that contain every hint, as a phrase of the tenant's language or as it is written.
-- NULL for NULL. Raises an error for an empty list and for a hint without words.
CREATE OR REPLACE FUNCTION recall_private.hint_query(p_tenant text, p_hints text[]) RETURNS tsquery
LANGUAGE plpgsql STABLE
SET client_min_messages = warning AS $$
DECLARE
    v_language regconfig := recall_private.text_configuration(p_tenant);
    v_hint text;
    v_phrase tsquery;
    v_written tsquery;
    v_all tsquery;
BEGIN
    IF p_hints IS NULL THEN
        RETURN NULL;
    ELSIF cardinality(p_hints) NOT BETWEEN 1 AND 32 THEN
        PERFORM recall_private.raise_invalid(format('There are %s hints; give 1 to 32, or none at all.', cardinality(p_hints)));
    END IF;
    FOREACH v_hint IN ARRAY p_hints LOOP
        IF coalesce(btrim(v_hint, E' \t\r\n'), '') = '' THEN
            PERFORM recall_private.raise_invalid('A hint is empty.', 'Name a term that must occur.');
        ELSIF length(v_hint) > 1000 THEN
            PERFORM recall_private.raise_invalid(
                format('A hint has %s characters; the limit is 1,000.', length(v_hint)),
                'Name a term that must occur.');
        END IF;
        v_phrase := phraseto_tsquery(v_language, recall_private.spaced(recall_private.folded(v_hint)));
        v_written := phraseto_tsquery(recall_private.configuration('simple'), recall_private.spaced(recall_private.folded(v_hint)));
        IF numnode(v_phrase) = 0 AND (numnode(v_written) = 0 OR NOT EXISTS (
            SELECT FROM recall.memory m
            WHERE recall_private.tenant_words(m.tenant, m.search_text) @@ recall_private.tenant_query(p_tenant, v_written)
              AND m.tenant || '' = p_tenant)) THEN
            PERFORM recall_private.raise_invalid(
                format('The hint %L has only stop words or punctuation.', left(v_hint, 100)),
                'Name a term that must occur.');
        END IF;
        v_all := coalesce(v_all && (v_phrase || v_written), v_phrase || v_written);
    END LOOP;
    RETURN v_all;
END $$;
