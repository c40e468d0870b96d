-- Neighbours of what the other arms found: memories linked with it, and the answers to questions among it.

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
    v_farther boolean;
BEGIN
    SELECT array_agg(o.seed), coalesce(array_agg(o.id), '{}'), array_agg(o.share) INTO seeds, ids, shares
    FROM (
        SELECT s.seed, l.id, max(l.share) AS share
        FROM unnest(p_seeds) s(seed)
        CROSS JOIN LATERAL recall_private.linked_memories(p_tenant, s.seed, 200, p_hop, p_next, p_previous) l
        WHERE l.share >= 0.05
        GROUP BY s.seed, l.id ORDER BY 3 DESC, 2, 1) o;
    v_farther := shares[1] * v_most >= 0.05 AND (shares[p_limit] >= v_most * v_most) IS NOT TRUE;
    -- Turns of a conversation lend each other too little for a second step. Most of their neighbours have no other links.
    IF v_farther AND shares[1] * greatest(p_next, p_previous) < 0.05 THEN
        SELECT count(*) = 200 OR bool_or(shares[1] * recall_private.link_share(
                   k.relation, k.forward, k.weight, p_hop, p_next, p_previous) >= 0.05) INTO v_farther
        FROM (SELECT l.relation, true AS forward, l.weight FROM recall.link l
              WHERE l.tenant = p_tenant AND l.src = ANY (ids)
              UNION ALL SELECT l.relation, false, l.weight FROM recall.link l
              WHERE l.tenant = p_tenant AND l.dst = ANY (ids) LIMIT 200) k;
    END IF;
    IF v_farther IS NOT TRUE THEN
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
CREATE OR REPLACE FUNCTION recall_private.answers_to(
    p_tenant text, p_ids bigint[], OUT questions bigint[], OUT answers bigint[]
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT array_agg(q.id), coalesce(array_agg(a.id), '{}') INTO questions, answers
    FROM recall.memory q
    CROSS JOIN LATERAL (
        SELECT l.dst FROM recall.link l
        WHERE l.tenant = p_tenant AND l.src = q.id AND l.relation = 'next' ORDER BY l.dst LIMIT 1) l
    CROSS JOIN LATERAL (
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = l.dst AND NOT recall_private.says_nothing(coalesce(m.speech_act, ''))
          AND ((m.role, m.author) IS DISTINCT FROM (q.role, q.author) OR coalesce(q.role, q.author) IS NULL) OFFSET 0) a
    WHERE q.tenant = p_tenant AND q.id = ANY (p_ids) AND q.speech_act = 'question';
END $$;
