-- What two texts state: the marks by which they are told apart, and the difference word by word.

-- stated_times: the names of days, months and times of day in a text, in lower case, sorted; of English, German, Spanish
-- and French.
CREATE OR REPLACE FUNCTION recall.stated_times(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(SELECT DISTINCT t[1] FROM regexp_matches(lower(p_text),
    '\m((?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october'
    '|november|december|today|tonight|yesterday|tomorrow|morning|noon|afternoon|evening|night|midnight|daily|weekly'
    '|monthly|yearly|spring|summer|autumn|winter|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?'
    '|januar|februar|märz|mai|juni|juli|oktober|dezember|heute|gestern|morgen|abends?|mittags?|nachts?|lunes|martes'
    '|miércoles|jueves|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre'
    '|noviembre|diciembre|hoy|ayer|mañana|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril'
    '|juin|juillet|août|septembre|octobre|novembre|décembre|hier|demain)\M', 'g') t ORDER BY 1);

-- telling_words: small words that turn what a sentence states, and numbers in words, in lower case, sorted: a text with
-- others of them states something else, however much the rest is the same.
CREATE OR REPLACE FUNCTION recall.telling_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(SELECT DISTINCT t[1] FROM regexp_matches(lower(p_text),
    '\m(on|off|before|after|until|since|above|below|over|under|up|down|left|right|inside|outside|more|less|most|least|few'
    '|many|all|every|some|any|only|except|unless|if|but|instead|almost|nearly|always|often|sometimes|seldom|rarely|ever'
    '|will|would|should|could|can|may|might|must|was|were|last|next|former|old|new|first|second|third|half|twice|one|two'
    '|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|plus|minus|yes|true|false'
    '|an|aus|vor|nach|bis|seit|über|unter|mehr|weniger|alle|manche|nur|außer|wenn|aber|fast|immer|oft|selten|wird|würde'
    '|soll|kann|darf|muss|war|letzte[nrs]?|nächste[nrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf'
    '|más|menos|todos|algunos|sólo|si|pero|casi|siempre|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)\M', 'g') t
    -- The article of English, which is a word of German.
    WHERE t[1] <> 'an' OR p_text ~* '\m(der|die|das|ist|und)\M'
    ORDER BY 1);

-- content_words: the distinct stems of a text by a language, without numbers and without the words that it passes over,
-- but with who is spoken of and to. Negations are counted by themselves (negation_count).
CREATE OR REPLACE FUNCTION recall.content_words(p_language text, p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(
    SELECT w FROM unnest(tsvector_to_array(to_tsvector(
        recall.configuration(p_language), regexp_replace(p_text, 'n[''\u2019]t\M', '', 'gi')))) w
    WHERE w !~ '\d' AND recall.negation_count(w) = 0
    UNION
    SELECT t[1] FROM regexp_matches(
        lower(p_text), '\m(i|you|he|she|we|they|my|your|his|her|our|their|me|him|us|them|ich|du|er|wir|mein|dein|unser)\M',
        'g') t);

-- named_words: the words of a text that are written with a capital, in their order and in lower case, except where a
-- sentence begins; with p_anywhere there too.
CREATE OR REPLACE FUNCTION recall.named_words(p_text text, p_anywhere boolean) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(
    SELECT lower(w.word[1])
    FROM regexp_split_to_table(p_text, '[.!?:;]+\s+|\n+') WITH ORDINALITY s(sentence, place)
    CROSS JOIN LATERAL regexp_matches(s.sentence, '\w+', 'g') WITH ORDINALITY w(word, place)
    WHERE w.word[1] ~ '[[:upper:]]' AND (p_anywhere OR w.place > 1)
    ORDER BY s.place, w.place);

-- is_spelling_of: whether two words are one but for a letter in the middle or at the end: `harbour` and `harbor`.
CREATE OR REPLACE FUNCTION recall.is_spelling_of(p_word text, p_other text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
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

-- in_other_order: whether the words that both lists have once each come in another order, beyond one part that has moved
-- as a whole: `yesterday` from the beginning to the end, but not `from A to B` to `from B to A`.
CREATE OR REPLACE FUNCTION recall.in_other_order(p_words text[], p_others text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
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

-- word_difference: how a text differs from another, as a JSON array of [kind, words]: `same`, `removed` (only the first
-- has them) and `added` (only the second). Of texts that differ in long parts, these are told as wholes.
CREATE OR REPLACE FUNCTION recall.word_difference(p_text text, p_other text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_one text[] := array_remove(regexp_split_to_array(p_text, '\s+'), '');
    v_two text[] := array_remove(regexp_split_to_array(p_other, '\s+'), '');
    v_head int := 0;
    v_tail int := 0;
    v_rows int;
    v_columns int;
    v_best int[];
    v_kinds text[] := '{}';
    v_words text[] := '{}';
    v_row int := 1;
    v_column int := 1;
    v_wide int;
BEGIN
    WHILE v_head < least(cardinality(v_one), cardinality(v_two)) AND v_one[v_head + 1] = v_two[v_head + 1] LOOP
        v_head := v_head + 1;
    END LOOP;
    WHILE v_tail < least(cardinality(v_one), cardinality(v_two)) - v_head
          AND v_one[cardinality(v_one) - v_tail] = v_two[cardinality(v_two) - v_tail] LOOP
        v_tail := v_tail + 1;
    END LOOP;
    v_rows := cardinality(v_one) - v_head - v_tail;
    v_columns := cardinality(v_two) - v_head - v_tail;
    v_wide := v_columns + 1;
    IF v_rows::bigint * v_columns <= 40000 THEN
        -- The longest common subsequence of what is left, from the end.
        v_best := array_fill(0, ARRAY[(v_rows + 1) * v_wide]);
        FOR i IN REVERSE v_rows .. 1 LOOP
            FOR j IN REVERSE v_columns .. 1 LOOP
                v_best[(i - 1) * v_wide + j] := CASE WHEN v_one[v_head + i] = v_two[v_head + j]
                    THEN v_best[i * v_wide + j + 1] + 1
                    ELSE greatest(v_best[i * v_wide + j], v_best[(i - 1) * v_wide + j + 1]) END;
            END LOOP;
        END LOOP;
    END IF;
    WHILE v_row <= v_rows OR v_column <= v_columns LOOP
        IF v_best IS NOT NULL AND v_row <= v_rows AND v_column <= v_columns
           AND v_one[v_head + v_row] = v_two[v_head + v_column] THEN
            v_kinds := v_kinds || 'same'::text;
            v_words := v_words || v_one[v_head + v_row];
            v_row := v_row + 1;
            v_column := v_column + 1;
        ELSIF v_row <= v_rows AND (v_best IS NULL OR v_column > v_columns
              OR v_best[v_row * v_wide + v_column] >= v_best[(v_row - 1) * v_wide + v_column + 1]) THEN
            v_kinds := v_kinds || 'removed'::text;
            v_words := v_words || v_one[v_head + v_row];
            v_row := v_row + 1;
        ELSE
            v_kinds := v_kinds || 'added'::text;
            v_words := v_words || v_two[v_head + v_column];
            v_column := v_column + 1;
        END IF;
    END LOOP;
    v_kinds := array_fill('same'::text, ARRAY[v_head]) || v_kinds || array_fill('same'::text, ARRAY[v_tail]);
    v_words := v_one[1 : v_head] || v_words || v_one[cardinality(v_one) - v_tail + 1 : cardinality(v_one)];
    RETURN coalesce((
        SELECT jsonb_agg(jsonb_build_array(r.kind, r.words) ORDER BY r.place)
        FROM (SELECT g.kind, string_agg(g.word, ' ' ORDER BY g.place) AS words, min(g.place) AS place
              FROM (SELECT u.kind, u.word, u.place,
                           u.place - row_number() OVER (PARTITION BY u.kind ORDER BY u.place) AS run
                    FROM unnest(v_kinds, v_words) WITH ORDINALITY u(kind, word, place)) g
              GROUP BY g.kind, g.run) r), '[]');
END $$;
