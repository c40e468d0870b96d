-- Making dedupe plans: clusters of memories that say the same, each with the keeper that stays. A new plan changes nothing else.

-- current_pairs: the pairs of a tenant whose memories are live and still have the texts that were compared.
CREATE OR REPLACE FUNCTION recall_private.current_pairs(p_tenant text) RETURNS SETOF recall.duplicate_pair
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT p.*
    FROM recall.duplicate_pair p
    JOIN recall.compared a ON a.tenant = p_tenant AND a.memory_id = p.src
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = p.src AND m.content_hash = a.content_hash
        AND m.archived_at IS NULL AND m.superseded_by IS NULL
    JOIN recall.compared b ON b.tenant = p_tenant AND b.memory_id = p.dst
    JOIN recall.memory o ON o.tenant = p_tenant AND o.id = p.dst AND o.content_hash = b.content_hash
        AND o.archived_at IS NULL AND o.superseded_by IS NULL
    WHERE p.tenant = p_tenant AND recall_private.attribute_difference(m, o) IS NULL
      AND (p.verdict = 'contradicts' OR recall_private.is_same_title(m.language, m.title, o.title))
      -- The same conditions as in judged_pairs: links may have been added since.
      AND NOT EXISTS (
          SELECT FROM recall.link l WHERE l.tenant = p_tenant AND l.relation IN ('next', 'contradicts', 'supersedes')
          AND (l.src, l.dst) IN ((p.src, p.dst), (p.dst, p.src)))
      AND (p.verdict = 'contradicts' OR NOT EXISTS (
          SELECT FROM recall.link l WHERE l.tenant = p_tenant AND l.relation = 'next' AND l.src IN (p.src, p.dst))
          AND NOT EXISTS (
          SELECT FROM recall.link l WHERE l.tenant = p_tenant AND l.relation = 'next' AND l.dst IN (p.src, p.dst)))
$$;

-- duplicate_clusters: the clusters of a tenant's duplicates: for each memory that would be merged, the keeper that
-- stays, their similarity, and the number of words that only the keeper has. A keeper contains everything that the
-- others of its cluster contain. Among memories with the same content, the one with the highest vitality stays, then
-- the longest, then the newest. Pinned memories are never merged into others.
CREATE OR REPLACE FUNCTION recall_private.duplicate_clusters(
    p_tenant text, p_min_similarity double precision, p_layers text[], p_now timestamptz
) RETURNS TABLE (memory_id bigint, keeper_id bigint, similarity double precision, more_words int)
LANGUAGE plpgsql STABLE
SET enable_nestloop = off
SET work_mem = '64MB' AS $$
DECLARE
    v_node record;
    v_keepers int[];
    v_ids bigint[];
    v_at int;
    v_taken bigint[];  -- the members of one cluster
    v_members bigint[] := '{}';
    v_kept bigint[] := '{}';
    v_similarities double precision[] := '{}';
    v_more int[] := '{}';
BEGIN
    FOR v_node IN
        WITH pair AS MATERIALIZED (
            SELECT p.* FROM recall_private.current_pairs(p_tenant) p
            WHERE p.verdict = 'same' AND (p.similarity IS NULL OR p.similarity >= p_min_similarity)
        ), wanted AS MATERIALIZED (
            SELECT coalesce(array_agg(DISTINCT e), '{}') AS ids FROM pair p CROSS JOIN LATERAL (VALUES (p.src), (p.dst)) u(e)
        ), node AS MATERIALIZED (
            SELECT v.memory_id AS id, m.pinned, row_number() OVER (
                       ORDER BY m.pinned DESC, c.words DESC, v.vitality DESC,
                                octet_length(m.title) + octet_length(m.body) DESC, m.updated_at DESC, m.id)::int AS number
            FROM wanted w
            CROSS JOIN LATERAL recall_private.live_memories(p_tenant, p_now, p_ids => w.ids) v
            JOIN recall.memory m ON m.tenant = p_tenant AND m.id = v.memory_id
            JOIN recall.compared c ON c.tenant = p_tenant AND c.memory_id = v.memory_id
            WHERE p_layers IS NULL OR v.layer = ANY (p_layers)
        ), edge AS (
            SELECT p.src AS keeper, p.dst AS goes, p.similarity, p.src_words AS more FROM pair p WHERE p.dst_words = 0
            UNION ALL SELECT p.dst, p.src, p.similarity, p.dst_words FROM pair p WHERE p.src_words = 0
            -- If many memories have the same words, each was compared with only a few. The best is the keeper of all.
            UNION ALL
            SELECT b.best, b.id, 1, 0 FROM (
                SELECT n.id, first_value(n.id) OVER (PARTITION BY md5(t.words) ORDER BY n.number) AS best
                FROM node n
                JOIN recall.memory m ON m.tenant = p_tenant AND m.id = n.id
                CROSS JOIN LATERAL (
                    SELECT recall_private.plain_words(w.text) || recall_private.joined(recall_private.stated_numbers(w.text)) AS words
                    FROM (SELECT recall_private.whole_text(m.title, m.body) AS text OFFSET 0) w) t) b
            JOIN recall.memory m ON m.tenant = p_tenant AND m.id = b.best
            JOIN recall.memory o ON o.tenant = p_tenant AND o.id = b.id
            WHERE b.best <> b.id AND recall_private.attribute_difference(m, o) IS NULL
              AND NOT EXISTS (
                  SELECT FROM recall.link l
                  WHERE l.tenant = p_tenant AND l.relation IN ('next', 'contradicts', 'supersedes')
                  AND (l.src, l.dst) IN ((b.best, b.id), (b.id, b.best)))
        )
        SELECT k.number, k.id, (SELECT max(n.number) FROM node n) AS nodes,
               array_agg(g.number ORDER BY g.number) FILTER (WHERE g.id IS NOT NULL) AS goers,
               array_agg(g.id ORDER BY g.number) FILTER (WHERE g.id IS NOT NULL) AS goer_ids,
               array_agg(e.similarity ORDER BY g.number) FILTER (WHERE g.id IS NOT NULL) AS similarities,
               array_agg(e.more ORDER BY g.number) FILTER (WHERE g.id IS NOT NULL) AS more
        FROM node k
        LEFT JOIN edge e ON e.keeper = k.id
        LEFT JOIN node g ON g.id = e.goes AND NOT g.pinned
        GROUP BY k.number, k.id ORDER BY k.number
    LOOP
        v_keepers := coalesce(v_keepers, array_fill(0, ARRAY[v_node.nodes]));
        -- A merged memory keeps no others: each must be a duplicate of the keeper itself.
        CONTINUE WHEN v_keepers[v_node.number] <> 0 OR v_node.goers IS NULL;
        v_taken := '{}';
        FOR i IN 1 .. cardinality(v_node.goers) LOOP
            v_at := v_node.goers[i];
            IF v_keepers[v_at] = 0 AND NOT recall_private.are_apart(p_tenant, v_node.goer_ids[i], v_taken) THEN
                v_taken := v_taken || v_node.goer_ids[i];
                v_keepers[v_at] := v_node.number;
                v_keepers[v_node.number] := v_node.number;
                v_members := v_members || v_node.goer_ids[i];
                v_kept := v_kept || v_node.id;
                v_similarities := v_similarities || v_node.similarities[i];
                v_more := v_more || v_node.more[i];
            END IF;
        END LOOP;
    END LOOP;
    RETURN QUERY SELECT * FROM unnest(v_members, v_kept, v_similarities, v_more);
END $$;

-- dedupe_options: the options of a plan, with the setting for each NULL. Raises an error for an invalid value.
CREATE OR REPLACE FUNCTION recall_private.dedupe_options(
    p_tenant text, p_min_similarity double precision, p_max_count int, p_layers text[]
) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM recall_private.check_setting('dedupe.min_similarity', p_min_similarity),
            recall_private.check_setting('dedupe.max_count', p_max_count),
            recall_private.prune_options(p_tenant, NULL, NULL, NULL, p_layers);
    RETURN jsonb_build_object(
        'min_similarity', coalesce(p_min_similarity, recall_private.setting_number(p_tenant, 'dedupe.min_similarity')),
        'max_count', coalesce(p_max_count, recall_private.setting_number(p_tenant, 'dedupe.max_count')::int),
        'layers', p_layers);
END $$;

-- proposed_contradictions: up to p_limit pairs that differ only in a number, a date, a negation or a decisive word, the
-- most similar first. They are proposed as links for a person to make.
CREATE OR REPLACE FUNCTION recall_private.proposed_contradictions(p_tenant text, p_layers text[], p_limit int) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'src', c.src, 'dst', c.dst, 'reason', c.reason, 'similarity', c.similarity)
        ORDER BY c.similarity DESC NULLS LAST, c.src, c.dst), '[]')
    FROM (
        SELECT p.* FROM recall_private.current_pairs(p_tenant) p
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = p.src
        WHERE p.verdict = 'contradicts' AND (p_layers IS NULL OR m.layer = ANY (p_layers))
          AND NOT EXISTS (
              SELECT FROM recall.link l WHERE l.tenant = p_tenant AND l.relation = 'contradicts'
              AND (l.src = p.src AND l.dst = p.dst OR l.src = p.dst AND l.dst = p.src))
        ORDER BY p.similarity DESC NULLS LAST, p.src, p.dst LIMIT p_limit) c
$$;

-- plan_dedupe (app; Plans): stores a plan of which duplicates would be merged at p_now and returns its id; nothing else
-- changes. NULL means the setting. It reads what find_duplicates has compared: call that first, until it returns 0. At
-- most p_max_count memories are planned to be merged into others, the most similar first. Of expired plans that were
-- never applied, the newest 100 are kept.
CREATE OR REPLACE FUNCTION recall.plan_dedupe(
    p_min_similarity double precision DEFAULT NULL, p_max_count int DEFAULT NULL, p_layers text[] DEFAULT NULL,
    p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB' AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_options jsonb := recall_private.dedupe_options(v_tenant, p_min_similarity, p_max_count, p_layers);
    v_members bigint[];
    v_keepers bigint[];
    v_similarities double precision[];
    v_more int[];
    v_found bigint;
    v_plan bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now);
    WITH found AS MATERIALIZED (
        SELECT c.*, count(*) OVER () AS total FROM recall_private.duplicate_clusters(
            v_tenant, (v_options ->> 'min_similarity')::double precision, p_layers, p_now) c
    ), capped AS (
        SELECT f.* FROM found f
        ORDER BY f.similarity DESC NULLS LAST, f.keeper_id, f.memory_id LIMIT (v_options ->> 'max_count')::int
    )
    SELECT array_agg(c.memory_id), array_agg(c.keeper_id), array_agg(c.similarity), array_agg(c.more_words), max(c.total)
    INTO v_members, v_keepers, v_similarities, v_more, v_found FROM capped c;
    -- As in plan_prune: memories that were deleted meanwhile are not planned.
    PERFORM recall_private.lock_memories(v_tenant, v_members || v_keepers);
    v_plan := recall_private.add_plan(v_tenant, 'dedupe', v_options, jsonb_build_object(
        'live', (SELECT count(*) FROM recall.memory m WHERE m.tenant = v_tenant AND m.archived_at IS NULL),
        'uncompared', (SELECT count(*) FROM recall_private.uncompared(v_tenant)),
        'found', coalesce(v_found, 0), 'planned', coalesce(cardinality(v_members), 0),
        'capped', coalesce(v_found - cardinality(v_members), 0),
        'contradictions', recall_private.proposed_contradictions(v_tenant, p_layers, 1000)), p_now);
    PERFORM recall_private.add_dedupe_items(v_tenant, v_plan, v_members, v_keepers, v_similarities, v_more, p_now);
    UPDATE recall.plan p
    SET report = p.report || jsonb_build_object(
        'planned', (SELECT count(*) FROM recall.plan_item i WHERE i.tenant = v_tenant AND i.plan_id = v_plan AND NOT i.keeper),
        'clusters', (SELECT count(*) FROM recall.plan_item i WHERE i.tenant = v_tenant AND i.plan_id = v_plan AND i.keeper))
    WHERE p.tenant = v_tenant AND p.id = v_plan;
    RETURN v_plan;
END $$;

-- plan_merge (app; Plans): stores a plan that merges 1 to 100 memories that a person has chosen (p_ids) into p_keeper,
-- and returns its id. Nothing else changes. The texts may differ. It is reviewed, applied and undone like any dedupe
-- plan.
CREATE OR REPLACE FUNCTION recall.plan_merge(p_keeper bigint, p_ids bigint[], p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := ARRAY(SELECT DISTINCT u FROM unnest(p_ids) u ORDER BY u);
    v_count int := cardinality(v_ids);
    v_problem text;
    v_plan bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_one_dimension(p_ids);
    IF v_count NOT BETWEEN 1 AND 100 THEN
        PERFORM recall_private.raise_invalid(format('%s memories cannot be merged into one.', v_count), 'Name 1 to 100 of them.');
    END IF;
    PERFORM recall_private.lock_memories(v_tenant, v_ids || p_keeper);
    PERFORM recall.require_memory(u) FROM unnest(p_keeper || v_ids) u;
    SELECT CASE
        WHEN p_keeper = ANY (v_ids) THEN format('Memory %s cannot be merged into itself.', p_keeper)
        WHEN m.archived_at IS NOT NULL THEN format('Memory %s is archived.', m.id)
        WHEN m.superseded_by IS NOT NULL THEN format('Memory %s is superseded by memory %s.', m.id, m.superseded_by)
        WHEN m.pinned AND m.id <> p_keeper THEN format('Memory %s is pinned, so it must stay.', m.id)
        WHEN l.relation IS NOT NULL THEN format('Memories %s and %s are linked: %s.', p_keeper, m.id, l.relation) END
    INTO v_problem
    FROM recall.memory m
    LEFT JOIN recall.link l ON l.tenant = v_tenant AND l.relation IN ('contradicts', 'supersedes')
        AND (l.src, l.dst) IN ((p_keeper, m.id), (m.id, p_keeper))
    WHERE m.tenant = v_tenant AND m.id = ANY (v_ids || p_keeper)
    ORDER BY 1 NULLS LAST LIMIT 1;
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(v_problem, 'Choose live memories that do not contradict each other.');
    END IF;
    v_plan := recall_private.add_plan(
        v_tenant, 'dedupe', recall_private.dedupe_options(v_tenant, NULL, v_count, NULL) || '{"chosen": true}', jsonb_build_object(
        'live', (SELECT count(*) FROM recall.memory m WHERE m.tenant = v_tenant AND m.archived_at IS NULL),
        'uncompared', 0, 'found', v_count, 'planned', v_count, 'capped', 0, 'clusters', 1, 'contradictions', '[]'::jsonb),
        p_now);
    PERFORM recall_private.add_dedupe_items(v_tenant, v_plan, v_ids, array_fill(p_keeper, ARRAY[v_count]),
        array_fill(NULL::double precision, ARRAY[v_count]), array_fill(NULL::int, ARRAY[v_count]), p_now);
    RETURN v_plan;
END $$;

-- add_dedupe_items: stores the items of a plan by cluster, the most similar clusters first. p_more is NULL for memories
-- that a person has chosen.
CREATE OR REPLACE FUNCTION recall_private.add_dedupe_items(
    p_tenant text, p_plan_id bigint, p_members bigint[], p_keepers bigint[], p_similarities double precision[],
    p_more int[], p_now timestamptz
) RETURNS void
LANGUAGE sql VOLATILE
SET enable_nestloop = off AS $$
    WITH goes AS MATERIALIZED (
        SELECT u.* FROM unnest(p_members, p_keepers, p_similarities, p_more) u(id, keeper, similarity, more)
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = u.id
        JOIN recall.memory k ON k.tenant = p_tenant AND k.id = u.keeper
    ), cluster AS MATERIALIZED (
        SELECT g.keeper, row_number() OVER (ORDER BY max(g.similarity) DESC NULLS LAST, g.keeper)::int AS number,
               max(g.more) AS more
        FROM goes g GROUP BY g.keeper
    ), alive AS MATERIALIZED (
        SELECT v.memory_id AS id, v.vitality
        FROM recall_private.live_memories(p_tenant, p_now, p_ids => coalesce(p_members || p_keepers, '{}')) v
    ), compared AS MATERIALIZED (
        -- Why the keeper stays: how it compares with the memories to merge.
        SELECT c.keeper, c.number, c.more, k.vitality, max(a.vitality) AS next_vitality,
               max(octet_length(m.title) + octet_length(m.body)) AS next_length, max(m.updated_at) AS next_updated
        FROM cluster c
        JOIN alive k ON k.id = c.keeper
        JOIN goes g ON g.keeper = c.keeper
        JOIN alive a ON a.id = g.id
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = g.id
        GROUP BY c.keeper, c.number, c.more, k.vitality
    )
    INSERT INTO recall.plan_item (
        tenant, plan_id, memory_id, place, keeper, vitality, similarity, reason, content_hash)
    SELECT p_tenant, p_plan_id, m.id, c.number, true, c.vitality, NULL, CASE
               WHEN c.more IS NULL THEN 'It was chosen to stay.'
               WHEN m.pinned THEN 'It is pinned.'
               WHEN c.more > 0 THEN format('It says the most: %s more than another.',
                   CASE c.more WHEN 1 THEN '1 word' ELSE c.more || ' words' END)
               WHEN c.vitality > c.next_vitality AND c.vitality - c.next_vitality < 0.001
                   THEN 'It is slightly more alive than the next.'
               WHEN c.vitality > c.next_vitality THEN format('It has the highest vitality: %s; the next has %s.',
                   round(c.vitality::numeric, 3), round(c.next_vitality::numeric, 3))
               WHEN octet_length(m.title) + octet_length(m.body) > c.next_length THEN 'It is the longest.'
               WHEN m.updated_at > c.next_updated THEN 'It is the newest.'
               ELSE 'It was stored first.' END, m.content_hash
    FROM compared c JOIN recall.memory m ON m.tenant = p_tenant AND m.id = c.keeper
    UNION ALL
    SELECT p_tenant, p_plan_id, m.id, c.number, false, a.vitality, g.similarity, CASE
               WHEN g.more > 0 THEN format('The keeper says all of it and %s more.',
                   CASE g.more WHEN 1 THEN '1 word' ELSE g.more || ' words' END)
               WHEN recall_private.whole_text(m.title, m.body) = recall_private.whole_text(k.title, k.body) THEN 'The same text.'
               WHEN g.more IS NULL THEN 'It was chosen to be merged.'
               ELSE 'The same content words.' END, m.content_hash
    FROM goes g
    JOIN cluster c ON c.keeper = g.keeper
    JOIN alive a ON a.id = g.id
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = g.id
    JOIN recall.memory k ON k.tenant = p_tenant AND k.id = g.keeper
$$;
