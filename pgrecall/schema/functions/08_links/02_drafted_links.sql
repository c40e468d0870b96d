-- Links declared by drafts, and links that wait for their target.

-- has_pending_links: whether any link of this tenant waits for its target.
CREATE OR REPLACE FUNCTION recall_private.has_pending_links(p_tenant text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM recall.pending_link p WHERE p.tenant = p_tenant);
END $$;

-- sources_waiting_for: the memories with links that wait for one of these drafts. One index probe for each name.
CREATE OR REPLACE FUNCTION recall_private.sources_waiting_for(p_tenant text, p_drafts recall.memory[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT recall_private.has_pending_links(p_tenant) THEN
        RETURN '{}';
    END IF;
    -- OFFSET 0 as in lock_linked_memories.
    RETURN ARRAY(
        SELECT p.src FROM unnest(p_drafts) d
        CROSS JOIN LATERAL unnest(ARRAY[d.key, d.title] || d.aliases) known
        CROSS JOIN LATERAL (
            SELECT o.src FROM recall.pending_link o
            WHERE o.tenant = p_tenant AND lower(o.target) = lower(known) OFFSET 0) p);
END $$;

-- lock_linked_memories: locks the memories that storing drafts changes or links, before anything is stored. It locks
-- p_own, those with the keys of the drafts, and p_waiting, those with links that wait for the drafts, against changes. It
-- locks the other ends of links against deletion. Returns what it locked, and in `overtaken` whether a memory was linked
-- to another one while this waited, or needs a stronger lock. Locks nothing if no key exists and no link is made or
-- waited for.
CREATE OR REPLACE FUNCTION recall_private.lock_linked_memories(
    p_tenant text, p_links jsonb[], p_keys text[], p_own bigint[], p_waiting bigint[],
    OUT locked bigint[], OUT overtaken boolean
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ends bigint[];
BEGIN
    locked := '{}';
    overtaken := false;
    IF p_own = '{}' AND p_waiting = '{}' AND p_links IS NULL THEN
        RETURN;
    END IF;
    -- OFFSET 0 keeps one index probe for each. If the planner assumes that a table is empty, it would compare every row
    -- with all of them.
    v_ends := ARRAY(
        SELECT d.dst FROM recall_private.drafted_ends(p_tenant, p_own) d
        UNION ALL
        SELECT k.id FROM recall_private.memories_with_keys(p_tenant, ARRAY(SELECT recall_private.link_targets(p_links))) k
        UNION ALL
        SELECT n.memory_id FROM recall_private.link_targets(p_links) t
        CROSS JOIN LATERAL (
            SELECT o.memory_id FROM recall.name o
            WHERE o.tenant = p_tenant AND o.name = recall_private.normalized_name(t) OFFSET 0) n);
    PERFORM recall_private.lock_memories(p_tenant, v_ends, p_own || p_waiting);
    locked := v_ends || p_own || p_waiting;
    -- A memory stored since p_own was read can be an end and have one of the keys. It is about to be changed, and
    -- its lock is too weak for that.
    overtaken := EXISTS (SELECT FROM recall_private.drafted_ends(p_tenant, p_own) d WHERE d.dst <> ALL (v_ends))
        OR v_ends <> '{}' AND EXISTS (
            SELECT FROM recall_private.memories_with_keys(p_tenant, p_keys) k WHERE k.id <> ALL (p_own) AND k.id = ANY (v_ends));
END $$;

-- drafted_ends: the memories to which earlier drafts linked these memories. One index probe for each.
CREATE OR REPLACE FUNCTION recall_private.drafted_ends(p_tenant text, p_ids bigint[]) RETURNS TABLE (dst bigint)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT d.dst FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT l.dst FROM recall.link l WHERE l.tenant = p_tenant AND l.src = u.id AND l.drafted OFFSET 0) d;
END;

-- memories_with_keys: id, digest and state of the memories with these keys. NULLs are skipped. One index probe for each.
CREATE OR REPLACE FUNCTION recall_private.memories_with_keys(p_tenant text, p_keys text[])
RETURNS TABLE (id bigint, key text, content_hash text, archived boolean)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    SELECT m.id, m.key, m.content_hash, m.archived_at IS NOT NULL
    FROM (SELECT DISTINCT u.key FROM unnest(p_keys) u(key)) k
    CROSS JOIN LATERAL (
        SELECT o.id, o.key, o.content_hash, o.archived_at FROM recall.memory o
        WHERE o.tenant = p_tenant AND o.key = k.key OFFSET 0) m;
END;

-- link_targets: the distinct targets that these links of drafts name.
CREATE OR REPLACE FUNCTION recall_private.link_targets(p_links jsonb[]) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT l.value ->> 'target'
    FROM unnest(p_links) d CROSS JOIN LATERAL jsonb_array_elements(d) l
$$;

-- link_drafts: makes the links of stored drafts equal to those that the drafts declare, stores links without an existing
-- target as pending, and resolves pending links to newly stored memories. Only memories in p_locked are linked: a link to
-- a memory stored since then stays pending until the job resolves it. p_links, p_ids and p_outcomes have the order of
-- the drafts; without outcomes, all are new. Links of the memories in p_also_recount are recounted too. With p_keep, a
-- memory whose draft has NULL as links keeps its links. Returns the memories whose links changed.
CREATE OR REPLACE FUNCTION recall_private.link_drafts(
    p_tenant text, p_drafts recall.memory[], p_links jsonb[], p_ids bigint[], p_outcomes text[], p_locked bigint[],
    p_also_recount bigint[], p_now timestamptz, p_keep boolean DEFAULT false
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ids bigint[];
    v_changed bigint[];
    v_declaring bigint[];
    v_relinked bigint[];
    v_cited bigint[];
BEGIN
    SELECT array_agg(s.id), array_agg(s.id) FILTER (WHERE s.outcome IS DISTINCT FROM 'unchanged'),
           array_agg(s.id) FILTER (WHERE NOT p_keep OR s.links IS NOT NULL)
    INTO v_ids, v_changed, v_declaring
    FROM unnest(p_ids, p_outcomes, p_links) AS s(id, outcome, links) WHERE s.id IS NOT NULL AND s.outcome IS DISTINCT FROM 'rejected';
    IF v_ids IS NULL THEN
        RETURN NULL;
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT d.src, d.target, k.id AS dst, d.relation, d.weight, d.created_at
        FROM recall_private.drafted_links(p_tenant, p_drafts, p_links, p_ids, p_now) d
        LEFT JOIN (SELECT DISTINCT u.id FROM unnest(p_locked || v_ids) u(id)) k ON k.id = d.dst
    ), dropped AS (
        DELETE FROM recall.link l
        WHERE l.tenant = p_tenant AND l.drafted AND l.src = ANY (v_declaring)
          AND NOT EXISTS (SELECT FROM wanted w
                          WHERE w.src = l.src AND w.dst = l.dst AND w.relation = l.relation)
        RETURNING l.*
    ), remembered AS (
        INSERT INTO recall.link_history (tenant, src, dst, relation, created_at, removed_at)
        SELECT d.tenant, d.src, d.dst, d.relation, d.created_at, p_now FROM dropped d
    ), abandoned AS (
        DELETE FROM recall.pending_link p
        WHERE p.tenant = p_tenant AND p.src = ANY (v_declaring)
          AND NOT EXISTS (SELECT FROM wanted w
                          WHERE w.src = p.src AND w.target = p.target AND w.relation = p.relation
                            AND w.dst IS NULL)
        RETURNING p.src
    ), made AS (
        INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, drafted)
        SELECT DISTINCT ON (w.src, w.dst, w.relation)
               p_tenant, w.src, w.dst, w.relation, w.weight, w.created_at, true
        FROM wanted w WHERE w.dst IS NOT NULL AND w.dst <> w.src
        ORDER BY w.src, w.dst, w.relation
        ON CONFLICT (tenant, src, dst, relation) DO UPDATE SET weight = excluded.weight
        WHERE link.drafted AND link.weight <> excluded.weight
        RETURNING src, dst
    ), kept AS (
        INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at)
        SELECT DISTINCT ON (w.src, w.target, w.relation)
               p_tenant, w.src, w.target, w.relation, w.weight, w.created_at
        FROM wanted w WHERE w.dst IS NULL
        ORDER BY w.src, w.target, w.relation
        ON CONFLICT (tenant, src, target, relation) DO UPDATE SET weight = excluded.weight
        WHERE pending_link.weight <> excluded.weight
        RETURNING src
    )
    SELECT array_agg(DISTINCT x.dst), array_agg(DISTINCT x.src) INTO v_cited, v_relinked
    FROM (SELECT src, dst FROM made UNION ALL SELECT src, dst FROM dropped
          UNION ALL SELECT src, NULL FROM kept UNION ALL SELECT src, NULL FROM abandoned) x;
    v_cited := array_remove(v_cited, NULL);
    -- Includes changed memories: their activations are updated next, and all must be locked in one order.
    PERFORM recall_private.recount_links(
        p_tenant, v_cited || recall_private.resolve_pending_links_to(p_tenant, v_changed, p_locked) || v_changed || p_also_recount);
    RETURN v_relinked;
END $$;

-- drafted_links: the links that drafts declare; `dst` is NULL if no memory has that key or name yet.
CREATE OR REPLACE FUNCTION recall_private.drafted_links(
    p_tenant text, p_drafts recall.memory[], p_links jsonb[], p_ids bigint[], p_now timestamptz
) RETURNS TABLE (
    src bigint, target text, dst bigint, relation text, weight double precision, created_at timestamptz
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH accepted AS MATERIALIZED (
        SELECT s.id, s.links, (p_drafts[s.place]).occurred_at
        FROM unnest(p_ids, p_links) WITH ORDINALITY s(id, links, place) WHERE s.links IS NOT NULL
    )
    SELECT d.id, l.target, coalesce(m.id, named.memory_id), coalesce(l.relation, 'links_to'),
           coalesce(l.weight, 1), least(coalesce(d.occurred_at, p_now), p_now)
    FROM accepted d
    CROSS JOIN LATERAL jsonb_to_recordset(d.links) AS l(target text, relation text, weight double precision)
    -- Otherwise all memories would be read for each draft to join them with its few links.
    LEFT JOIN LATERAL (
        SELECT k.id FROM recall.memory k WHERE k.tenant = p_tenant AND k.key = l.target OFFSET 0) m ON true
    LEFT JOIN LATERAL (
        SELECT n.memory_id FROM recall.name n
        WHERE m.id IS NULL AND n.tenant = p_tenant AND n.name = recall_private.normalized_name(l.target)
        ORDER BY n.memory_id LIMIT 1) named ON true
$$;

-- resolve_pending_links_to: turns pending links into links to those of these memories that have the expected key, title
-- or alias. If several have it, the link goes to the one to which a new draft would be linked. Only pending links of the
-- memories in p_sources are resolved, which the caller has locked against changes. Returns the memories linked to.
CREATE OR REPLACE FUNCTION recall_private.resolve_pending_links_to(p_tenant text, p_ids bigint[], p_sources bigint[])
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_linked bigint[];
BEGIN
    WITH answered AS MATERIALIZED (
        SELECT DISTINCT ON (p.src, p.target, p.relation)
               p.src, p.target, p.relation, p.weight, p.created_at, m.id AS dst
        FROM (SELECT DISTINCT u.id FROM unnest(p_ids) u(id)) i
        -- OFFSET 0 as in lock_linked_memories.
        CROSS JOIN LATERAL (
            SELECT o.id, o.key, o.title, o.aliases FROM recall.memory o
            WHERE o.tenant = p_tenant AND o.id = i.id OFFSET 0) m
        CROSS JOIN LATERAL unnest(ARRAY[m.key, nullif(m.title, '')] || m.aliases) known
        CROSS JOIN LATERAL (
            SELECT * FROM recall.pending_link w
            WHERE w.tenant = p_tenant AND lower(w.target) = lower(known)
              AND (w.target = known OR known IS DISTINCT FROM m.key) OFFSET 0) p
        JOIN (SELECT DISTINCT u.id FROM unnest(p_sources) u(id)) s ON s.id = p.src
        ORDER BY p.src, p.target, p.relation, m.key IS DISTINCT FROM p.target, m.id
    ), made AS (
        INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, drafted)
        SELECT DISTINCT ON (a.src, a.dst, a.relation)
               p_tenant, a.src, a.dst, a.relation, a.weight, a.created_at, true
        FROM answered a WHERE a.src <> a.dst
        ON CONFLICT (tenant, src, dst, relation) DO NOTHING
        RETURNING dst
    ), settled AS (
        DELETE FROM recall.pending_link p USING answered a
        WHERE p.tenant = p_tenant AND p.src = a.src AND p.target = a.target AND p.relation = a.relation
    )
    SELECT array_agg(DISTINCT made.dst) INTO v_linked FROM made;
    RETURN v_linked;
END $$;

-- resolve_pending_links (app; Jobs and maintenance): creates the pending links whose target exists now. A draft that
-- links to a memory does not see it while another transaction stores it, and that transaction does not see the pending
-- link. Returns how many memories gained a link.
CREATE OR REPLACE FUNCTION recall.resolve_pending_links() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_waiting bigint[];
    v_targets bigint[];
    v_linked bigint[];
BEGIN
    SELECT array_agg(DISTINCT p.src), array_agg(DISTINCT t.id) INTO v_waiting, v_targets
    FROM recall.pending_link p
    CROSS JOIN LATERAL (
        SELECT k.id FROM recall.memory k WHERE k.tenant = v_tenant AND k.key = p.target
        UNION ALL
        SELECT n.memory_id FROM recall.name n
        WHERE n.tenant = v_tenant AND n.name = recall_private.normalized_name(p.target) OFFSET 0) t
    WHERE p.tenant = v_tenant;
    IF v_targets IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM recall_private.lock_memories(v_tenant, v_targets, v_waiting);
    v_linked := recall_private.resolve_pending_links_to(v_tenant, v_targets, v_waiting);
    PERFORM recall_private.recount_links(v_tenant, v_linked);
    RETURN coalesce(cardinality(v_linked), 0);
END $$;
