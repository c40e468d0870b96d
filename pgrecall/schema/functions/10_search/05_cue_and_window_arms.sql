-- Memories found without a query: those associated with cues, and those in a window of time.

-- cue_ids: the cues of a search: the memories in p_cues, a JSON array of ids and keys, and the eight memories last used
-- in the session within a day. Raises an error for a memory that does not exist.
CREATE OR REPLACE FUNCTION recall_private.cue_ids(
    p_tenant text, p_cues jsonb, p_session_id text, p_now timestamptz
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_cues bigint[];
BEGIN
    IF jsonb_typeof(p_cues) = 'array' AND jsonb_array_length(p_cues) > 32 THEN
        PERFORM recall_private.raise_invalid(format('There are %s cues; the limit is 32.', jsonb_array_length(p_cues)),
            'Give the memories used last.');
    END IF;
    v_cues := coalesce(recall_private.ids_of(p_cues), '{}');
    IF p_session_id IS NULL THEN
        RETURN v_cues;
    END IF;
    RETURN ARRAY(
        SELECT unnest(v_cues)
        UNION
        SELECT u.memory_id FROM (
            SELECT a.memory_id FROM recall.access a
            WHERE a.tenant = p_tenant AND a.session_id = p_session_id AND a.kind IN ('used', 'read', 'reference')
              AND a.at <= p_now AND a.at > p_now - interval '1 day'
            GROUP BY a.memory_id ORDER BY max(a.at) DESC, a.memory_id LIMIT 8) u);
END $$;

-- named_in_turns: up to eight memories that the last of these turns of a conversation name, those that were named last
-- first: entities by any name, other memories by a name of several words, by a link ([[...]]) or by their key. The
-- last eight texts count, and of a long one its ends.
CREATE OR REPLACE FUNCTION recall_private.named_in_turns(p_tenant text, p_turns text[])
RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_language regconfig := recall_private.text_configuration(p_tenant);
    v_named bigint[] := '{}';
    v_text text;
    v_linked text[];
    v_known text[];
BEGIN
    FOR i IN REVERSE coalesce(cardinality(p_turns), 0) .. greatest(cardinality(p_turns) - 7, 1) LOOP
        v_text := coalesce(p_turns[i], '');
        IF length(v_text) > 400 THEN
            v_text := left(v_text, 200) || ' ' || right(v_text, 200);
        END IF;
        CONTINUE WHEN cardinality(v_named) >= 8 OR NOT recall_private.may_name(p_tenant, v_text);
        v_linked := CASE WHEN v_text ~ '\[\[' THEN ARRAY(
            SELECT recall_private.plain(recall_private.normalized_name(l.found[1]))
            FROM regexp_matches(v_text, '\[\[([^][|#]+)', 'g') l(found)) ELSE '{}' END;
        -- One index probe for all phrases, because most name nothing.
        v_known := ARRAY(
            SELECT DISTINCT n.plain FROM recall.name n
            WHERE n.tenant = p_tenant
              AND n.plain = ANY (recall_private.plain_texts(recall_private.query_phrases(v_text)) || v_linked));
        v_named := v_named || ARRAY(
            SELECT DISTINCT n.memory_id
            FROM unnest(v_known) k(plain)
            CROSS JOIN LATERAL recall_private.memories_named(p_tenant, k.plain, k.plain !~ ' ' AND k.plain <> ALL (v_linked)) n
            WHERE to_tsvector(v_language, n.name) <> '' AND n.memory_id <> ALL (v_named)
            UNION
            SELECT m.id FROM unnest(recall_private.key_like_words(v_text)) k(key)
            JOIN recall.memory m ON m.tenant = p_tenant AND m.key = k.key
            WHERE m.id <> ALL (v_named)
            ORDER BY 1);
    END LOOP;
    RETURN v_named[:8];
END $$;

-- cue_arm: the memories associated with these cues and hints, strongest first, at most p_limit. A hint can be among
-- them, a cue cannot. `strength`, 0 to 1, combines each cue's association with a memory and the share that a link
-- lends, as independent probabilities; `cue` is the cue or hint that contributes most. The association is the share of
-- the cue's sessions in which the memory was used too (see associates), which estimates how likely it is to be used
-- next. In a search with words (p_beside_words), it is the cosine of their sessions, which ignores how often the memory
-- is used at all, because use is counted separately.
CREATE OR REPLACE FUNCTION recall_private.cue_arm(
    p_tenant text, p_cues bigint[], p_hints bigint[], p_limit int, p_now timestamptz, p_beside_words boolean
)
RETURNS TABLE (id bigint, strength double precision, cue bigint)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
DECLARE
    v_from bigint[] := ARRAY(SELECT unnest(p_cues) UNION SELECT unnest(p_hints));  -- one that is both counts once
    v_hop double precision := recall_private.setting_number(p_tenant, 'search.hop_share');
    v_next double precision := recall_private.setting_number(p_tenant, 'search.next_share');
    v_previous double precision := recall_private.setting_number(p_tenant, 'search.previous_share');
BEGIN
    RETURN QUERY
    SELECT s.id, 1 - exp(sum(ln(1 - least(s.share, 0.999)) ORDER BY s.cue, s.share)),
           (array_agg(s.cue ORDER BY s.share DESC, s.cue))[1]
    FROM (
        SELECT a.id, c.cue, a.share
        FROM unnest(v_from) c(cue)
        CROSS JOIN LATERAL (
            SELECT x.other AS id,
                   least(1, x.shared / CASE WHEN p_beside_words THEN sqrt(x.own) * sqrt(x.theirs) ELSE x.own + 1 END) AS share
            FROM recall_private.shared_sessions(p_tenant, c.cue, p_now) x
            WHERE x.shared > 0 AND x.own > 0 AND x.theirs > 0
            ORDER BY 2 DESC, 1 LIMIT 32) a
        UNION ALL
        SELECT l.id, c.cue, l.share
        FROM unnest(v_from) c(cue)
        CROSS JOIN LATERAL recall_private.linked_memories(p_tenant, c.cue, 200, v_hop, v_next, v_previous) l
        WHERE l.share > 0
    ) s
    WHERE s.id <> ALL (p_cues)
    GROUP BY s.id
    ORDER BY 2 DESC, 1 LIMIT p_limit;
END $$;

-- window_arm: up to 5,000 memories in a window of time, newest first.
CREATE OR REPLACE FUNCTION recall_private.window_arm(
    p_tenant text, p_filter recall.search_filter
) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id FROM recall.memory m
    WHERE m.tenant = p_tenant
      AND m.happened_at >= coalesce(p_filter.since, '-infinity') AND m.happened_at <= coalesce(p_filter.until, 'infinity')
      AND recall_private.passes_filter(m, p_filter)
    ORDER BY m.happened_at DESC, m.id LIMIT 5000
$$;
