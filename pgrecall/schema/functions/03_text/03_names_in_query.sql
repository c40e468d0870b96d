-- Entities and keys that a query names.

-- check_query: returns the query. Raises an error if it is empty or too long.
CREATE OR REPLACE FUNCTION recall_private.check_query(p_query text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF coalesce(btrim(p_query, E' \t\r\n'), '') = '' THEN
        PERFORM recall_private.raise_invalid('The query is empty.', 'Give at least one word.');
    ELSIF length(p_query) > 10000 THEN
        PERFORM recall_private.raise_invalid(
            format('The query has %s characters; the limit is 10,000.', length(p_query)),
            'Give only the part that matters.');
    END IF;
    RETURN p_query;
END $$;

-- query_phrases: every sequence of one to three words of a query, in the form in which names are compared, and every
-- sequence of two to six of the first 40 Chinese, Japanese or Korean letters. Only the first 60 words are read.
CREATE OR REPLACE FUNCTION recall_private.query_phrases(p_query text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_query text := recall_private.folded(p_query);
    v_words text[] := ARRAY(
        SELECT btrim(regexp_replace(lower(w.found[1]), '(''|’)s?[._-]*$', ''), '.-_')
        FROM regexp_matches(v_query, '[[:alnum:]][[:alnum:]''’._-]*', 'g') WITH ORDINALITY w(found, place)
        ORDER BY w.place LIMIT 60);
    v_phrases text[] := v_words;
BEGIN
    FOR i IN 1 .. cardinality(v_words) - 1 LOOP
        v_phrases := v_phrases || (v_words[i] || ' ' || v_words[i + 1]);
        IF i < cardinality(v_words) - 1 THEN
            v_phrases := v_phrases || (v_words[i] || ' ' || v_words[i + 1] || ' ' || v_words[i + 2]);
        END IF;
    END LOOP;
    IF octet_length(v_query) > length(v_query) THEN
        v_phrases := v_phrases || ARRAY(
            SELECT lower(substr(r.run, first, letters))
            FROM (SELECT left(string_agg(m.found[1], ' ' ORDER BY m.place), 40) AS run
                  FROM regexp_matches(v_query, '[' || recall_private.unspaced_letters() || ']{2,}', 'g')
                       WITH ORDINALITY m(found, place)) r,
                 generate_series(1, length(r.run) - 1) first,
                 generate_series(2, least(6, length(r.run) - first + 1)) letters
            WHERE substr(r.run, first, letters) !~ ' ');
    END IF;
    RETURN v_phrases;
END $$;

-- key_like_words: the words of a query that look like the key of a memory: they contain a digit or one of - _ / . : # @,
-- and are not just a number or a time of day. Only the first 60 words are read.
CREATE OR REPLACE FUNCTION recall_private.key_like_words(p_query text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_query !~ '[0-9_/.:#@-]' THEN
        RETURN '{}';  -- most queries have no such character
    END IF;
    RETURN (
        SELECT coalesce(array_agg(DISTINCT k.word) FILTER (
            WHERE k.word ~ '[0-9_/.:#@-]' AND k.word !~ '^[0-9.,:]*$'), '{}')
        FROM (
            SELECT btrim(w.word, '.,:;!?"()[]') AS word
            FROM regexp_split_to_table(p_query, '[[:space:]]+') WITH ORDINALITY w(word, place)
            WHERE w.word <> '' ORDER BY w.place LIMIT 60) k);
END $$;

-- plain_texts: plain() of each of these texts, in their order.
CREATE OR REPLACE FUNCTION recall_private.plain_texts(p_texts text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF octet_length(array_to_string(p_texts, '')) = length(array_to_string(p_texts, '')) THEN
        RETURN p_texts;  -- ASCII has no accents
    END IF;
    RETURN ARRAY(SELECT recall_private.plain(u.text) FROM unnest(p_texts) WITH ORDINALITY u(text, place) ORDER BY u.place);
END $$;

-- memories_named: the memories with this name, which is given without accents; with p_entities only entities. No rows if
-- more than 50 have it: a title that a tool gives to every conversation names none of them. Inlined.
CREATE OR REPLACE FUNCTION recall_private.memories_named(p_tenant text, p_plain text, p_entities boolean)
RETURNS TABLE (name text, memory_id bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT n.name, n.memory_id
    FROM (
        SELECT b.name, b.memory_id, count(*) OVER () AS bearers
        FROM (SELECT k.name, k.memory_id FROM recall.name k
              WHERE k.tenant = p_tenant AND k.plain = p_plain
                AND k.entity = ANY (CASE WHEN p_entities THEN ARRAY[true] ELSE ARRAY[false, true] END) LIMIT 51) b) n
    WHERE n.bearers <= 50;
END;

-- exact_names_in_query: the part of names_in_query that finds exact names. p_phrases are the query_phrases.
CREATE OR REPLACE FUNCTION recall_private.exact_names_in_query(p_tenant text, p_language regconfig, p_query text, p_phrases text[])
RETURNS TABLE (phrase text, name text, memory_id bigint, similarity double precision, whole boolean)
LANGUAGE plpgsql STABLE ROWS 5 AS $$
DECLARE
    v_normalized text := recall_private.normalized_name(p_query);
    v_whole text := recall_private.plain(v_normalized);
    v_plain text[] := recall_private.plain_texts(p_phrases);
    v_keys text[] := recall_private.key_like_words(p_query);
BEGIN
    -- One index probe for all phrases, because most queries contain no name.
    IF EXISTS (SELECT FROM recall.name n WHERE n.tenant = p_tenant AND n.plain = ANY (v_plain || v_whole)) THEN
        RETURN QUERY
        SELECT v_normalized, n.name, n.memory_id, 1::double precision, true
        FROM recall_private.memories_named(p_tenant, v_whole, false) n
        UNION ALL
        SELECT p.phrase, n.name, n.memory_id, 1, false
        FROM unnest(p_phrases, v_plain) p(phrase, plain)
        CROSS JOIN LATERAL recall_private.memories_named(p_tenant, p.plain, true) n
        WHERE p.plain <> v_whole AND to_tsvector(p_language, n.name) <> '';
    END IF;
    IF v_keys <> '{}' THEN
        RETURN QUERY
        SELECT lower(k.key), k.key, m.id, 1::double precision, k.key = btrim(p_query)
        FROM unnest(v_keys) k(key) JOIN recall.memory m ON m.tenant = p_tenant AND m.key = k.key;
    END IF;
END $$;

-- misspelt_names: the entities with a name that is similar, but not equal, to one of the first 12 of these phrases; the
-- most similar first. All names of the tenant are read once, with their signatures, from a B-tree that begins with the
-- tenant. The cost of reading a trigram index would depend on the names of all tenants.
CREATE OR REPLACE FUNCTION recall_private.misspelt_names(p_tenant text, p_phrases text[])
RETURNS TABLE (phrase text, name text, memory_id bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 5
SET pg_trgm.similarity_threshold = 0.3 AS $$
DECLARE
    v_part constant double precision := 0.2307;  -- .3 / 1.3, rounded down
    v_phrases text[];
    v_plain text[];
    v_bits bit(256)[];
    v_least double precision[];
    v_any bit(256);  -- the bits of all phrases
    v_fewest double precision;
    -- Variables, because reading an element of an array costs as much as counting bits.
    b1 bit(256); b2 bit(256); b3 bit(256); b4 bit(256); b5 bit(256); b6 bit(256);
    l1 double precision; l2 double precision; l3 double precision;
    l4 double precision; l5 double precision; l6 double precision;
BEGIN
    -- Two texts with n and m trigrams and a similarity of at least .3 have at least .3 / 1.3 (n + m) trigrams in common.
    -- The signature of a name has at most one bit for each of its m trigrams; trigrams of a phrase may share bits.
    SELECT array_agg(p.phrase), array_agg(p.plain), array_agg(p.bits), array_agg(p.least), bit_or(p.bits), min(p.least)
    INTO v_phrases, v_plain, v_bits, v_least, v_any, v_fewest
    FROM (SELECT t.phrase, t.plain, t.bits, v_part * t.trigrams - (t.trigrams - bit_count(t.bits)) AS least
          FROM (SELECT d.phrase, recall_private.plain(d.phrase) AS plain, recall_private.trigram_signature(d.phrase) AS bits,
                       cardinality(show_trgm(recall_private.plain(d.phrase))) AS trigrams
                FROM unnest(p_phrases) d(phrase) WHERE length(d.phrase) >= 4 OFFSET 0) t
          WHERE t.trigrams > 0 LIMIT 12) p;
    b1 := v_bits[1]; b2 := v_bits[2]; b3 := v_bits[3]; b4 := v_bits[4]; b5 := v_bits[5]; b6 := v_bits[6];
    l1 := v_least[1]; l2 := v_least[2]; l3 := v_least[3]; l4 := v_least[4]; l5 := v_least[5]; l6 := v_least[6];
    -- OFFSET 0 makes Postgres compare bits before letters, which cost ten times as much.
    RETURN QUERY
    SELECT s.phrase, s.name, s.memory_id, max(similarity(s.known, s.plain))::double precision
    FROM (
        SELECT q.phrase, q.plain, n.name, n.plain AS known, n.memory_id
        FROM (
            SELECT k.name, k.plain, k.memory_id, k.signature, v_part * bit_count(k.signature) AS share
            FROM recall.name k
            -- A name with too few bits in common with all phrases has too few in common with any of them.
            WHERE k.entity AND k.tenant = p_tenant
              AND bit_count(k.signature & v_any) >= v_fewest + v_part * bit_count(k.signature) OFFSET 0) n
        JOIN unnest(v_phrases, v_plain, v_bits, v_least) q(phrase, plain, bits, least)
            ON bit_count(n.signature & q.bits) >= q.least + n.share
        WHERE cardinality(v_bits) > 6
           OR bit_count(n.signature & b1) >= l1 + n.share OR bit_count(n.signature & b2) >= l2 + n.share
           OR bit_count(n.signature & b3) >= l3 + n.share OR bit_count(n.signature & b4) >= l4 + n.share
           OR bit_count(n.signature & b5) >= l5 + n.share OR bit_count(n.signature & b6) >= l6 + n.share
        OFFSET 0) s
    WHERE s.known % s.plain AND s.known <> s.plain
    GROUP BY s.phrase, s.name, s.memory_id
    ORDER BY 4 DESC, 3, 1 LIMIT 20;
END $$;

-- may_name: whether a query can name a memory: the tenant has names, a word of the query looks like a key, or the query is
-- one.
CREATE OR REPLACE FUNCTION recall_private.may_name(p_tenant text, p_query text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM recall.name n WHERE n.tenant = p_tenant)
        OR recall_private.key_like_words(p_query) <> '{}'
        OR EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.key = btrim(p_query));
END $$;

-- names_in_query: the entities that a query names. `similarity` is that of the phrase and the name (1 means equal except for
-- accents), and `whole` says whether the query consists of this name alone. The whole query can be the title or alias of
-- any memory, with any length and any characters. Inside a query, stop words ("will", "the") are not names, and a word that
-- is the key of a memory names it. Misspelt names are searched only if the query is short or has a word that no memory
-- contains (p_unknown has the lexemes of such words). p_phrases are its query_phrases. For a query that may_name one.
CREATE OR REPLACE FUNCTION recall_private.names_in_query(
    p_tenant text, p_language regconfig, p_query text, p_unknown text[], p_phrases text[]
) RETURNS TABLE (phrase text, name text, memory_id bigint, similarity double precision, whole boolean)
LANGUAGE plpgsql STABLE ROWS 5 AS $$
DECLARE
    v_doubtful text[];
BEGIN
    RETURN QUERY SELECT * FROM recall_private.exact_names_in_query(p_tenant, p_language, p_query, p_phrases);

    IF NOT EXISTS (SELECT FROM recall.name n WHERE n.tenant = p_tenant AND n.entity) THEN
        RETURN;
    ELSIF cardinality(p_phrases) <= 6 THEN  -- up to three words
        v_doubtful := p_phrases;
    ELSIF cardinality(p_unknown) > 0 THEN
        v_doubtful := ARRAY(
            SELECT p.phrase FROM unnest(p_phrases) p(phrase)
            WHERE tsvector_to_array(to_tsvector(p_language, p.phrase)) && p_unknown LIMIT 12);
    ELSE
        RETURN;
    END IF;
    RETURN QUERY
    SELECT m.phrase, m.name, m.memory_id, m.similarity, m.phrase = recall_private.normalized_name(p_query)
    FROM recall_private.misspelt_names(p_tenant, v_doubtful) m;
END $$;

-- without_names: a query from which these phrases are removed, in any case and with a possessive ending.
CREATE OR REPLACE FUNCTION recall_private.without_names(p_query text, p_names text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_rest text := p_query;
    v_name text;
BEGIN
    FOREACH v_name IN ARRAY p_names LOOP
        v_rest := regexp_replace(
            v_rest,
            '\m' || regexp_replace(regexp_replace(v_name, '([.\\+*?\[\]^$(){}|-])', '\\\1', 'g'), ' ', '\\s+', 'g')
                 || '(''s|’s)?(?!\w)',
            '', 'gi');
    END LOOP;
    RETURN btrim(regexp_replace(v_rest, '\s+', ' ', 'g'));
END $$;

-- queries_without_names (reader): these queries without the names they contain, by `place` (from 1), and the removed
-- names. The result is what gets embedded: a name pulls the vector towards everything about its bearer. A query that
-- consists of names stays whole.
CREATE OR REPLACE FUNCTION recall.queries_without_names(p_queries text[])
RETURNS TABLE (place int, query text, names text[])
LANGUAGE plpgsql STABLE ROWS 1
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_language regconfig := recall_private.text_configuration(v_tenant);
    v_authors boolean := recall_private.has_authors(v_tenant);
    v_query text;
    v_phrases text[];
BEGIN
    place := 0;
    FOREACH v_query IN ARRAY coalesce(p_queries, '{}') LOOP
        PERFORM recall_private.check_query(v_query);
        place := place + 1;
        names := '{}';
        IF v_authors OR recall_private.may_name(v_tenant, v_query) THEN
            v_phrases := recall_private.query_phrases(v_query);
            names := ARRAY(
                SELECT n.phrase
                FROM (SELECT x.phrase FROM recall_private.exact_names_in_query(v_tenant, v_language, v_query, v_phrases) x
                      UNION SELECT unnest(recall_private.authors_in_query(v_tenant, v_language, v_phrases)) WHERE v_authors) n
                ORDER BY length(n.phrase) DESC, n.phrase);
        END IF;
        query := recall_private.without_names(CASE WHEN names = '{}' THEN v_query ELSE recall_private.folded(v_query) END, names);
        IF to_tsvector(v_language, recall_private.unchained(query)) = '' THEN
            query := v_query;
            names := '{}';
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
