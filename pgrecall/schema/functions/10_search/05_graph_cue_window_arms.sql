-- The other arms: links of the best candidates, answers to questions among them, directives, what a named period holds,
-- associations with cues, and a window of time.

-- link_share: the share of its relevance that a memory lends over a link of this relation, forwards or backwards. A
-- memory that contradicts or replaces another does not answer in its place. Co-access belongs to the cue arm. Inlined.
CREATE OR REPLACE FUNCTION recall_private.link_share(
    p_relation text, p_forward boolean, p_weight double precision, p_hop double precision,
    p_next double precision, p_previous double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_relation
    WHEN 'next' THEN CASE WHEN p_forward THEN p_next ELSE p_previous END
    WHEN 'contradicts' THEN 0 WHEN 'supersedes' THEN 0 WHEN 'co_access' THEN 0
    ELSE p_hop * least(p_weight, 1) END;

-- linked_memories: the memories linked with this one and the share that it lends each; at most p_limit links in each
-- direction. Inlined.
CREATE OR REPLACE FUNCTION recall_private.linked_memories(
    p_tenant text, p_memory_id bigint, p_limit int, p_hop double precision, p_next double precision,
    p_previous double precision
) RETURNS TABLE (id bigint, share double precision)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    (SELECT k.dst, recall_private.link_share(k.relation, true, k.weight, p_hop, p_next, p_previous)
     FROM recall.link k WHERE k.tenant = p_tenant AND k.src = p_memory_id LIMIT p_limit)
    UNION ALL
    (SELECT k.src, recall_private.link_share(k.relation, false, k.weight, p_hop, p_next, p_previous)
     FROM recall.link k WHERE k.tenant = p_tenant AND k.dst = p_memory_id LIMIT p_limit);
END;

-- graph_arm: up to p_limit memories that are at most two links from these seeds, with the share of its relevance that
-- each seed lends them (the product along the best path, at least 0.05). Largest shares first, ties by id. From a seed,
-- 200 links in each direction are followed; from its 64 nearest neighbours, 16.
CREATE OR REPLACE FUNCTION recall_private.graph_arm(
    p_tenant text, p_seeds bigint[], p_limit int, p_hop double precision, p_next double precision,
    p_previous double precision, OUT seeds bigint[], OUT ids bigint[], OUT shares double precision[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_most double precision := greatest(p_hop, p_next, p_previous);
BEGIN
    SELECT array_agg(o.seed), coalesce(array_agg(o.id), '{}'), array_agg(o.share) INTO seeds, ids, shares
    FROM (
        SELECT s.seed, l.id, max(l.share) AS share
        FROM unnest(p_seeds) s(seed)
        CROSS JOIN LATERAL recall_private.linked_memories(p_tenant, s.seed, 200, p_hop, p_next, p_previous) l
        WHERE l.share >= 0.05
        GROUP BY s.seed, l.id ORDER BY 3 DESC, 2, 1) o;
    IF ids = '{}' OR shares[p_limit] >= v_most * v_most OR shares[1] * v_most < 0.05 THEN
        -- No memory two links away can get a larger share.
        seeds := seeds[:p_limit];
        ids := ids[:p_limit];
        shares := shares[:p_limit];
        RETURN;
    END IF;
    WITH once AS MATERIALIZED (
        SELECT o.* FROM unnest(seeds, ids, shares) o(seed, id, share)
    ), between AS MATERIALIZED (
        SELECT o.id, max(o.share) AS share FROM once o
        WHERE o.share * v_most >= 0.05
        GROUP BY o.id ORDER BY 2 DESC, 1 LIMIT 64
    ), beyond AS MATERIALIZED (
        SELECT b.id AS through, l.id, l.share
        FROM between b CROSS JOIN LATERAL recall_private.linked_memories(p_tenant, b.id, 16, p_hop, p_next, p_previous) l
        WHERE b.share * l.share >= 0.05
    )
    SELECT array_agg(b.seed), array_agg(b.id), array_agg(b.share) INTO seeds, ids, shares
    FROM (
        SELECT r.seed, r.id, max(r.share) AS share
        FROM (
            SELECT * FROM once
            UNION ALL
            SELECT o.seed, b.id, o.share * b.share
            FROM once o JOIN beyond b ON b.through = o.id
            WHERE o.share * b.share >= 0.05 AND b.id <> o.seed
        ) r
        GROUP BY r.seed, r.id
        ORDER BY 3 DESC, 2, 1 LIMIT p_limit) b;
END $$;

-- answers_to: the turns that answer those of these memories that are questions: the next turn of somebody else, unless it
-- only asks or acknowledges. Turns that name no speaker may be anybody's.
CREATE OR REPLACE FUNCTION recall_private.answers_to(p_tenant text, p_ids bigint[])
RETURNS TABLE (question bigint, answer bigint)
LANGUAGE sql STABLE ROWS 5
SET search_path FROM CURRENT AS $$
    SELECT q.id, a.id
    FROM (SELECT DISTINCT u AS id FROM unnest(p_ids) u) s
    CROSS JOIN LATERAL (
        SELECT m.id, m.role, m.author FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = s.id AND m.speech_act = 'question' OFFSET 0) q
    CROSS JOIN LATERAL (
        SELECT k.dst FROM recall.link k
        WHERE k.tenant = p_tenant AND k.src = q.id AND k.relation = 'next' ORDER BY k.dst LIMIT 1) k
    CROSS JOIN LATERAL (
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = k.dst AND NOT recall_private.says_nothing(coalesce(m.speech_act, ''))
          AND ((m.role, m.author) IS DISTINCT FROM (q.role, q.author) OR coalesce(q.role, q.author) IS NULL) OFFSET 0) a
$$;

-- nearest_among: the p_limit memories of p_ids nearest to the query in meaning, all of them if there are no more.
CREATE OR REPLACE FUNCTION recall_private.nearest_among(p_tenant text, p_ids bigint[], p_embedding halfvec, p_limit int)
RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_ids) <= p_limit THEN
        RETURN p_ids;
    END IF;
    RETURN ARRAY(
        SELECT s.id FROM recall_private.similarities_to_vector(p_tenant, p_ids, p_embedding) s
        ORDER BY s.similarity DESC, s.id LIMIT p_limit);
END $$;

-- directive_arm: of the 200 newest directives that pass the filter, among the newest 1,000, the 20 nearest to the query
-- in meaning. A directive that shares nothing with the query can still apply to it. Others are found as any memory is.
CREATE OR REPLACE FUNCTION recall_private.directive_arm(
    p_tenant text, p_embedding halfvec, p_filter recall.search_filter
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.nearest_among(p_tenant, ARRAY(
        SELECT m.id
        FROM (SELECT * FROM recall.memory k
              WHERE k.tenant = p_tenant AND k.speech_act IN ('instruction', 'preference') AND k.archived_at IS NULL
              ORDER BY k.happened_at DESC, k.id LIMIT 1000) m
        WHERE recall_private.passes_filter(m, p_filter)
        ORDER BY m.happened_at DESC, m.id LIMIT 200), p_embedding, 20);
END $$;

-- period_arm: of the 500 newest memories in a period that pass the filter, among its newest 1,000, the 50 nearest to the
-- query in meaning. "What was on my mind in the last days of April?" shares nothing with them.
CREATE OR REPLACE FUNCTION recall_private.period_arm(
    p_tenant text, p_embedding halfvec, p_period recall.period, p_filter recall.search_filter
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.nearest_among(p_tenant, ARRAY(
        SELECT m.id
        FROM (SELECT * FROM recall.memory k
              WHERE k.tenant = p_tenant AND k.happened_at >= coalesce(p_period.since, '-infinity')
                AND k.happened_at < coalesce(p_period.until, 'infinity')
                AND k.archived_at IS NULL
              ORDER BY k.happened_at DESC, k.id LIMIT 1000) m
        WHERE recall_private.passes_filter(m, p_filter)
        ORDER BY m.happened_at DESC, m.id LIMIT 500), p_embedding, 50);
END $$;

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

-- cue_arm: the memories associated with these cues, strongest first, at most p_limit. `strength`, 0 to 1, combines each
-- cue's association with a memory and the share that a link lends, as independent probabilities; `cue` is the cue that
-- contributes most. The association is the share of the cue's sessions in which the memory was used too (see
-- associates), which estimates how likely it is to be used next. In a search with words (p_beside_words), it is the
-- cosine of their sessions, which ignores how often the memory is used at all, because use is counted separately.
CREATE OR REPLACE FUNCTION recall_private.cue_arm(
    p_tenant text, p_cues bigint[], p_limit int, p_now timestamptz, p_beside_words boolean
)
RETURNS TABLE (id bigint, strength double precision, cue bigint)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
DECLARE
    v_hop double precision := recall_private.setting_number(p_tenant, 'search.hop_share');
    v_next double precision := recall_private.setting_number(p_tenant, 'search.next_share');
    v_previous double precision := recall_private.setting_number(p_tenant, 'search.previous_share');
BEGIN
    RETURN QUERY
    SELECT s.id, 1 - exp(sum(ln(1 - least(s.share, 0.999)) ORDER BY s.cue, s.share)),
           (array_agg(s.cue ORDER BY s.share DESC, s.cue))[1]
    FROM (
        SELECT a.id, c.cue, a.share
        FROM unnest(p_cues) c(cue)
        CROSS JOIN LATERAL (
            SELECT x.other AS id,
                   least(1, x.shared / CASE WHEN p_beside_words THEN sqrt(x.own) * sqrt(x.theirs) ELSE x.own + 1 END) AS share
            FROM recall_private.shared_sessions(p_tenant, c.cue, p_now) x
            WHERE x.shared > 0 AND x.own > 0 AND x.theirs > 0
            ORDER BY 2 DESC, 1 LIMIT 32) a
        UNION ALL
        SELECT l.id, c.cue, l.share
        FROM unnest(p_cues) c(cue)
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
