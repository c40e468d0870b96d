-- Signs that two texts state different things.

-- time_names: the names of days, months and times of day, in lower case. English, German, Spanish and French.
CREATE OR REPLACE FUNCTION recall_private.time_names() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    'monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday '
    'sundays january february march april june july august september october november december today tonight yesterday '
    'tomorrow morning noon afternoon evening night midnight daily weekly monthly yearly spring summer autumn winter '
    'montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag freitags samstag samstags '
    'sonntag sonntags januar februar märz mai juni juli oktober dezember heute gestern morgen abend abends mittag '
    'mittags nacht nachts lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio '
    'julio agosto septiembre octubre noviembre diciembre hoy ayer mañana lundi mardi mercredi jeudi vendredi samedi '
    'dimanche janvier février mars avril juin juillet août septembre octobre novembre décembre hier demain';

-- stated_times: those in a text, sorted.
CREATE OR REPLACE FUNCTION recall_private.stated_times(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT t[1]
    FROM regexp_matches(lower(p_text), '\m(' || replace(recall_private.time_names(), ' ', '|') || ')\M', 'g') t ORDER BY 1);

-- deciding_words: small words that change the meaning of a sentence, and numbers in words, in lower case. Texts with
-- different ones state different things, even if all other words are the same.
CREATE OR REPLACE FUNCTION recall_private.deciding_words() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    'on off from into before after until since above below over under up down left right inside outside more less most '
    'least few many all every some any only except unless if but instead almost nearly always often sometimes seldom '
    'rarely ever will would should could can may might must was were last next former old new first second third half '
    'twice one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million plus minus yes '
    'true false an aus vor nach bis seit über unter mehr weniger alle manche nur außer wenn aber fast immer oft selten '
    'wird würde soll kann darf muss war letzte letzten letzter letztes nächste nächsten nächster nächstes zwei drei vier '
    'fünf sechs sieben acht neun zehn elf zwölf más menos todos algunos sólo si pero casi siempre dos tres cuatro cinco '
    'seis siete ocho nueve diez';

-- decisive_words: those in a text, sorted. "an" is one in German, but the article in English.
CREATE OR REPLACE FUNCTION recall_private.decisive_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT t[1]
    FROM regexp_matches(lower(p_text), '\m(' || replace(recall_private.deciding_words(), ' ', '|') || ')\M', 'g') t
    WHERE t[1] <> 'an' OR p_text ~* '\m(der|die|das|ist|und)\M'
    ORDER BY 1);

-- ignored_stems: the stems of all words that stated_times, decisive_words and negation_count look for, and of what their
-- contractions leave (`would` of `wouldn't`). may_say_the_same ignores them, because compare_texts treats them separately.
-- A new word in negation_count needs its place here; tests/integration/dedupe/test_dedupe_prefilter.py compares them.
CREATE OR REPLACE FUNCTION recall_private.ignored_stems(p_language text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_to_array(w.words, ' ')
           || tsvector_to_array(to_tsvector(recall_private.configuration(p_language), w.words))
           || tsvector_to_array(to_tsvector(recall_private.configuration(p_language), recall_private.plain(w.words)))
    FROM (VALUES (
        recall_private.time_names() || ' ' || recall_private.deciding_words() || ' '
        || 'not no never none nobody nothing neither nor without cannot nicht kein keine keinen keinem keiner keines '
        'keinerlei nie niemals niemand nichts ohne weder nunca jamás nadie nada ningún ninguna ninguno ningunas ningunos '
        'sin tampoco ai ain are aren couldn did didn do don does doesn had hadn has hasn have haven is isn ca mightn '
        'mustn need needn sha shan shouldn wasn weren wo won wouldn')) w(words)
$$;

-- content_words: the distinct stems of a text in a language, without numbers and stop words, but with pronouns. Negations
-- are left out, because negation_count compares them.
CREATE OR REPLACE FUNCTION recall_private.content_words(p_language text, p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT w FROM unnest(tsvector_to_array(to_tsvector(
        recall_private.configuration(p_language), regexp_replace(p_text, 'n[''\u2019]t\M', '', 'gi')))) w
    WHERE w !~ '\d' AND recall_private.negation_count(w) = 0
    UNION
    SELECT t[1] FROM regexp_matches(
        lower(p_text), '\m(i|you|he|she|we|they|my|your|his|her|our|their|me|him|us|them|ich|du|er|wir|mein|dein|unser)\M',
        'g') t);

-- named_words: the words of a text that begin with a capital letter, in their order and in lower case; at the beginning
-- of a sentence only with p_anywhere.
CREATE OR REPLACE FUNCTION recall_private.named_words(p_text text, p_anywhere boolean) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT lower(w.word[1])
    FROM regexp_split_to_table(p_text, '[.!?:;]+\s+|\n+') WITH ORDINALITY s(sentence, place)
    CROSS JOIN LATERAL regexp_matches(s.sentence, '\w+', 'g') WITH ORDINALITY w(word, place)
    WHERE w.word[1] ~ '[[:upper:]]' AND (p_anywhere OR w.place > 1)
    ORDER BY s.place, w.place);

-- is_spelling_of: whether two words differ only in one letter in the middle or at the end: `harbour` and `harbor`.
CREATE OR REPLACE FUNCTION recall_private.is_spelling_of(p_word text, p_other text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_longest int := greatest(length(p_word), length(p_other));
    v_begin int := 0;
    v_end int := 0;
BEGIN
    IF least(length(p_word), length(p_other)) < 5 OR abs(length(p_word) - length(p_other)) > 1 THEN
        RETURN false;
    END IF;
    WHILE v_begin < v_longest AND substr(p_word, v_begin + 1, 1) = substr(p_other, v_begin + 1, 1) LOOP
        v_begin := v_begin + 1;
    END LOOP;
    WHILE v_end < v_longest - v_begin AND left(right(p_word, v_end + 1), 1) = left(right(p_other, v_end + 1), 1) LOOP
        v_end := v_end + 1;
    END LOOP;
    RETURN v_begin >= 2 AND v_begin + v_end >= v_longest - 1;
END $$;

-- in_other_order: whether the words that occur once in both lists have a different order. A single part that has moved as
-- a whole does not count (`yesterday` from the beginning to the end), but `from B to A` instead of `from A to B` does.
CREATE OR REPLACE FUNCTION recall_private.in_other_order(p_words text[], p_others text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_one text[];
    v_two text[];
    v_count int;
    v_first int := 1;
    v_last int;
    v_at int;
BEGIN
    WITH common AS MATERIALIZED (
        SELECT a.word, a.place, b.place AS other
        FROM (SELECT w AS word, min(n) AS place FROM unnest(p_words) WITH ORDINALITY u(w, n) GROUP BY w HAVING count(*) = 1) a
        JOIN (SELECT w AS word, min(n) AS place FROM unnest(p_others) WITH ORDINALITY u(w, n) GROUP BY w
              HAVING count(*) = 1) b USING (word)
    )
    SELECT array_agg(c.word ORDER BY c.place), array_agg(c.word ORDER BY c.other), count(*)
    INTO v_one, v_two, v_count FROM common c;
    v_last := v_count;
    WHILE v_first <= v_last AND v_one[v_first] = v_two[v_first] LOOP
        v_first := v_first + 1;
    END LOOP;
    WHILE v_last >= v_first AND v_one[v_last] = v_two[v_last] LOOP
        v_last := v_last - 1;
    END LOOP;
    IF v_first > v_last THEN
        RETURN false;
    END IF;
    v_at := array_position(v_two, v_one[v_first]);
    RETURN v_two[v_at : v_last] || v_two[v_first : v_at - 1] <> v_one[v_first : v_last];
END $$;
