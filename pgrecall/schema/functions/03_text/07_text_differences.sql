-- Differences between two texts, word by word, for versions of a memory and for duplicates.

-- sequence_difference: the difference between two lists of texts, as runs that both have (`same`), that only the first
-- has (`removed`) and that only the second has (`added`), each joined. If more than 500 by 500 texts differ, they are
-- returned as one removed and one added run.
CREATE OR REPLACE FUNCTION recall.sequence_difference(p_one text[], p_two text[]) RETURNS TABLE (kind text, part text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_one int := cardinality(p_one);
    v_two int := cardinality(p_two);
    v_head int := 0;
    v_tail int := 0;
    v_rows int;
    v_columns int;
    v_wide int;
    v_best int[];
    v_kinds text[] := '{}';
    v_parts text[] := '{}';
    v_row int := 1;
    v_column int := 1;
BEGIN
    WHILE v_head < least(v_one, v_two) AND p_one[v_head + 1] = p_two[v_head + 1] LOOP
        v_head := v_head + 1;
    END LOOP;
    WHILE v_tail < least(v_one, v_two) - v_head AND p_one[v_one - v_tail] = p_two[v_two - v_tail] LOOP
        v_tail := v_tail + 1;
    END LOOP;
    v_rows := v_one - v_head - v_tail;
    v_columns := v_two - v_head - v_tail;
    v_wide := v_columns + 1;
    IF v_rows::bigint * v_columns <= 250000 THEN
        -- The longest common subsequence of the rest, from the end.
        v_best := array_fill(0, ARRAY[(v_rows + 1) * v_wide]);
        FOR i IN REVERSE v_rows .. 1 LOOP
            FOR j IN REVERSE v_columns .. 1 LOOP
                v_best[(i - 1) * v_wide + j] := CASE WHEN p_one[v_head + i] = p_two[v_head + j]
                    THEN v_best[i * v_wide + j + 1] + 1
                    ELSE greatest(v_best[i * v_wide + j], v_best[(i - 1) * v_wide + j + 1]) END;
            END LOOP;
        END LOOP;
    END IF;
    WHILE v_row <= v_rows OR v_column <= v_columns LOOP
        IF v_best IS NOT NULL AND v_row <= v_rows AND v_column <= v_columns
           AND p_one[v_head + v_row] = p_two[v_head + v_column] THEN
            v_kinds := v_kinds || 'same'::text;
            v_parts := v_parts || p_one[v_head + v_row];
            v_row := v_row + 1;
            v_column := v_column + 1;
        ELSIF v_row <= v_rows AND (v_best IS NULL OR v_column > v_columns
              OR v_best[v_row * v_wide + v_column] >= v_best[(v_row - 1) * v_wide + v_column + 1]) THEN
            v_kinds := v_kinds || 'removed'::text;
            v_parts := v_parts || p_one[v_head + v_row];
            v_row := v_row + 1;
        ELSE
            v_kinds := v_kinds || 'added'::text;
            v_parts := v_parts || p_two[v_head + v_column];
            v_column := v_column + 1;
        END IF;
    END LOOP;
    -- Between two equal runs, everything removed comes before everything added.
    RETURN QUERY
    SELECT r.kind, r.part FROM (
        SELECT g.kind, string_agg(g.part, '' ORDER BY g.place) AS part, g.run
        FROM (SELECT s.*, sum((s.changes)::int) OVER (ORDER BY s.place) AS run
              FROM (SELECT u.kind, u.part, u.place,
                           coalesce((u.kind = 'same') <> lag(u.kind = 'same') OVER (ORDER BY u.place), false) AS changes
                    FROM unnest(array_fill('same'::text, ARRAY[v_head]) || v_kinds || array_fill('same'::text, ARRAY[v_tail]),
                                p_one[1 : v_head] || v_parts || p_one[v_one - v_tail + 1 : v_one])
                         WITH ORDINALITY u(kind, part, place)) s) g
        GROUP BY g.run, g.kind) r
    ORDER BY r.run, r.kind = 'added';
END $$;

-- parts: the matches of a pattern in a text, in their order.
CREATE OR REPLACE FUNCTION recall.parts(p_text text, p_pattern text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(SELECT m[1] FROM regexp_matches(p_text, '(' || p_pattern || ')', 'g') m);

-- word_difference: the difference between two texts in runs of words, as in sequence_difference. Equal white space after
-- words that differ counts as the same.
CREATE OR REPLACE FUNCTION recall.word_difference(p_one text, p_two text) RETURNS TABLE (kind text, part text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    WITH run AS (
        SELECT d.*, CASE d.kind WHEN 'removed' THEN lead(d.part) OVER w WHEN 'added' THEN lag(d.part) OVER w END AS other,
               CASE d.kind WHEN 'removed' THEN lead(d.kind) OVER w WHEN 'added' THEN lag(d.kind) OVER w END AS other_kind
        FROM recall.sequence_difference(recall.parts(p_one, '\w+\s*|\s+|[^\w\s]\s*'),
                                        recall.parts(p_two, '\w+\s*|\s+|[^\w\s]\s*')) WITH ORDINALITY d(kind, part, place)
        WINDOW w AS (ORDER BY d.place)
    ), trimmed AS (
        SELECT r.*, CASE WHEN r.other_kind <> 'same' AND substring(r.part FROM '\s*$') = substring(r.other FROM '\s*$')
                         THEN substring(r.part FROM '\s*$') ELSE '' END AS space
        FROM run r
    )
    SELECT x.kind, x.part FROM (
        SELECT t.kind, left(t.part, length(t.part) - length(t.space)) AS part, t.place, 1 AS step FROM trimmed t
        UNION ALL
        SELECT 'same', t.space, t.place, 2 FROM trimmed t WHERE t.kind = 'added') x
    WHERE x.part <> '' ORDER BY x.place, x.step
$$;

-- text_difference: the difference between two texts as a JSON array of [kind, text]. The kind is `same`, `removed` (only
-- in the first text) or `added` (only in the second). Lines are compared first, then the words of lines that differ.
-- Joining everything that was not added gives the first text; joining everything that was not removed gives the second.
CREATE OR REPLACE FUNCTION recall.text_difference(p_one text, p_two text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    WITH line AS (
        SELECT d.kind, d.part, d.place, d.kind = 'removed' AND lead(d.kind) OVER w = 'added' AS pairs,
               d.kind = 'added' AND lag(d.kind) OVER w = 'removed' AS paired, lead(d.part) OVER w AS other
        FROM recall.sequence_difference(recall.parts(p_one, '[^\n]*\n|[^\n]+'), recall.parts(p_two, '[^\n]*\n|[^\n]+'))
             WITH ORDINALITY d(kind, part, place)
        WINDOW w AS (ORDER BY d.place)
    ), run AS (
        SELECT l.kind, l.part, l.place, 0::bigint AS inner_place FROM line l
        WHERE coalesce(l.pairs OR l.paired, false) = false
        UNION ALL
        SELECT d.kind, d.part, l.place, d.place FROM line l
        CROSS JOIN LATERAL recall.word_difference(l.part, l.other) WITH ORDINALITY d(kind, part, place)
        WHERE l.pairs
    ), island AS (
        SELECT r.*, sum(r.changes::int) OVER (ORDER BY r.place, r.inner_place) AS number
        FROM (SELECT u.*, coalesce(u.kind <> lag(u.kind) OVER (ORDER BY u.place, u.inner_place), false) AS changes
              FROM run u) r
    )
    SELECT coalesce(jsonb_agg(jsonb_build_array(j.kind, j.part) ORDER BY j.number), '[]')
    FROM (SELECT i.number, i.kind, string_agg(i.part, '' ORDER BY i.place, i.inner_place) AS part
          FROM island i GROUP BY i.number, i.kind) j
$$;
