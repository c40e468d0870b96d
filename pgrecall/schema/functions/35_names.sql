-- Names: what entities are called, who wrote, and where a question speaks of either.

-- name_form: how names are compared: lower case, one space between words, none around.
CREATE OR REPLACE FUNCTION recall.name_form(p_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(lower(p_name), '\s+', ' ', 'g'));

-- keep_names: trigger that keeps the table of names equal to the titles and aliases of memories.
CREATE OR REPLACE FUNCTION recall.keep_names() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM recall.name n WHERE n.tenant = OLD.tenant AND n.memory_id = OLD.id;
    END IF;
    INSERT INTO recall.name (tenant, name, memory_id, entity)
    SELECT DISTINCT NEW.tenant, recall.name_form(known), NEW.id, NEW.layer = 'entity'
    FROM unnest(NEW.title || NEW.aliases) known
    WHERE recall.name_form(known) <> '' AND length(known) <= 200;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_names_inserted AFTER INSERT ON recall.memory
FOR EACH ROW WHEN (NEW.title <> '' OR NEW.aliases <> '{}') EXECUTE FUNCTION recall.keep_names();

CREATE OR REPLACE TRIGGER memory_names_updated AFTER UPDATE OF layer, title, aliases ON recall.memory
FOR EACH ROW WHEN (
    (OLD.layer, OLD.title, OLD.aliases) IS DISTINCT FROM (NEW.layer, NEW.title, NEW.aliases)) EXECUTE FUNCTION recall.keep_names();

-- check_query: raises for a question that is empty or too long to be asked.
CREATE OR REPLACE FUNCTION recall.check_query(p_query text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF coalesce(btrim(p_query, E' \t\r\n'), '') = '' THEN
        PERFORM recall.reject('The query is empty.', 'Ask with at least one word.');
    ELSIF length(p_query) > 10000 THEN
        PERFORM recall.reject(
            format('The query has %s characters; at most 10,000 can be asked.', length(p_query)),
            'Ask with the part that matters.');
    END IF;
END $$;

-- phrases_of: the runs of one to three words of a question, in the form names are compared in. Only the
-- first 60 words are looked at.
CREATE OR REPLACE FUNCTION recall.phrases_of(p_query text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_words text[] := ARRAY(
        SELECT btrim(regexp_replace(lower(w.found[1]), '(''|’)s?$', ''), '.-_')
        FROM regexp_matches(p_query, '[[:alnum:]][[:alnum:]''’._-]*', 'g') WITH ORDINALITY w(found, place)
        ORDER BY w.place LIMIT 60);
    v_phrases text[] := v_words;
BEGIN
    FOR i IN 1 .. cardinality(v_words) - 1 LOOP
        v_phrases := v_phrases || (v_words[i] || ' ' || v_words[i + 1]);
        IF i < cardinality(v_words) - 1 THEN
            v_phrases := v_phrases || (v_words[i] || ' ' || v_words[i + 1] || ' ' || v_words[i + 2]);
        END IF;
    END LOOP;
    RETURN v_phrases;
END $$;

-- names_in: the entities and authors a question names: `memory_id` of the entity (NULL for an author) and
-- how like the name the phrase is (1 = exactly); `whole` when the question is nothing but this name. The whole
-- question may be the title or alias of any memory, however long and whatever its characters; inside a
-- question, stop words ("will", "the") and roles ("user") are no names. Misspelt names are looked for only
-- where the question is short or has a word (a lexeme of p_unknown) that no memory holds.
CREATE OR REPLACE FUNCTION recall.names_in(p_tenant text, p_query text, p_unknown text[] DEFAULT '{}')
RETURNS TABLE (phrase text, name text, memory_id bigint, similarity double precision, whole boolean)
LANGUAGE plpgsql STABLE ROWS 5
SET search_path FROM CURRENT
SET pg_trgm.similarity_threshold = 0.4 AS $$
DECLARE
    v_language regconfig := recall.language_of(p_tenant);
    v_phrases text[] := recall.phrases_of(p_query);
    v_plain_phrases text[] := ARRAY(SELECT recall.plain(p) FROM unnest(v_phrases) p);
    v_question text := recall.name_form(p_query);
    v_plain text := recall.plain(v_question);
    v_doubtful text[];
BEGIN
    RETURN QUERY
    SELECT n.name, n.name, n.memory_id, 1::double precision, n.plain = v_plain
    FROM recall.name n
    WHERE n.tenant = p_tenant
      AND (n.plain = v_plain
           OR n.plain = ANY (v_plain_phrases) AND n.entity AND to_tsvector(v_language, n.name) <> '');

    RETURN QUERY
    SELECT DISTINCT p.phrase, p.phrase, NULL::bigint, 1::double precision, p.phrase = v_question
    FROM unnest(v_phrases) p(phrase)
    WHERE to_tsvector(v_language, p.phrase) <> '' AND p.phrase NOT IN ('user', 'assistant', 'system', 'tool')
      AND EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.author IS NOT NULL AND (
            recall.plain(lower(m.author)) COLLATE "C" = recall.plain(p.phrase)
            OR recall.plain(lower(m.author)) COLLATE "C" > recall.plain(p.phrase) || ' '
               AND recall.plain(lower(m.author)) COLLATE "C" < recall.plain(p.phrase) || '!'));

    IF cardinality(v_phrases) <= 6 THEN  -- up to three words
        v_doubtful := v_phrases;
    ELSIF cardinality(p_unknown) > 0 THEN
        v_doubtful := ARRAY(
            SELECT p.phrase FROM unnest(v_phrases) p(phrase)
            WHERE tsvector_to_array(to_tsvector(v_language, p.phrase)) && p_unknown LIMIT 12);
    ELSE
        RETURN;
    END IF;
    RETURN QUERY
    SELECT p.phrase, n.name, n.memory_id, max(similarity(n.plain, recall.plain(p.phrase)))::double precision,
           p.phrase = v_question
    FROM unnest(v_doubtful) p(phrase)
    JOIN recall.name n ON n.entity AND n.tenant = p_tenant AND n.plain % recall.plain(p.phrase)
        AND n.plain <> recall.plain(p.phrase)
    WHERE length(p.phrase) >= 4
    GROUP BY p.phrase, n.name, n.memory_id
    ORDER BY 4 DESC, 3, 1 LIMIT 20;
END $$;

-- question_without_names: the question to embed: known names taken out, since they pull the vector towards
-- whoever is named; the whole question where nothing else would be left. Also the names taken out.
CREATE OR REPLACE FUNCTION recall.question_without_names(p_query text)
RETURNS TABLE (question text, names text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_phrase text;
BEGIN
    PERFORM recall.check_query(p_query);
    question := p_query;
    names := ARRAY(
        SELECT n.phrase FROM recall.names_in(v_tenant, p_query) n
        WHERE n.similarity = 1
        GROUP BY n.phrase ORDER BY length(n.phrase) DESC, n.phrase);
    FOREACH v_phrase IN ARRAY names LOOP
        question := regexp_replace(
            question,
            '\m' || regexp_replace(regexp_replace(v_phrase, '([.\\+*?\[\]^$(){}|-])', '\\\1', 'g'), ' ', '\\s+', 'g')
                 || '(''s|’s)?(?!\w)',
            '', 'gi');
    END LOOP;
    question := btrim(regexp_replace(question, '\s+', ' ', 'g'));
    IF to_tsvector(recall.language_of(v_tenant), question) = '' THEN
        question := p_query;
        names := '{}';
    END IF;
    RETURN NEXT;
END $$;
