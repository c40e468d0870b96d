-- Comparison of two memories: whether one is a duplicate of the other. A duplicate adds nothing: all of its content
-- words are in the other memory, and numbers, names, dates, negations and decisive words are equal. Memories that fail
-- this test are not merged, however similar in meaning they are.

-- attribute_difference: the attribute by which two memories are different, whatever their texts are. NULL if they may be
-- duplicates.
CREATE OR REPLACE FUNCTION recall_private.attribute_difference(m recall.memory, o recall.memory) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN m.layer <> o.layer THEN 'different layers'
    WHEN lower(m.author) <> lower(o.author) THEN 'different authors'
    WHEN m.role <> o.role THEN 'different roles'
    WHEN abs(extract(epoch FROM m.occurred_at - o.occurred_at)) >= 86400 THEN 'different days'
    WHEN (m.valid_from, m.valid_until) IS DISTINCT FROM (o.valid_from, o.valid_until) THEN 'valid at different times'
    WHEN m.language <> o.language THEN 'different languages' END;

-- whole_text: the title and the body of a memory as one text for comparison.
CREATE OR REPLACE FUNCTION recall_private.whole_text(p_title text, p_body text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_title = '' THEN p_body WHEN p_body = '' THEN p_title ELSE p_title || E'\n' || p_body END;

-- plain_words: the words of a text in their order, in lower case, without punctuation.
CREATE OR REPLACE FUNCTION recall_private.plain_words(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(lower(regexp_replace(p_text, '\W+', ' ', 'g')));

-- begins_alike: whether the first thousand characters of two texts have the same words, as far as the shorter one goes.
-- False means that the texts have different words.
CREATE OR REPLACE FUNCTION recall_private.begins_alike(p_one text, p_other text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(b.one, least(length(b.one), length(b.other))) = left(b.other, least(length(b.one), length(b.other)))
    FROM (SELECT recall_private.plain_words(left(p_one, 1000)) AS one, recall_private.plain_words(left(p_other, 1000)) AS other OFFSET 0) b
$$;

-- has_placeholder: whether a program fills in a part of this title when it makes a note: `{{title}}`, `{% name %}`,
-- `<% tp.file.title %>` or `${name}`.
CREATE OR REPLACE FUNCTION recall_private.has_placeholder(p_title text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_title ~ '\{\{.*\}\}|\{%.*%\}|<%.*%>|\$\{.*\}';

-- is_same_title: whether two titles can name the same thing: one is empty, or both have the same content words,
-- ignoring order and case. An additional word names another thing: `Sanctum` and `Sanctum reborn`. A title with a
-- placeholder is of a template. Templates of different notes often have the same few words, and none may be missing.
CREATE OR REPLACE FUNCTION recall_private.is_same_title(p_language text, p_title text, p_other text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN NOT recall_private.has_placeholder(p_title) AND NOT recall_private.has_placeholder(p_other) AND (
    p_title = '' OR p_other = '' OR recall_private.plain_words(p_title) = recall_private.plain_words(p_other)
    OR recall_private.content_words(p_language, p_title) <> '{}'
       AND recall_private.content_words(p_language, p_title) = recall_private.content_words(p_language, p_other));

-- repeated_words: the content words of a text and those of the words p_telling that it contains, as stems, each with
-- its number of occurrences.
CREATE OR REPLACE FUNCTION recall_private.repeated_words(p_language text, p_text text, p_telling text[])
RETURNS TABLE (word text, times bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT s.lexeme, cardinality(s.positions)::bigint
    FROM unnest(to_tsvector(recall_private.configuration(p_language), recall_private.unchained(p_text))) s
    WHERE s.lexeme !~ '\d' AND s.lexeme <> ALL (p_telling)
    UNION ALL
    SELECT w, count(*) FROM unnest(string_to_array(recall_private.plain_words(p_text), ' ')) w WHERE w = ANY (p_telling) GROUP BY w
$$;

-- compare_texts: the relation of two texts of one language. The verdict is `same` (one of them adds nothing to the
-- other), `contradicts` (they differ only in a negation, a number, a date or a decisive word) or `apart`, with the
-- reason in words; `one_words` and `other_words` count the words of content that only that one has, or has more often.
-- Texts of more than 8,000 characters are the same only if all their words are. Pairs are judged once: when these rules
-- change, a revision must empty `compared` and `duplicate_pair`, as 0026 does.
CREATE OR REPLACE FUNCTION recall_private.compare_texts(
    p_language text, p_one text, p_other text,
    OUT verdict text, OUT reason text, OUT one_words int, OUT other_words int
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_long boolean := greatest(length(p_one), length(p_other)) > 8000;
    v_one text;
    v_other text;
    v_numbers text[];
    v_other_numbers text[];
    v_times text[];
    v_other_times text[];
    v_decisive text[];
    v_other_decisive text[];
    v_words text[];
    v_other_words text[];
    v_only text[];
    v_only_other text[];
    v_names text[];
    v_other_names text[];
    v_differences text[] := '{}';
    -- Whether both texts have as many words in the place that differs.
    v_both boolean := true;
    v_shared int;
BEGIN
    one_words := 0;
    other_words := 0;
    verdict := 'apart';
    IF v_long AND NOT recall_private.begins_alike(p_one, p_other) THEN
        reason := 'long texts with different words';
        RETURN;
    END IF;
    v_one := recall_private.plain_words(p_one);
    v_other := recall_private.plain_words(p_other);
    v_numbers := recall_private.stated_numbers(p_one);
    v_other_numbers := recall_private.stated_numbers(p_other);
    IF v_one = v_other AND v_numbers = v_other_numbers THEN
        verdict := CASE WHEN length(v_one) > 0 THEN 'same' ELSE 'apart' END;
        reason := 'the same words';
        RETURN;
    ELSIF v_long THEN
        reason := 'long texts with different words';
        RETURN;
    END IF;
    v_times := recall_private.stated_times(p_one);
    v_other_times := recall_private.stated_times(p_other);
    v_decisive := recall_private.decisive_words(p_one);
    v_other_decisive := recall_private.decisive_words(p_other);
    v_words := recall_private.content_words(p_language, p_one);
    v_other_words := recall_private.content_words(p_language, p_other);
    -- Times and decisive words are compared below and must not count twice.
    v_only := ARRAY(SELECT w FROM (SELECT unnest(v_words) EXCEPT SELECT unnest(v_other_words)) d(w)
        WHERE w <> ALL (recall_private.content_words(p_language, array_to_string(v_times || v_decisive, ' '))));
    v_only_other := ARRAY(SELECT w FROM (SELECT unnest(v_other_words) EXCEPT SELECT unnest(v_words)) d(w)
        WHERE w <> ALL (recall_private.content_words(p_language, array_to_string(v_other_times || v_other_decisive, ' '))));
    IF v_only <> '{}' AND v_only_other <> '{}' AND cardinality(v_only) <= 10 AND cardinality(v_only_other) <= 10 THEN
        WITH spelled AS MATERIALIZED (
            SELECT a.w AS one, b.w AS other FROM unnest(v_only) a(w) JOIN unnest(v_only_other) b(w)
                ON recall_private.is_spelling_of(a.w, b.w)
        )
        SELECT ARRAY(SELECT unnest(v_only) EXCEPT SELECT s.one FROM spelled s),
               ARRAY(SELECT unnest(v_only_other) EXCEPT SELECT s.other FROM spelled s)
        INTO v_only, v_only_other;
    END IF;
    -- A word that was replaced may occur elsewhere in the text (`note` in a footer), so repetitions count as well.
    SELECT v_only || coalesce(array_agg(r.word ORDER BY r.word) FILTER (WHERE r.times > o.times), '{}'),
           v_only_other || coalesce(array_agg(r.word ORDER BY r.word) FILTER (WHERE r.times < o.times), '{}')
    INTO v_only, v_only_other
    FROM recall_private.repeated_words(p_language, p_one, v_times || v_decisive) r
    JOIN recall_private.repeated_words(p_language, p_other, v_other_times || v_other_decisive) o USING (word);
    one_words := cardinality(v_only);
    other_words := cardinality(v_only_other);
    IF one_words > 0 AND other_words > 0 THEN
        reason := format('each has words of its own (%s; %s)', left(array_to_string(v_only, ', '), 100),
                         left(array_to_string(v_only_other, ', '), 100));
        RETURN;
    END IF;
    IF v_numbers <> v_other_numbers THEN
        v_both := cardinality(v_numbers) = cardinality(v_other_numbers);
        v_differences := v_differences || ARRAY[format('numbers (%s; %s)',
            coalesce(nullif(left(array_to_string(v_numbers, ', '), 100), ''), 'none'),
            coalesce(nullif(left(array_to_string(v_other_numbers, ', '), 100), ''), 'none'))];
    END IF;
    IF recall_private.negation_count(p_one) <> recall_private.negation_count(p_other) THEN
        v_differences := v_differences || ARRAY['negations'];
    END IF;
    IF v_times <> v_other_times THEN
        v_both := cardinality(v_times) = cardinality(v_other_times);
        v_differences := v_differences || ARRAY[format('dates (%s; %s)',
            coalesce(nullif(array_to_string(v_times, ', '), ''), 'none'),
            coalesce(nullif(array_to_string(v_other_times, ', '), ''), 'none'))];
    END IF;
    IF v_decisive <> v_other_decisive THEN
        v_both := cardinality(v_decisive) = cardinality(v_other_decisive);
        v_differences := v_differences || ARRAY[format('words (%s; %s)',
            coalesce(nullif(array_to_string(
                ARRAY(SELECT unnest(v_decisive) EXCEPT SELECT unnest(v_other_decisive)), ', '), ''), 'none'),
            coalesce(nullif(array_to_string(
                ARRAY(SELECT unnest(v_other_decisive) EXCEPT SELECT unnest(v_decisive)), ', '), ''), 'none'))];
    END IF;
    v_shared := (SELECT count(*) FROM (SELECT unnest(v_words) INTERSECT SELECT unnest(v_other_words)) c);
    v_names := ARRAY(SELECT n FROM unnest(recall_private.named_words(p_one, false)) n
                     WHERE n <> ALL (string_to_array(v_other, ' ')) AND n <> ALL (v_times));
    v_other_names := ARRAY(SELECT n FROM unnest(recall_private.named_words(p_other, false)) n
                           WHERE n <> ALL (string_to_array(v_one, ' ')) AND n <> ALL (v_other_times));
    IF v_names <> '{}' OR v_other_names <> '{}' THEN
        reason := format('different names (%s)', left(array_to_string(v_names || v_other_names, ', '), 100));
    ELSIF v_shared < 2 OR v_shared * 2 < greatest(cardinality(v_words), cardinality(v_other_words)) THEN
        reason := 'few words in common';
    ELSIF cardinality(v_differences) = 1 AND v_both AND one_words = 0 AND other_words = 0
          AND NOT recall_private.in_other_order(string_to_array(v_one, ' '), string_to_array(v_other, ' ')) THEN
        verdict := 'contradicts';
        reason := 'different ' || v_differences[1];
    ELSIF v_differences <> '{}' THEN
        reason := 'different ' || array_to_string(v_differences, ', ');
    ELSIF v_shared < 3 AND one_words + other_words > 0 THEN
        reason := 'too short to decide';
    ELSIF recall_private.in_other_order(recall_private.named_words(p_one, true), recall_private.named_words(p_other, true))
          OR recall_private.in_other_order(string_to_array(v_one, ' '), string_to_array(v_other, ' ')) THEN
        reason := 'the words come in a different order';
    ELSE
        verdict := 'same';
        reason := CASE WHEN one_words + other_words = 0 THEN 'the same content words'
            ELSE format('one says more (%s)', left(array_to_string(v_only || v_only_other, ', '), 100)) END;
    END IF;
END $$;

-- are_apart: whether somebody linked this memory with one of these others because they differ.
CREATE OR REPLACE FUNCTION recall_private.are_apart(p_tenant text, p_memory_id bigint, p_others bigint[]) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (
    SELECT FROM recall.link l
    WHERE l.tenant = p_tenant AND l.relation IN ('contradicts', 'supersedes')
      AND (l.src = p_memory_id AND l.dst = ANY (p_others) OR l.dst = p_memory_id AND l.src = ANY (p_others)));
