-- The newer of two statements: one that says the same with another value, and one that says that something changed.

-- differs_in_one_place: whether the words of this text that the other text lacks stand together, with none of the words
-- that both have between them: a value that was replaced, and not another thing with a value of its own.
CREATE OR REPLACE FUNCTION recall_private.differs_in_one_place(p_text tsvector, p_other text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_own tsvector := ts_delete(p_text, p_other);
    v_first int;
    v_last int;
BEGIN
    SELECT min(p), max(p) INTO v_first, v_last FROM unnest(v_own) u CROSS JOIN LATERAL unnest(u.positions) p;
    RETURN NOT EXISTS (
        SELECT FROM unnest(ts_delete(p_text, tsvector_to_array(v_own))) u CROSS JOIN LATERAL unnest(u.positions) p
        WHERE p BETWEEN v_first AND v_last);
END $$;

-- newer_statements: for some of these memories (best first), as `older`, the newest one among them that states the same with
-- another value, as `newer`: texts of at most 20 words, whose vectors have a cosine of at least 0.6, which share three words
-- in ten, and of which the older differs in one place. Long texts share that many words without being about the same. The
-- newer one may be up to p_gap log-odds less relevant than the older, by which it then ranks: `log_odds` are those of the
-- older one. Statements with different words of the query (p_held, see words_held) are about different things. More than
-- four such texts are the entries of a list and no versions. Neither replaces the other: whether it does, only a person
-- knows. Questions are no versions.
CREATE OR REPLACE FUNCTION recall_private.newer_statements(
    p_tenant text, p_ids bigint[], p_log_odds double precision[], p_held int[], p_gap double precision,
    OUT older bigint[], OUT newer bigint[], OUT log_odds double precision[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_older bigint[];
    v_newer bigint[];
    v_log_odds double precision[];
    v_at timestamptz[];
    v_follows boolean[];
BEGIN
    -- Words first: most searches have no such pair, and read no vector.
    WITH one AS MATERIALIZED (
        SELECT k.id, array_position(p_ids, k.id) AS place, k.happened_at, k.embedded_with, w.said,
               tsvector_to_array(w.said) AS words
        FROM recall.memory k
        CROSS JOIN LATERAL (SELECT ts_filter(k.search_text, '{a,c}') AS said OFFSET 0) w  -- title and body
        WHERE k.tenant = p_tenant AND k.id = ANY (p_ids) AND length(w.said) <= 20
          AND NOT recall_private.says_nothing(coalesce(k.speech_act, ''))
    )
    SELECT array_agg(o.id), array_agg(n.id), array_agg(p_log_odds[o.place]), array_agg(n.happened_at),
           array_agg(n.happened_at > o.happened_at AND p_log_odds[n.place] >= p_log_odds[o.place] - p_gap)
    INTO v_older, v_newer, v_log_odds, v_at, v_follows
    FROM one o
    JOIN one n ON (n.happened_at, n.id) > (o.happened_at, o.id) AND n.embedded_with = o.embedded_with
        AND p_held[n.place] IS NOT DISTINCT FROM p_held[o.place]
    CROSS JOIN LATERAL (SELECT length(o.said) - length(ts_delete(o.said, n.words)) AS shared OFFSET 0) s
    -- In a CASE, the dear test comes last: Postgres would test each pair before it counts the words.
    WHERE CASE WHEN 10 * s.shared >= 3 * (length(o.said) + length(n.said) - s.shared) AND s.shared < length(n.said)
               THEN recall_private.differs_in_one_place(o.said, n.words) END;
    IF NOT true = ANY (coalesce(v_follows, '{}')) THEN
        RETURN;
    END IF;
    WITH vector AS MATERIALIZED (
        SELECT v.id, v.embedding FROM recall_private.stored_vectors(p_tenant, v_older || v_newer) v
    ), pair AS MATERIALIZED (
        SELECT u.* FROM unnest(v_older, v_newer, v_log_odds, v_at, v_follows) u(older, newer, log_odds, happened_at, follows)
        JOIN vector o ON o.id = u.older
        JOIN vector n ON n.id = u.newer
        WHERE 1 - (o.embedding <=> n.embedding) >= 0.6
    )
    SELECT array_agg(n.older), array_agg(n.newer), array_agg(n.log_odds) INTO older, newer, log_odds
    FROM (SELECT DISTINCT ON (p.older) p.older, p.newer, p.log_odds
          FROM pair p
          WHERE p.follows AND (SELECT count(*) FROM pair x WHERE p.older IN (x.older, x.newer)) <= 3
          ORDER BY p.older, p.happened_at DESC, p.newer DESC) n;
END $$;

-- changed_statements: for each of these memories (best first) that says that something changed (see change_words), the
-- earlier statement among them that it changes: its nearest in meaning, with a cosine of at least 0.35, of the same author,
-- and to which it is the nearest of all later ones. `raised` ranks by `log_odds` before `other`: the change before what it
-- changes or, with p_past, what the best memory changed before that one. At most p_gap log-odds are made up for. Either may be
-- about something else, so neither names the other.
CREATE OR REPLACE FUNCTION recall_private.changed_statements(
    p_tenant text, p_ids bigint[], p_log_odds double precision[], p_gap double precision, p_past boolean
) RETURNS TABLE (other bigint, raised bigint, log_odds double precision)
LANGUAGE plpgsql STABLE ROWS 3 AS $$
BEGIN
    RETURN QUERY
    WITH said AS MATERIALIZED (
        SELECT u.id, u.log_odds, m.happened_at, m.author, v.embedded_with, v.embedding,
               m.speech_act = 'change' AND (u.id = p_ids[1] OR NOT p_past) AS changes
        FROM unnest(p_ids, p_log_odds) u(id, log_odds)
        CROSS JOIN LATERAL (
            SELECT k.happened_at, k.author, k.speech_act FROM recall.memory k
            WHERE k.tenant = p_tenant AND k.id = u.id AND k.role IS DISTINCT FROM 'assistant' AND length(k.body) <= 300
              AND NOT recall_private.says_nothing(coalesce(k.speech_act, '')) OFFSET 0) m
        JOIN recall_private.stored_vectors(p_tenant, p_ids) v ON v.id = u.id
    ), nearest AS MATERIALIZED (
        SELECT DISTINCT ON (n.id) n.id AS newer, n.log_odds AS newer_log_odds, o.*,
               n.author IS NOT DISTINCT FROM o.author AS of_author, o.embedding <=> n.embedding AS distance
        FROM said n
        JOIN said o ON (o.happened_at, o.id) < (n.happened_at, n.id) AND o.embedded_with = n.embedded_with
        WHERE n.changes
        ORDER BY n.id, o.embedding <=> n.embedding, o.id
    )
    SELECT CASE WHEN p_past THEN c.newer ELSE c.id END, CASE WHEN p_past THEN c.id ELSE c.newer END,
           greatest(c.log_odds, c.newer_log_odds)
    FROM nearest c
    WHERE c.of_author AND c.distance <= 0.65
      AND CASE WHEN p_past THEN c.newer_log_odds - c.log_odds ELSE c.log_odds - c.newer_log_odds END BETWEEN 0 AND p_gap
      AND NOT EXISTS (
          SELECT FROM said l
          WHERE (l.happened_at, l.id) > (c.happened_at, c.id) AND l.id <> c.newer AND l.embedded_with = c.embedded_with
            AND l.embedding <=> c.embedding < c.distance);
END $$;

-- behind_successors: for each of the memories p_older whose successors are among p_ids, the lowest log-odds of these
-- (p_log_odds), behind which it ranks, and its steps to the end of the chain.
CREATE OR REPLACE FUNCTION recall_private.behind_successors(
    p_tenant text, p_older bigint[], p_ids bigint[], p_log_odds double precision[]
) RETURNS TABLE (id bigint, log_odds double precision, steps int)
LANGUAGE plpgsql STABLE ROWS 3 AS $$
BEGIN
    RETURN QUERY
    SELECT c.id, min(n.log_odds), max(c.step)
    FROM recall_private.successors_of(p_tenant, p_older) c
    JOIN unnest(p_ids, p_log_odds) n(id, log_odds) ON n.id = c.successor
    GROUP BY c.id;
END $$;

-- placed_by_time: these memories (best first) in the order of their ranks, with the log-odds by which each is placed. One
-- that is newer than another goes before it, and a superseded memory behind the newer one, the oldest of a chain last. `newer`
-- is the newer version of `older`, at the same place, and `raised` tells what goes before what, for a client that weighs the
-- hits again. p_held is NULL for several queries, and p_older, those that are superseded, where these are hidden. p_acts are
-- the speech acts. p_past says whether what was is asked for, p_unchanged whether what changed need not go first.
CREATE OR REPLACE FUNCTION recall_private.placed_by_time(
    p_tenant text, p_ids bigint[], p_log_odds double precision[], p_held int[], p_older bigint[], p_acts text[],
    p_past boolean, p_unchanged boolean, p_newer_gap double precision, p_change_gap double precision,
    OUT ids bigint[], OUT placed double precision[], OUT older bigint[], OUT newer bigint[], OUT raised jsonb
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_newer record;
    v_changed bigint[];
    v_raised bigint[];
    v_above double precision[];
BEGIN
    ids := p_ids;
    placed := p_log_odds;
    IF p_newer_gap > 0 AND NOT p_past AND cardinality(p_ids) > 1 THEN
        v_newer := recall_private.newer_statements(p_tenant, p_ids[1:10], p_log_odds[1:10], p_held[1:10], p_newer_gap);
        older := v_newer.older;
        newer := v_newer.newer;
        v_above := v_newer.log_odds;
    END IF;
    IF p_newer_gap > 0 AND (p_past OR NOT p_unchanged)
       AND 'change' = ANY (p_acts[1:CASE WHEN p_past THEN 1 ELSE 50 END]) THEN
        SELECT array_agg(c.other), array_agg(c.raised), v_above || array_agg(c.log_odds) INTO v_changed, v_raised, v_above
        FROM recall_private.changed_statements(p_tenant, p_ids[1:50], p_log_odds[1:50], p_change_gap, p_past) c;
    END IF;
    IF newer IS NULL AND v_raised IS NULL AND p_older IS NULL THEN
        RETURN;
    END IF;
    v_raised := newer || v_raised;
    raised := (
        SELECT jsonb_agg(jsonb_build_object('id', u.id, 'before', u.other, 'gap',
                                            CASE WHEN u.place <= cardinality(newer) THEN p_newer_gap ELSE p_change_gap END))
        FROM unnest(v_raised, older || v_changed) WITH ORDINALITY u(id, other, place));
    SELECT array_agg(o.id), array_agg(o.placed) INTO ids, placed
    FROM (SELECT u.id, least(greatest(u.log_odds, m.above), m.behind) AS placed
          FROM unnest(p_ids, p_log_odds) u(id, log_odds)
          LEFT JOIN (
              SELECT b.id, max(b.above) AS above, min(b.behind) AS behind, max(b.steps) AS steps
              FROM (SELECT r.id, r.above, NULL AS behind, NULL AS steps FROM unnest(v_raised, v_above) r(id, above)
                    UNION ALL
                    SELECT c.id, NULL, c.log_odds, c.steps
                    FROM recall_private.behind_successors(p_tenant, p_older, p_ids, p_log_odds) c) b
              GROUP BY b.id) m ON m.id = u.id
          ORDER BY 2 DESC, coalesce(m.steps, 0), m.above IS NULL, u.id) o;
END $$;
