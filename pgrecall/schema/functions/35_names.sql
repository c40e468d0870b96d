-- Names: what entities are called, who wrote, and where a question speaks of either.

-- name_form: how names are compared: lower case, one space between words, none around.
CREATE OR REPLACE FUNCTION recall.name_form(p_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(lower(p_name), '\s+', ' ', 'g'));

-- keep_names: trigger that keeps the table of names equal to the titles and aliases of entities.
CREATE OR REPLACE FUNCTION recall.keep_names() RETURNS trigger
LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM recall.name n WHERE n.tenant = OLD.tenant AND n.memory_id = OLD.id;
    END IF;
    INSERT INTO recall.name (tenant, name, memory_id)
    SELECT DISTINCT NEW.tenant, recall.name_form(known), NEW.id
    FROM unnest(NEW.title || NEW.aliases) known
    WHERE NEW.layer = 'entity' AND recall.name_form(known) <> '' AND length(known) <= 200;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_names_inserted AFTER INSERT ON recall.memory
FOR EACH ROW WHEN (NEW.layer = 'entity') EXECUTE FUNCTION recall.keep_names();

CREATE OR REPLACE TRIGGER memory_names_updated AFTER UPDATE OF layer, title, aliases ON recall.memory
FOR EACH ROW WHEN (OLD.layer = 'entity' OR NEW.layer = 'entity') EXECUTE FUNCTION recall.keep_names();

-- phrases_of: the runs of one to three words of a question, in the form names are compared in, with the
-- positions of their first and last word. Only the first 60 words are looked at.
CREATE OR REPLACE FUNCTION recall.phrases_of(p_query text)
RETURNS TABLE (phrase text, first_word int, last_word int)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    WITH word AS MATERIALIZED (
        SELECT w.ordinality::int AS place, regexp_replace(lower(w.found[1]), '(''|’)s?$', '') AS form
        FROM regexp_matches(p_query, '[[:alnum:]][[:alnum:]''’._-]*', 'g') WITH ORDINALITY w(found)
        LIMIT 60
    ), trimmed AS (
        SELECT place, btrim(form, '.-_') AS form FROM word
    )
    SELECT a.form, a.place, a.place FROM trimmed a
    UNION ALL
    SELECT a.form || ' ' || b.form, a.place, b.place FROM trimmed a JOIN trimmed b ON b.place = a.place + 1
    UNION ALL
    SELECT a.form || ' ' || b.form || ' ' || c.form, a.place, c.place
    FROM trimmed a JOIN trimmed b ON b.place = a.place + 1 JOIN trimmed c ON c.place = a.place + 2
$$;

-- names_in: the entities and authors a question names: `memory_id` of the entity (NULL for an author),
-- how like the name the phrase is (1 = exactly), best first. Misspelt names are looked for only where the
-- question is short or has a word no memory holds: p_unknown.
CREATE OR REPLACE FUNCTION recall.names_in(p_tenant text, p_query text, p_unknown text[] DEFAULT '{}')
RETURNS TABLE (phrase text, name text, memory_id bigint, similarity double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET pg_trgm.similarity_threshold = 0.5 AS $$
DECLARE
    v_words int;
BEGIN
    RETURN QUERY
    SELECT DISTINCT p.phrase, n.name, n.memory_id, 1::double precision
    FROM recall.phrases_of(p_query) p
    JOIN recall.name n ON n.tenant = p_tenant AND n.name = p.phrase;

    RETURN QUERY
    SELECT DISTINCT p.phrase, p.phrase, NULL::bigint, 1::double precision
    FROM recall.phrases_of(p_query) p
    WHERE EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.author IS NOT NULL AND (
            lower(m.author) COLLATE "C" = p.phrase
            OR lower(m.author) COLLATE "C" > p.phrase || ' ' AND lower(m.author) COLLATE "C" < p.phrase || '!'));

    SELECT max(p.last_word) INTO v_words FROM recall.phrases_of(p_query) p;
    RETURN QUERY
    SELECT f.phrase, f.name, f.memory_id, max(f.similarity)
    FROM (
        SELECT p.phrase, n.name, n.memory_id, similarity(n.name, p.phrase)::double precision AS similarity
        FROM (
            SELECT q.phrase FROM recall.phrases_of(p_query) q
            WHERE length(q.phrase) >= 4
              AND (v_words <= 3 OR string_to_array(q.phrase, ' ') && p_unknown)
            LIMIT 12) p
        JOIN recall.name n ON n.tenant = p_tenant AND n.name % p.phrase AND n.name <> p.phrase
    ) f
    GROUP BY f.phrase, f.name, f.memory_id
    ORDER BY 4 DESC, 3 LIMIT 20;
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
    IF to_tsvector('english', question) = '' THEN
        question := p_query;
        names := '{}';
    END IF;
    RETURN NEXT;
END $$;
