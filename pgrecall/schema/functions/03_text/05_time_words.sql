-- Words for times in English, German and Spanish, and the days they mean. Days are those of UTC, weeks begin on Monday,
-- and seasons are those of the northern hemisphere.
--
-- Long texts are in bodies that are strings: Postgres stores the constants of RETURN byte by byte, and each connection would
-- need milliseconds to read them.

-- time_words: words for times, each with its term: m a month (a: one that is also another word), s a season (z:
-- one that is also another word), w a weekday, u a unit, n a number, o an ordinal, f a third, d a day counted from
-- today. x is a noun after a number that is no year ("in 2000 words").
CREATE OR REPLACE FUNCTION recall_private.time_words() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '{
    "january": "m:1", "february": "m:2", "april": "m:4", "june": "m:6", "july": "m:7", "august": "m:8",
    "september": "m:9", "october": "m:10", "november": "m:11", "december": "m:12", "march": "a:3", "may": "a:5",
    "jan": "a:1", "feb": "a:2", "mar": "a:3", "apr": "a:4", "jun": "a:6", "jul": "a:7", "aug": "a:8", "sep": "a:9",
    "sept": "a:9", "oct": "a:10", "nov": "a:11", "dec": "a:12",
    "januar": "m:1", "jänner": "m:1", "februar": "m:2", "märz": "m:3", "mai": "m:5", "juni": "m:6", "juli": "m:7",
    "oktober": "m:10", "dezember": "m:12",
    "enero": "m:1", "febrero": "m:2", "marzo": "m:3", "abril": "m:4", "mayo": "a:5", "junio": "m:6", "julio": "m:7",
    "agosto": "m:8", "septiembre": "m:9", "octubre": "m:10", "noviembre": "m:11", "diciembre": "m:12",
    "spring": "z:1", "summer": "s:2", "autumn": "s:3", "fall": "z:3", "winter": "s:4",
    "frühling": "s:1", "frühjahr": "s:1", "sommer": "s:2", "herbst": "s:3",
    "primavera": "s:1", "verano": "s:2", "otoño": "s:3", "invierno": "s:4",
    "monday": "w:1", "tuesday": "w:2", "wednesday": "w:3", "thursday": "w:4", "friday": "w:5", "saturday": "w:6",
    "sunday": "w:7", "montag": "w:1", "dienstag": "w:2", "mittwoch": "w:3", "donnerstag": "w:4", "freitag": "w:5",
    "samstag": "w:6", "sonntag": "w:7", "lunes": "w:1", "martes": "w:2", "miércoles": "w:3", "jueves": "w:4",
    "viernes": "w:5", "sábado": "w:6", "domingo": "w:7",
    "hour": "u:hour", "hours": "u:hour", "day": "u:day", "days": "u:day", "week": "u:week", "weeks": "u:week",
    "month": "u:month", "months": "u:month", "quarter": "u:quarter", "quarters": "u:quarter", "year": "u:year",
    "years": "u:year", "weekend": "u:weekend", "night": "u:part", "morning": "u:part", "afternoon": "u:part",
    "evening": "u:part", "stunde": "u:hour", "stunden": "u:hour", "tag": "u:day", "tage": "u:day", "tagen": "u:day",
    "woche": "u:week", "wochen": "u:week", "monat": "u:month", "monate": "u:month", "monaten": "u:month",
    "quartal": "u:quarter", "jahr": "u:year", "jahre": "u:year", "jahren": "u:year", "wochenende": "u:weekend",
    "nacht": "u:part", "hora": "u:hour", "horas": "u:hour", "día": "u:day", "días": "u:day", "semana": "u:week",
    "semanas": "u:week", "mes": "u:month", "meses": "u:month", "trimestre": "u:quarter", "año": "u:year",
    "años": "u:year", "noche": "u:part",
    "one": "n:1", "two": "n:2", "three": "n:3", "four": "n:4", "five": "n:5", "six": "n:6", "seven": "n:7",
    "eight": "n:8", "nine": "n:9", "ten": "n:10", "eleven": "n:11", "twelve": "n:12", "couple": "n:2", "few": "n:few",
    "several": "n:few", "zwei": "n:2", "drei": "n:3", "vier": "n:4", "fünf": "n:5", "sechs": "n:6", "sieben": "n:7",
    "acht": "n:8", "neun": "n:9", "zehn": "n:10", "paar": "n:few", "par": "n:2", "wenigen": "n:few", "einigen": "n:few",
    "dos": "n:2", "tres": "n:3", "cuatro": "n:4", "cinco": "n:5", "seis": "n:6", "siete": "n:7", "ocho": "n:8",
    "nueve": "n:9", "diez": "n:10", "unos": "n:few", "unas": "n:few", "pocos": "n:few", "pocas": "n:few",
    "a": "n:1", "an": "n:1", "ein": "n:1", "eine": "n:1", "einem": "n:1", "einer": "n:1", "un": "n:1", "una": "n:1",
    "first": "o:1", "second": "o:2", "third": "o:3", "fourth": "o:4", "half": "half", "hälfte": "half",
    "mitad": "half", "erste": "o:1", "ersten": "o:1",
    "erstes": "o:1", "zweite": "o:2", "zweiten": "o:2", "zweites": "o:2", "dritte": "o:3", "dritten": "o:3",
    "drittes": "o:3", "vierte": "o:4", "vierten": "o:4", "viertes": "o:4", "primer": "o:1", "primera": "o:1",
    "primeros": "o:1", "primeras": "o:1", "últimos": "last", "últimas": "last",
    "segundo": "o:2", "segunda": "o:2", "tercer": "o:3", "tercera": "o:3", "cuarto": "o:4", "cuarta": "o:4",
    "early": "f:1", "beginning": "f:1", "start": "f:1", "mid": "f:2", "middle": "f:2", "late": "f:3", "end": "f:3",
    "anfang": "f:1", "mitte": "f:2", "ende": "f:3", "principios": "f:1", "mediados": "f:2", "finales": "f:3",
    "yesterday": "d:-1", "today": "d:0", "tonight": "d:0", "vorgestern": "d:-2", "gestern": "d:-1",
    "heute": "d:0", "anteayer": "d:-2", "ayer": "d:-1", "hoy": "d:0",
    "last": "last", "past": "last", "previous": "last", "letzte": "last", "letzten": "last", "letzter": "last",
    "letztes": "last", "letztem": "last", "vergangene": "last", "vergangenen": "last", "vergangenes": "last",
    "this": "this", "diese": "this", "diesen": "this", "dieser": "this", "dieses": "this", "diesem": "this",
    "este": "this", "esta": "this", "pasado": "gone", "pasada": "gone",
    "words": "x", "characters": "x", "tokens": "x", "lines": "x", "steps": "x", "people": "x", "items": "x", "rows": "x",
    "bytes": "x", "ms": "x", "seconds": "x", "minutes": "x", "euros": "x", "dollars": "x", "meters": "x", "km": "x",
    "kg": "x", "pages": "x", "wörter": "x", "zeichen": "x", "palabras": "x",
    "ago": "ago", "vor": "vor", "hace": "vor", "since": "since", "seit": "since", "desde": "since",
    "until": "until", "till": "until", "by": "until", "bis": "until", "hasta": "until",
    "before": "before", "antes": "before", "after": "after", "nach": "after", "después": "after",
    "during": "during", "over": "during", "während": "during", "durante": "during", "in": "in", "im": "in", "en": "in",
    "on": "on", "am": "on", "at": "on", "between": "between", "from": "between", "zwischen": "between",
    "entre": "between", "von": "between", "and": "and", "to": "and", "through": "and", "und": "and", "y": "and",
    "of": "of", "de": "of", "del": "of", "the": "the", "der": "the", "die": "the", "das": "the", "den": "the",
    "dem": "the", "des": "the", "el": "the", "la": "the", "los": "the", "las": "the"}'::jsonb
$$;

-- hints_of_time: the words of which every query with a period has one, unless it has a year or a date in figures: names
-- of months, seasons, weekdays and quarters, and words like "yesterday", "last" and "ago". IMMUTABLE, so that plans contain its
-- result.
CREATE OR REPLACE FUNCTION recall_private.hints_of_time() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(w.key, w.value) || '{"q1": "", "q2": "", "q3": "", "q4": ""}'
    FROM jsonb_each_text(recall_private.time_words()) w
    WHERE w.value ~ '^([maszwd]:|last$|this$|gone$|ago$|vor$|u:quarter$)'
$$;

-- calendar_unit: the week, month or other unit that is p_steps after the one that contains a day.
CREATE OR REPLACE FUNCTION recall_private.calendar_unit(p_day date, p_unit text, p_steps int, OUT since date, OUT until date)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_unit text := CASE p_unit WHEN 'weekend' THEN 'week' WHEN 'part' THEN 'day' WHEN 'hour' THEN 'day' ELSE p_unit END;
    v_step interval := CASE v_unit WHEN 'quarter' THEN '3 months' ELSE '1 ' || v_unit END;
    v_start timestamp := date_trunc(v_unit, p_day::timestamp)
        + CASE WHEN p_unit = 'hour' THEN 0 ELSE p_steps END * v_step;
BEGIN
    since := v_start::date + CASE p_unit WHEN 'weekend' THEN 5 ELSE 0 END;
    until := (v_start + v_step)::date;
END $$;

-- days_in_year: the days of a year that p_name means: a month ("m:5"), a day of a month ("m:5" and p_day), a season
-- ("s:2") or a quarter ("q3"). NULL if they do not exist (30 February).
CREATE OR REPLACE FUNCTION recall_private.days_in_year(p_year int, p_name text, p_day int, OUT since date, OUT until date)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_number int := substring(p_name FROM '\d+')::int;
BEGIN
    IF p_year NOT BETWEEN 1 AND 9997 THEN
        RETURN;
    ELSIF p_name ~ '^m' THEN
        since := make_date(p_year, v_number, 1);
        until := (since + interval '1 month')::date;
        IF p_day > until - since OR p_day < 1 THEN
            since := NULL;
            until := NULL;
        ELSIF p_day IS NOT NULL THEN
            since := since + p_day - 1;
            until := since + 1;
        END IF;
    ELSE
        since := make_date(p_year, 3 * v_number - CASE WHEN p_name ~ '^q' THEN 2 ELSE 0 END, 1);
        until := (since + interval '3 months')::date;
    END IF;
END $$;

-- recurring_days: the days that p_name (see days_in_year; also a weekday, "w:5") means when it is said on a day: the
-- latest that have begun. With p_which `last`, the latest that are over; with `this`, those of the same year.
CREATE OR REPLACE FUNCTION recall_private.recurring_days(
    p_name text, p_day int, p_which text, p_today date, OUT since date, OUT until date
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_year int := date_part('year', p_today);
BEGIN
    IF p_name ~ '^w' THEN
        since := date_trunc('week', p_today::timestamp)::date + right(p_name, -2)::int - 1;
        since := since - CASE WHEN p_which = 'this' THEN 0
                              WHEN since > p_today OR p_which = 'last' AND since = p_today THEN 7 ELSE 0 END;
        until := since + 1;
        RETURN;
    END IF;
    FOR step IN CASE WHEN p_which = 'this' THEN 0 ELSE -1 END .. 8 LOOP  -- 29 February may be eight years away
        SELECT d.since, d.until INTO since, until FROM recall_private.days_in_year(v_year - step, p_name, p_day) d;
        EXIT WHEN CASE p_which WHEN 'this' THEN true WHEN 'last' THEN until <= p_today ELSE since <= p_today END;
        since := NULL;
        until := NULL;
    END LOOP;
END $$;

-- moved_day: the day that is p_steps units later. A weekend counts as a week, a part of a day or an hour as nothing.
CREATE OR REPLACE FUNCTION recall_private.moved_day(p_day date, p_unit text, p_steps int) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_day + p_steps * CASE p_unit WHEN 'day' THEN interval '1 day' WHEN 'week' THEN '7 days' WHEN 'weekend' THEN '7 days'
        WHEN 'month' THEN '1 month' WHEN 'quarter' THEN '3 months' WHEN 'year' THEN '1 year' ELSE '0' END)::date;

-- around_day: the days p_fewest to p_most units before a day, to the precision of the unit: "two weeks ago" means a week.
CREATE OR REPLACE FUNCTION recall_private.around_day(
    p_day date, p_unit text, p_fewest int, p_most int, OUT since date, OUT until date
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_half int := CASE p_unit WHEN 'week' THEN 3 WHEN 'weekend' THEN 3 WHEN 'month' THEN 15 WHEN 'quarter' THEN 45
                              WHEN 'year' THEN 182 ELSE 0 END;
BEGIN
    since := recall_private.moved_day(p_day, p_unit, -p_most) - v_half;
    until := recall_private.moved_day(p_day, p_unit, -p_fewest) + v_half + 1;
END $$;
