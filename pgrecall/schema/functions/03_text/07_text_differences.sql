-- Differences between two texts, word by word, for versions of a memory and for duplicates.

-- shared_parts: the positions of parts that occur once in each list, in the longest series with the same order in both.
CREATE OR REPLACE FUNCTION recall.shared_parts(p_one text[], p_two text[]) RETURNS TABLE (place int, other int)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_places int[];
    v_others int[];
    -- For each length of a series, the lowest element that can end it; for each element, the one before it.
    v_ends int[] := '{}';
    v_before int[] := '{}';
    v_length int := 0;
    v_low int;
    v_high int;
    v_at int;
BEGIN
    SELECT array_agg(a.place ORDER BY a.place), array_agg(b.place ORDER BY a.place) INTO v_places, v_others
    FROM (SELECT w, min(n)::int AS place FROM unnest(p_one) WITH ORDINALITY u(w, n) GROUP BY w HAVING count(*) = 1) a
    JOIN (SELECT w, min(n)::int AS place FROM unnest(p_two) WITH ORDINALITY u(w, n) GROUP BY w HAVING count(*) = 1) b
        USING (w);
    FOR i IN 1 .. coalesce(cardinality(v_places), 0) LOOP
        v_low := 1;
        v_high := v_length;
        WHILE v_low <= v_high LOOP
            v_at := (v_low + v_high) / 2;
            IF v_others[v_ends[v_at]] < v_others[i] THEN
                v_low := v_at + 1;
            ELSE
                v_high := v_at - 1;
            END IF;
        END LOOP;
        v_before[i] := CASE WHEN v_low > 1 THEN v_ends[v_low - 1] END;
        v_ends[v_low] := i;
        v_length := greatest(v_length, v_low);
    END LOOP;
    v_at := CASE WHEN v_length > 0 THEN v_ends[v_length] END;
    WHILE v_at IS NOT NULL LOOP
        place := v_places[v_at];
        other := v_others[v_at];
        RETURN NEXT;
        v_at := v_before[v_at];
    END LOOP;
END $$;

-- difference_steps: the difference between two lists of texts, part by part, as positions in both lists. `other` is NULL
-- if the part was removed, `one` is NULL if it was added. If more than 500 by 500 parts differ, the parts that occur once
-- in each list divide both lists into pieces, which are compared piece by piece; without such parts, everything is removed
-- and added.
CREATE OR REPLACE FUNCTION recall.difference_steps(p_one text[], p_two text[]) RETURNS TABLE (one int, other int)
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
    v_row int := 1;
    v_column int := 1;
    v_shared record;
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
    RETURN QUERY SELECT n, n FROM generate_series(1, v_head) n;
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
        WHILE v_row <= v_rows OR v_column <= v_columns LOOP
            IF v_row <= v_rows AND v_column <= v_columns AND p_one[v_head + v_row] = p_two[v_head + v_column] THEN
                one := v_head + v_row;
                other := v_head + v_column;
                v_row := v_row + 1;
                v_column := v_column + 1;
            ELSIF v_row <= v_rows AND (v_column > v_columns
                  OR v_best[v_row * v_wide + v_column] >= v_best[(v_row - 1) * v_wide + v_column + 1]) THEN
                one := v_head + v_row;
                other := NULL;
                v_row := v_row + 1;
            ELSE
                one := NULL;
                other := v_head + v_column;
                v_column := v_column + 1;
            END IF;
            RETURN NEXT;
        END LOOP;
    ELSE
        FOR v_shared IN
            SELECT s.place, s.other FROM recall.shared_parts(
                p_one[v_head + 1 : v_head + v_rows], p_two[v_head + 1 : v_head + v_columns]) s ORDER BY s.place
        LOOP
            RETURN QUERY SELECT d.one + v_head + v_row - 1, d.other + v_head + v_column - 1
                FROM recall.difference_steps(p_one[v_head + v_row : v_head + v_shared.place - 1],
                                             p_two[v_head + v_column : v_head + v_shared.other - 1]) d;
            RETURN QUERY SELECT v_head + v_shared.place, v_head + v_shared.other;
            v_row := v_shared.place + 1;
            v_column := v_shared.other + 1;
        END LOOP;
        IF v_row > 1 THEN
            RETURN QUERY SELECT d.one + v_head + v_row - 1, d.other + v_head + v_column - 1
                FROM recall.difference_steps(p_one[v_head + v_row : v_head + v_rows],
                                             p_two[v_head + v_column : v_head + v_columns]) d;
        ELSE
            RETURN QUERY SELECT v_head + n, NULL::int FROM generate_series(1, v_rows) n;
            RETURN QUERY SELECT NULL::int, v_head + n FROM generate_series(1, v_columns) n;
        END IF;
    END IF;
    RETURN QUERY SELECT v_one - v_tail + n, v_two - v_tail + n FROM generate_series(1, v_tail) n;
END $$;

-- sequence_difference: the difference between two lists of texts, as runs that both have (`same`), that only the first
-- has (`removed`) and that only the second has (`added`), each joined. If two parts differ only in the white space at
-- their end, only the white space counts as changed. Between two equal runs, everything removed comes before everything
-- added.
CREATE OR REPLACE FUNCTION recall.sequence_difference(p_one text[], p_two text[]) RETURNS TABLE (kind text, part text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    WITH one AS MATERIALIZED (
        SELECT u.part, regexp_replace(u.part, '\s+$', '') AS word, u.place::int
        FROM unnest(p_one) WITH ORDINALITY u(part, place)
    ), other AS MATERIALIZED (
        SELECT u.part, regexp_replace(u.part, '\s+$', '') AS word, u.place::int
        FROM unnest(p_two) WITH ORDINALITY u(part, place)
    ), step AS (
        SELECT k.kind, k.part, row_number() OVER (ORDER BY d.place, k.turn) AS place
        FROM recall.difference_steps(ARRAY(SELECT o.word FROM one o ORDER BY o.place),
                                     ARRAY(SELECT o.word FROM other o ORDER BY o.place))
             WITH ORDINALITY d(one, other, place)
        LEFT JOIN one a ON a.place = d.one
        LEFT JOIN other b ON b.place = d.other
        CROSS JOIN LATERAL (
            SELECT a.word || CASE WHEN b.part IS NULL THEN NULL
                WHEN starts_with(a.part, b.part) THEN substr(b.part, length(b.word) + 1)
                WHEN starts_with(b.part, a.part) THEN substr(a.part, length(a.word) + 1) ELSE '' END AS same) c
        CROSS JOIN LATERAL (VALUES
            ('same', c.same, 1),
            ('removed', CASE WHEN b.part IS NULL THEN a.part ELSE substr(a.part, length(c.same) + 1) END, 2),
            ('added', CASE WHEN a.part IS NULL THEN b.part ELSE substr(b.part, length(c.same) + 1) END, 3)
        ) k(kind, part, turn)
        WHERE k.part <> ''
    )
    SELECT r.kind, r.part FROM (
        SELECT g.kind, string_agg(g.part, '' ORDER BY g.place) AS part, g.run
        FROM (SELECT s.*, sum((s.changes)::int) OVER (ORDER BY s.place) AS run
              FROM (SELECT d.kind, d.part, d.place,
                           coalesce((d.kind = 'same') <> lag(d.kind = 'same') OVER (ORDER BY d.place), false) AS changes
                    FROM step d) s) g
        GROUP BY g.run, g.kind) r
    ORDER BY r.run, r.kind = 'added'
$$;

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
-- in the first text) or `added` (only in the second). Lines, each with the blank lines after it, are compared first, then
-- the words of lines that differ. Joining everything that was not added gives the first text; joining everything that was
-- not removed gives the second.
CREATE OR REPLACE FUNCTION recall.text_difference(p_one text, p_two text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    WITH line AS (
        SELECT d.kind, d.part, d.place, d.kind = 'removed' AND lead(d.kind) OVER w = 'added' AS pairs,
               d.kind = 'added' AND lag(d.kind) OVER w = 'removed' AS paired, lead(d.part) OVER w AS other
        FROM recall.sequence_difference(recall.parts(p_one, '[^\n]*\n(?:[ \t]*\n)*|[^\n]+'),
                                        recall.parts(p_two, '[^\n]*\n(?:[ \t]*\n)*|[^\n]+'))
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
