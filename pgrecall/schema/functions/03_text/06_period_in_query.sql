-- The period that a query names ("last summer", "in May 2023"), found by rules. It reads dates, months, seasons,
-- quarters, years and weekdays, "last week", "two weeks ago", "yesterday", and parts like "early May"; periods to come
-- are not read, because no memory is of one.
--
-- The words of a query are first translated to the terms of recall.time_words. A number stays as it is, punctuation is
-- `,` or `;`, and every other word is empty. The functions below read these terms from one place on and return the place
-- after what they read (`past`; NULL if no period begins there). `dated` says whether the period does not depend on
-- today, because it names a year or a date. `needs` says what must precede the words to make them a period: nothing (0),
-- a word like "in" or "since", or "the" (1), a word like "in" (2), a word like "in", but not "the" or "on" (3), or "in
-- the" or "since" with nothing after the words (4): "in the spring".

-- figures_at: the date in figures at this place: 2024-06-03, 2024-06, 3.6.2024, 6/13/2024. 3/4/2024 is not read, because
-- it means different days in different countries.
CREATE OR REPLACE FUNCTION recall_private.figures_at(p_word text, OUT since date, OUT until date)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v int[] := regexp_split_to_array(p_word, '[-./]');
BEGIN
    v := CASE WHEN p_word ~ '-' THEN v
              WHEN p_word ~ '[.]' OR v[1] > 12 OR v[1] = v[2] THEN ARRAY[v[3], v[2], v[1]]
              WHEN v[2] > 12 THEN ARRAY[v[3], v[1], v[2]] END;
    IF v[2] BETWEEN 1 AND 12 THEN
        SELECT d.since, d.until INTO since, until FROM recall_private.days_in_year(v[1], 'm:' || v[2], v[3]) d;
    END IF;
END $$;

-- units_at: a number of units: two weeks, a few days, a couple of months. "A few" is 2 to 6.
CREATE OR REPLACE FUNCTION recall_private.units_at(t text[], p_at int, OUT fewest int, OUT most int, OUT unit text, OUT past int)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_at int := p_at + CASE WHEN t[p_at] = 'n:1' AND t[p_at + 1] ~ '^n:' THEN 1 ELSE 0 END;  -- "a" few
    v_unit int := v_at + CASE WHEN t[v_at + 1] = 'of' THEN 2 ELSE 1 END;
BEGIN
    IF t[v_unit] ~ '^u:' AND t[v_at] ~ '^(n:.*|\d{1,4})$' THEN
        unit := right(t[v_unit], -2);
        most := least(
            CASE WHEN t[v_at] = 'n:few' THEN 6 ELSE regexp_replace(t[v_at], '^n:', '')::int END,
            CASE WHEN unit IN ('year', 'quarter') THEN 1000 ELSE 9999 END);
        fewest := CASE WHEN t[v_at] = 'n:few' THEN 2 ELSE most END;
        past := v_unit + 1;
    END IF;
END $$;

-- calendar_name_at: a month, day of a month, season, quarter, weekday or year, with its year if one is named. p_which is
-- the word `last` or `this` before it.
CREATE OR REPLACE FUNCTION recall_private.calendar_name_at(
    t text[], p_at int, p_which text, p_today date,
    OUT since date, OUT until date, OUT past int, OUT needs int, OUT dated boolean
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_year constant text := '^(19|20|21)\d\d$';
    v_number int := substring(t[p_at] FROM '^(?:o:)?(\d{1,2})(?:st|nd|rd|th)?$');
    -- 3 June, 3. Juni, the 3rd of June, the third quarter, 3. Quartal
    v_at int := p_at + CASE WHEN v_number IS NULL THEN 0 WHEN t[p_at + 1] IN ('of', '.') THEN 2 ELSE 1 END;
    v_name text := CASE WHEN t[v_at] = 'u:quarter' AND v_number BETWEEN 1 AND 4 THEN 'q' || v_number
                        ELSE regexp_replace(t[v_at], '^a', 'm') END;
    v_day int := CASE WHEN v_name ~ '^m' AND t[p_at] ~ '^\d' THEN v_number END;
BEGIN
    IF v_number IS NOT NULL AND v_day IS NULL AND v_name !~ '^q' THEN
        RETURN;
    END IF;
    past := v_at + 1;
    needs := 0;
    dated := false;
    IF v_name ~ v_year OR v_name = 'u:year' AND t[past] ~ v_year THEN
        past := past + CASE WHEN v_name = 'u:year' THEN 1 ELSE 0 END;
        needs := CASE WHEN v_name = 'u:year' THEN 0 ELSE 2 END;
        IF t[past] IN ('x', 'u:day', 'u:hour') THEN  -- in 2000 words
            past := NULL;
            RETURN;
        END IF;
        since := make_date(t[past - 1]::int, 1, 1);
        until := make_date(t[past - 1]::int + 1, 1, 1);
        dated := true;
        RETURN;
    ELSIF v_name ~ '^([mszw]:|q[1-4]$)' THEN
        needs := CASE WHEN p_which = 'this' AND t[v_at] = 'a:5' THEN 3 WHEN p_which IS NOT NULL OR v_day IS NOT NULL THEN 0
                      ELSE CASE left(t[v_at], 1) WHEN 'm' THEN 1 WHEN 'a' THEN 3 WHEN 'z' THEN 4 ELSE 2 END END;
    ELSE
        past := NULL;
        RETURN;
    END IF;
    IF v_name ~ '^m' AND v_day IS NULL AND t[past] ~ '^\d{1,2}(st|nd|rd|th)?$' THEN  -- June 3
        v_day := substring(t[past] FROM '^\d+')::int;
        -- "May 3 people" is not a date, "May 3rd" is.
        needs := CASE WHEN t[v_at] ~ '^a' AND t[past] ~ '^\d+$' AND t[past + 1] IN ('', 'x') THEN 3 ELSE 0 END;
        past := past + 1;
    END IF;
    IF v_name !~ '^w' AND t[past + CASE WHEN t[past] IN ('of', ',') THEN 1 ELSE 0 END] ~ v_year THEN
        past := past + CASE WHEN t[past] IN ('of', ',') THEN 2 ELSE 1 END;
        needs := 0;
        dated := true;
        SELECT d.since, d.until INTO since, until
        FROM recall_private.days_in_year(t[past - 1]::int, v_name, v_day) d;
    ELSE
        SELECT d.since, d.until INTO since, until FROM recall_private.recurring_days(v_name, v_day, p_which, p_today) d;
    END IF;
END $$;

-- part_at: words for a part of a period, before that period: a third ("early", "the end of", "the last days of") or a half.
CREATE OR REPLACE FUNCTION recall_private.part_at(t text[], p_at int, OUT part int, OUT parts int, OUT past int)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF t[p_at] ~ '^f:' THEN
        part := right(t[p_at], 1)::int;
        parts := 3;
        past := p_at + CASE WHEN t[p_at + 1] IN ('of', 'in') THEN 2 ELSE 1 END;
    ELSIF t[p_at + 1] IN ('half', 'u:day', 'u:week') AND t[p_at + 2] IN ('of', 'in') THEN
        parts := CASE t[p_at + 1] WHEN 'half' THEN 2 ELSE 3 END;
        part := CASE WHEN t[p_at] = 'o:1' THEN 1
                     WHEN t[p_at] = 'last' OR t[p_at] = 'o:2' AND parts = 2 THEN parts END;
        past := CASE WHEN part IS NOT NULL THEN p_at + 3 END;
    END IF;
END $$;

-- period_at: the period whose words begin at this place, in days. It is never empty.
CREATE OR REPLACE FUNCTION recall_private.period_at(
    t text[], p_at int, p_today date, OUT since date, OUT until date, OUT past int, OUT needs int, OUT dated boolean
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_which text := CASE WHEN t[p_at] IN ('last', 'this') THEN t[p_at] WHEN 'gone' IN (t[p_at], t[p_at + 1]) THEN 'last' END;
    v_at int := p_at + CASE WHEN t[p_at] IN ('last', 'this', 'gone', 'vor') THEN 1 ELSE 0 END;
    v_count record;
    v_part record;
    v_whole record;
    v_days int;
BEGIN
    v_count := recall_private.units_at(t, v_at);
    v_part := recall_private.part_at(t, p_at);
    IF coalesce(t[v_at], '') = '' OR t[v_at] ~ '^[.,;]' OR t[p_at] = 'vor' AND v_count.past IS NULL THEN
        RETURN;
    END IF;
    needs := 0;
    dated := false;
    IF t[v_at] ~ '^\d+[-./]' THEN
        SELECT f.since, f.until, v_at + 1, true INTO since, until, past, dated FROM recall_private.figures_at(t[v_at]) f;
    ELSIF t[v_at] ~ '^d:' THEN
        since := p_today + right(t[v_at], -2)::int;
        until := since + 1;
        past := v_at + 1;
    ELSIF t[v_at : v_at + 2] = '{u:day, before, "d:-1"}' THEN
        since := p_today - 2;
        until := since + 1;
        past := v_at + 3;
    ELSIF v_part.past IS NOT NULL THEN
        v_whole := recall_private.period_at(
            t, v_part.past + CASE WHEN t[v_part.past] = 'the' THEN 1 ELSE 0 END, p_today);
        v_days := (v_whole.until - v_whole.since) / v_part.parts;
        since := v_whole.since + (v_part.part - 1) * v_days;
        until := CASE WHEN v_part.part = v_part.parts THEN v_whole.until ELSE since + v_days END;
        past := v_whole.past;
        dated := v_whole.dated;
    ELSIF v_count.past IS NOT NULL AND v_which = 'last' THEN  -- the last two weeks
        since := recall_private.moved_day(p_today, v_count.unit, -v_count.most);
        until := p_today + 1;
        past := v_count.past;
    ELSIF v_count.past IS NOT NULL AND (t[p_at] = 'vor' OR t[v_count.past] = 'ago') THEN  -- two weeks ago, vor zwei Wochen
        SELECT r.since, r.until INTO since, until
        FROM recall_private.around_day(p_today, v_count.unit, v_count.fewest, v_count.most) r;
        past := v_count.past + CASE WHEN t[p_at] = 'vor' THEN 0 ELSE 1 END;
    ELSIF v_which IS NOT NULL AND t[v_at] ~ '^u:' AND t[v_at + 1] IS DISTINCT FROM 'of' THEN  -- last week; the last days
        SELECT c.since, c.until INTO since, until
        FROM recall_private.calendar_unit(p_today, right(t[v_at], -2), CASE v_which WHEN 'last' THEN -1 ELSE 0 END) c;
        IF v_which = 'last' AND t[v_at] = 'u:day' THEN
            since := p_today - 6;
            until := p_today + 1;
        END IF;
        past := v_at + 1;
    ELSE
        SELECT c.* INTO since, until, past, needs, dated FROM recall_private.calendar_name_at(t, v_at, v_which, p_today) c;
    END IF;
    past := past + CASE WHEN t[past] = 'gone' THEN 1 ELSE 0 END;
    IF NOT coalesce(since < until AND since >= '0001-01-01' AND until < '10000-01-01', false) THEN
        past := NULL;
    END IF;
END $$;

-- query_terms: the first 100 words of a query as they are written, and as terms of recall.time_words.
CREATE OR REPLACE FUNCTION recall_private.query_terms(p_query text, OUT written text[], OUT terms text[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    SELECT array_agg(m.found[1] ORDER BY m.place),
           array_agg(coalesce(recall_private.time_words() ->> lower(m.found[1]), CASE
               WHEN m.found[1] ~ '^(\d|[qQ][1-4]$)' THEN lower(m.found[1]) WHEN m.found[1] IN (',', '.') THEN m.found[1]
               WHEN m.found[1] ~ '^[[:alnum:]]' THEN '' ELSE ';' END) ORDER BY m.place)
    INTO written, terms
    FROM regexp_matches(
        left(p_query, 2000),
        '\m\d{4}-\d{1,2}-\d{1,2}(?!\d)|\m\d{4}-\d{1,2}(?!\d)|\m\d{1,2}[.]\d{1,2}[.]\d{4}\M|\m\d{1,2}/\d{1,2}/\d{4}\M'
        '|[[:alnum:]]+|[,.;:?!()]', 'g') WITH ORDINALITY m(found, place)
    WHERE m.place <= 100;
END $$;

-- period_in_query: the period that a query names, seen from p_moment. NULL if it names none. Dates with a year take
-- precedence over words like "last week". If there are several dates, the period spans them; otherwise the first counts.
CREATE OR REPLACE FUNCTION recall_private.period_in_query(p_query text, p_moment timestamptz)
RETURNS recall.period
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_query text := recall_private.folded(p_query);
    v_today date := (p_moment AT TIME ZONE 'UTC')::date;
    v_written text[];
    t text[];
    i int := 1;
    v_word text;  -- since, before, ...
    v_place int;  -- of that word
    f record;
    s record;
    v_since date;
    v_until date;
    v_days int;
    v_found recall.period;
    v_dated boolean := false;
BEGIN
    -- Most queries name no period and end here.
    IF v_query !~ '\d{4}' AND NOT recall_private.hints_of_time()
       ?| string_to_array(regexp_replace(lower(v_query), '[^[:alnum:]]+', ' ', 'g'), ' ') THEN
        RETURN NULL;
    END IF;
    SELECT q.written, q.terms INTO v_written, t FROM recall_private.query_terms(v_query) q;
    WHILE i <= cardinality(t) LOOP
        -- No period begins with these.
        IF t[i] IN ('', ',', '.', ';', 'the', 'of', 'in', 'on', 'and', 'since', 'until', 'before', 'after', 'during', 'between',
                    'n:1') AND NOT (t[i] = 'n:1' AND t[i + 1] ~ '^[nu]:') THEN
            i := i + 1;
            CONTINUE;
        END IF;
        v_place := i - CASE WHEN t[i - 1] = 'the' OR t[i - 1] = 'of' AND t[i - 2] IN ('before', 'after') THEN 2 ELSE 1 END;
        v_word := CASE WHEN t[i - 1] = 'of' AND (t[i - 2] ~ '^u:' OR t[i - 2] = 'half') THEN 'in'  -- the first week of May
                       WHEN t[v_place] IN ('in', 'on', 'since', 'until', 'before', 'after', 'during', 'between') THEN t[v_place]
                       WHEN t[v_place] = 'vor' THEN 'before' END;
        f := recall_private.period_at(t, i, v_today);
        IF f.past IS NULL OR NOT coalesce(CASE f.needs
            WHEN 0 THEN true WHEN 1 THEN v_word IS NOT NULL OR t[i - 1] = 'the' WHEN 2 THEN v_word IS NOT NULL
            WHEN 3 THEN v_word <> 'on' AND v_place = i - 1
            ELSE (v_place = i - 2 OR v_word = 'since') AND coalesce(t[f.past], ';') IN (';', '.', ',') END, false)
        THEN
            i := i + 1;
            CONTINUE;
        END IF;
        v_since := f.since;
        v_until := f.until;
        v_days := f.until - f.since;
        IF v_word = 'between' AND t[f.past] IN ('and', 'until') THEN
            s := recall_private.period_at(t, f.past + 1, v_today);
            IF f.dated AND NOT s.dated THEN  -- between March 2024 and May
                s := recall_private.period_at(t, f.past + 1, (f.since + interval '1 year')::date - 1);
            ELSIF s.past IS NOT NULL THEN  -- between March and May 2024, between November and February
                f := recall_private.period_at(t, i, s.until - 1);
            END IF;
            IF f.since < s.until THEN
                v_since := f.since;
                v_until := s.until;
                v_days := v_until - v_since;
                f.past := s.past;
                f.dated := f.dated OR s.dated;
            END IF;
        ELSIF v_word IN ('since', 'after', 'until', 'before') THEN
            v_since := CASE v_word WHEN 'since' THEN f.since WHEN 'after' THEN f.until END;
            v_until := CASE v_word WHEN 'until' THEN f.until WHEN 'before' THEN f.since END;
        END IF;
        IF v_found IS NULL OR f.dated AND NOT v_dated THEN
            v_found := recall_private.period_of_days(v_since, v_until, v_days, v_written[
                CASE WHEN v_word IS NULL OR t[v_place] = 'of' THEN i ELSE v_place END : f.past - 1]);
            v_dated := f.dated;
        ELSIF f.dated AND v_found.since IS NOT NULL AND v_found.until IS NOT NULL AND v_since < v_until THEN
            v_found := recall_private.span_of_periods(v_found, recall_private.period_of_days(v_since, v_until, v_days, v_written[i : f.past - 1]));
        END IF;
        i := f.past;
    END LOOP;
    RETURN v_found;
END $$;

-- period_of_days: these days as a period. If the period is open, p_days is the length of what the query names.
CREATE OR REPLACE FUNCTION recall_private.period_of_days(p_since date, p_until date, p_days int, p_words text[])
RETURNS recall.period
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(
    p_since::timestamp AT TIME ZONE 'UTC', p_until::timestamp AT TIME ZONE 'UTC', greatest(p_days / 4.0, 1) * 86400,
    regexp_replace(array_to_string(p_words, ' '), ' ([,.])', '\1', 'g'))::recall.period;

-- span_of_periods: the period from the first day of two periods to the last.
CREATE OR REPLACE FUNCTION recall_private.span_of_periods(p recall.period, o recall.period) RETURNS recall.period
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(least((p).since, (o).since), greatest((p).until, (o).until), greatest((p).fade, (o).fade),
           (p).words || ' ... ' || (o).words)::recall.period;

-- period_match: how well a time fits a period: 1 inside. Outside, it halves with every quarter of the period's length (at
-- least a day) from it. 0 without a period or a time.
CREATE OR REPLACE FUNCTION recall_private.period_match(p recall.period, p_at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p).fade IS NULL OR p_at IS NULL THEN 0
            ELSE 0.5 ^ least(greatest(date_part('epoch', (p).since) - date_part('epoch', p_at),
                                      date_part('epoch', p_at) - date_part('epoch', (p).until), 0) / (p).fade, 100) END;
