-- The conversation that a query belongs to: whether the query makes sense without it, and what it says in full.

-- referring_pattern: matches a query that points to something said before: "your second one", "the part you warned me
-- about", "like last time", "what was it again". In lower case.
CREATE OR REPLACE FUNCTION recall_private.referring_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '\m(?:your (?:first|second|third|fourth|last|next|middle|other)|(?:the|that) (?:bit|part|thing|one) (?:that )?you|like last time'
    '|(?:dein|deine|deinen|ihr|ihre|ihren) (?:erste|zweite|dritte|letzte|andere)\w*|wie letztes mal'
    '|tu (?:primer|segund|tercer|últim|otr)\w*|como la última vez)\M'
    '|\m(?:you|du|sie)\M.*\m(?:again|noch ?mal)\W*$|\m(?:dijiste|decías)\M.*\m(?:otra vez|de nuevo)\W*$';

-- reply_pattern: matches a text that begins as a reply does. In lower case.
CREATE OR REPLACE FUNCTION recall_private.reply_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:yes|yeah|yea|yep|yup|no|nope|nah|none|nothing|neither|both|exactly|all of (?:it|them)|some of (?:it|them)|not (?:yet|really|quite)|kind of|sort of'
    '|ja|jo|nein|nee|doch|nichts|keine?s?|beides?|genau|noch nicht|nicht wirklich|sí|nada|ningun[oa]|ambos|exacto|todavía no|casi)\M';

-- pointing_pattern: matches a short query that goes on from what was said, or points to it with a word that stands for
-- a thing: "and how loud?", "when can the old ones go?", "what did that cost?". In lower case.
CREATE OR REPLACE FUNCTION recall_private.pointing_pattern() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    '^\W*(?:and|but|und|aber|y|pero)\M|\m(?:the|that|this|those|these) (?:\w+ )?ones?\M(?! (?:who|that|which|with|in|on|at|from|of|i|we)\M)'
    '|\m(?:that|this|those|these|it)(?:\W*$|[.?!,;])'
    '|\m(?:did|does|is|are|was|were|has|had|will|would|could|can) (?:that|this|those|these|it) (?:ok|okay|again|cost|take|work|go|help)\M'
    '|\m(?:das|dies)(?:\W*$|[.?!,;]| (?:nicht|noch|schon|auch|wieder|damals|gekostet|gesagt|gemacht|geklappt)\M)'
    '|^\W*(?:the )?same (?:for|again|thing|with)\M|^\W*(?:das (?:gleiche|selbe)|dasselbe|lo mismo)\M|^\W*(?:(?:give|show|tell) me|noch|dame|otr[oa]) (?:another|one more|more|eine?s?|otr[oa]|más)\M'
    '|\m(?:eso|esto|aquello)\M|\m(?:ese|esa|esos|esas)(?:\W*$|[.?!,;])';

-- refers_back: whether a query makes sense only after this turn, the last of a conversation: it points to something said
-- before, speaks of somebody or something that it does not name, has no topic, or replies to a question.
CREATE OR REPLACE FUNCTION recall_private.refers_back(p_query text, p_role text, p_turn text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_query text := lower(left(p_query, 1000));
    v_words tsvector := to_tsvector('pg_catalog.simple', v_query);
    v_names boolean := substr(p_query, 2) ~ '[^.?!:"] [[:upper:]][[:lower:]]+';
    v_asked boolean := p_role = 'assistant' AND p_turn ~ '[?？]';
BEGIN
    RETURN (recall_private.query_intent(p_query)).needs_context
        OR v_query ~ recall_private.referring_pattern()
        OR length(p_query) <= 40 AND (NOT recall_private.has_topic(v_words)
            OR NOT v_names AND (v_query ~ recall_private.pointing_pattern()
                -- With two words of its own, it may well be about somebody known.
                OR v_words @@ recall_private.person_words() AND cardinality(ARRAY(
                    SELECT unnest(tsvector_to_array(v_words)) EXCEPT SELECT unnest(recall_private.common_words()))) < 2))
        -- A sentence of at most three words before another.
        OR v_asked AND length(p_query) <= 60 AND NOT v_names AND v_query ~ '^\W*\w+(?: \w+){0,2}[.!]+ +\W*\w'
        OR v_asked AND (p_turn ~ '[?？]\W*$' OR v_query ~ '^\W*[^.!,;]{1,20}[.!,;]') AND v_query ~ recall_private.reply_pattern();
END $$;

-- days_meant: the days that words of time in a turn ("yesterday") mean, seen from when it was said: " (2026-11-29)". Empty
-- without such words, and where they name the year themselves.
CREATE OR REPLACE FUNCTION recall_private.days_meant(p_turn text, p_at timestamptz) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    v_period recall.period := recall_private.period_in_query(p_turn, p_at);
    v_since text := to_char(v_period.since AT TIME ZONE 'UTC', 'YYYY-MM-DD');
    v_last text := to_char(v_period.until AT TIME ZONE 'UTC' - interval '1 day', 'YYYY-MM-DD');
BEGIN
    RETURN CASE WHEN v_period.words IS NULL OR v_period.words ~ '\d{4}' THEN '' ELSE format(' (%s)', CASE
        WHEN v_since IS NULL THEN 'until ' || v_last WHEN v_last IS NULL THEN 'since ' || v_since
        ELSE concat_ws(' - ', v_since, nullif(v_last, v_since)) END) END;
END $$;

-- completed_query (reader; Search): a query with the end of the conversation that it refers to, or as it is where it
-- makes sense alone. p_conversation is an array of turns, {"role": "user" or "assistant", "content": text}, oldest
-- first, at most 100. Of the newest, up to 600 characters count; where a turn has its time as "at", in ISO 8601 (UTC if it
-- has no zone), words such as "yesterday" are followed by the days that they meant then. Search with what this returns,
-- and with its vector. Raises an error for anything else.
CREATE OR REPLACE FUNCTION recall.completed_query(p_query text, p_conversation jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET timezone = 'UTC' AS $$
DECLARE
    v_turns constant int := CASE WHEN jsonb_typeof(p_conversation) = 'array' THEN jsonb_array_length(p_conversation) END;
    v_turn jsonb;
    v_text text;
    v_last int;
    v_told text := '';
    v_at timestamptz;
BEGIN
    IF v_turns IS NULL OR v_turns > 100 THEN
        PERFORM recall_private.raise_invalid(
            'The conversation is not an array of at most 100 turns.', 'Give its last turns, oldest first.');
    END IF;
    FOR i IN REVERSE v_turns - 1 .. 0 LOOP
        v_turn := p_conversation -> i;
        v_text := v_turn ->> 'content';
        IF jsonb_typeof(v_turn -> 'content') IS DISTINCT FROM 'string'
           OR (v_turn ->> 'role' = ANY (recall_private.roles())) IS NOT TRUE THEN
            PERFORM recall_private.raise_invalid(
                format('Turn %s of the conversation has no role and content.', i + 1),
                'Write a turn as {"role": "user", "content": "..."}; roles are user, assistant, system and tool.');
        END IF;
        CONTINUE WHEN v_turn ->> 'role' NOT IN ('user', 'assistant') OR v_text !~ '[\w\u00C0-\u1FFF\u3040-\uD7FF]';
        IF v_last IS NULL THEN
            v_last := i;
            IF NOT recall_private.refers_back(p_query, v_turn ->> 'role', right(v_text, 1000)) THEN
                RETURN p_query;
            END IF;
        END IF;
        EXIT WHEN length(v_told) >= 600;
        -- A question of the assistant ends its turn; what the user tells begins his.
        v_text := CASE v_turn ->> 'role' WHEN 'assistant' THEN right(v_text, 200) ELSE left(v_text, 200) END;
        IF v_turn ->> 'at' IS NOT NULL THEN
            BEGIN
                -- Postgres also reads words ("now") and Julian days; they have no match here, which is NULL.
                v_at := recall_private.require_moment(substring(v_turn ->> 'at',
                    '^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?$')::timestamptz);
            EXCEPTION WHEN data_exception THEN
                PERFORM recall_private.raise_invalid(
                    format('Turn %s of the conversation is of %L, which is no time.', i + 1, left(v_turn ->> 'at', 100)),
                    'Write its time as 2026-11-29T18:00:00Z, or leave it out.');
            END;
            v_text := v_text || recall_private.days_meant(v_text, v_at);
        END IF;
        v_told := v_text || E'\n' || v_told;
    END LOOP;
    RETURN v_told || p_query;
END $$;
