-- The checks of verify: each compares stored data with the data that they are derived from, and returns what differs.

-- wrong_names: memories whose rows in the table of names differ from their title and aliases, or have the wrong
-- layer.
CREATE OR REPLACE FUNCTION recall_private.wrong_names(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT coalesce(w.id, n.memory_id)
    FROM (
        SELECT DISTINCT m.id, recall_private.normalized_name(known) AS name, m.layer = 'entity' AS entity
        FROM recall.memory m CROSS JOIN LATERAL unnest(m.title || m.aliases) known
        WHERE m.tenant = p_tenant AND (m.title <> '' OR m.aliases <> '{}')
          AND recall_private.normalized_name(known) <> '' AND length(known) <= 200) w
    FULL JOIN (SELECT o.memory_id, o.name, o.entity FROM recall.name o WHERE o.tenant = p_tenant) n
        ON n.memory_id = w.id AND n.name = w.name AND n.entity = w.entity
    WHERE w.id IS NULL OR n.memory_id IS NULL
$$;

-- answered_links: targets of pending links of this tenant although a memory with that key exists.
CREATE OR REPLACE FUNCTION recall_private.answered_links(p_tenant text) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT p.target
    FROM recall.pending_link p JOIN recall.memory m ON m.tenant = p_tenant AND m.key = p.target
    WHERE p.tenant = p_tenant
$$;

-- circular_successors: memories that supersede themselves, directly or through others.
CREATE OR REPLACE FUNCTION recall_private.circular_successors(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id FROM recall.memory m
    WHERE m.tenant = p_tenant AND m.superseded_by IS NOT NULL AND recall_private.is_successor(p_tenant, m.id, m.id)
$$;

-- wrong_vectors: memories that search by meaning cannot find correctly, because their vector has no direction, is
-- missing, belongs to another text, or has the wrong archived flag; and vectors without a memory.
CREATE OR REPLACE FUNCTION recall_private.wrong_vectors(p_tenant text) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT coalesce(m.id, v.memory_id) FROM (SELECT * FROM recall.memory WHERE tenant = (SELECT $1)) m '
        'FULL JOIN (SELECT * FROM recall.%I WHERE tenant = (SELECT $1) AND part = 0) v ON v.memory_id = m.id '
        'WHERE m.id IS NULL OR (m.embedded_with IS NULL) <> (v.memory_id IS NULL) '
        'OR v.archived <> (m.archived_at IS NOT NULL) '
        'OR v.memory_id IS NOT NULL AND NOT (l2_norm(v.embedding) > 0 AND l2_norm(v.embedding) < ''Infinity'')',
        recall_private.vector_table(p_tenant)) USING p_tenant;
END $$;

-- wrong_passages: memories with fewer or more passages than were stored, with passages outside their body, or with
-- vectors of passages that have no direction or the wrong archived flag; and passages without a memory.
CREATE OR REPLACE FUNCTION recall_private.wrong_passages(p_tenant text) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT coalesce(m.id, v.memory_id) FROM (SELECT * FROM recall.memory WHERE tenant = (SELECT $1)) m '
        'FULL JOIN (SELECT memory_id, count(*) AS passages, max(part) AS last, min(passage_start) AS first, '
        'max(passage_end) AS until, bool_or(archived) AS any_archived, bool_and(archived) AS all_archived, '
        'bool_and(coalesce(passage_start < passage_end, false)) AS ordered, '
        'bool_and(l2_norm(embedding) > 0 AND l2_norm(embedding) < ''Infinity'') AS directed '
        'FROM recall.%I WHERE tenant = (SELECT $1) AND part <> 0 GROUP BY memory_id) v ON v.memory_id = m.id '
        'WHERE m.id IS NULL OR coalesce(m.passage_count, 0) <> coalesce(v.passages, 0) '
        'OR m.embedded_with IS NULL AND m.passage_count IS NOT NULL '
        'OR v.memory_id IS NOT NULL AND NOT (v.last = v.passages AND v.first >= 0 AND v.until <= length(m.body) '
        'AND v.ordered AND v.directed AND v.any_archived = v.all_archived '
        'AND v.any_archived = (m.archived_at IS NOT NULL))',
        recall_private.vector_table(p_tenant)) USING p_tenant;
END $$;

-- wrong_token_signs: memories with token signs that have no vector, so that the signs are of an earlier text, or whose
-- signs are not at most 32 bit strings of one length. Signs by another embedder are in order; a search ignores them.
CREATE OR REPLACE FUNCTION recall_private.wrong_token_signs(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT s.memory_id
    FROM recall.token_signs s LEFT JOIN recall.memory m ON m.tenant = p_tenant AND m.id = s.memory_id
    WHERE s.tenant = p_tenant AND (
        m.embedded_with IS NULL OR cardinality(s.signs) > 32
        OR (SELECT count(DISTINCT length(t)) > 1 OR count(t) < count(*) OR min(length(t)) < 1 OR max(length(t)) > 1024
            FROM unnest(s.signs) t))
$$;

-- queued_ids: the memories with accesses that wait to be folded, so that their summaries may be behind the log.
CREATE OR REPLACE FUNCTION recall_private.queued_ids(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT u.id FROM recall.access_queue q, unnest(q.memory_ids) u(id) WHERE q.tenant = p_tenant
$$;

-- wrong_summaries: memories whose summary differs from the sum of the log, except those that wait to be folded. In
-- batches, so that memory use does not grow with the log.
CREATE OR REPLACE FUNCTION recall_private.wrong_summaries(p_tenant text, p_batch int DEFAULT 10000) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_last bigint := 0;
    v_ids bigint[];
BEGIN
    LOOP
        v_ids := ARRAY(
            SELECT a.memory_id FROM recall.activation a
            WHERE a.tenant = p_tenant AND a.memory_id > v_last ORDER BY a.memory_id LIMIT p_batch);
        EXIT WHEN cardinality(v_ids) = 0;
        RETURN QUERY
        SELECT a.memory_id
        FROM recall.activation a
        LEFT JOIN recall_private.summarize_accesses(
            p_tenant, v_ids, array_fill('-infinity'::timestamptz, ARRAY[cardinality(v_ids)]),
            array_fill('infinity'::timestamptz, ARRAY[cardinality(v_ids)]),
            array_fill(0, ARRAY[cardinality(v_ids)])) g ON g.memory_id = a.memory_id
        LEFT JOIN recall_private.queued_ids(p_tenant) q(id) ON q.id = a.memory_id
        WHERE a.tenant = p_tenant AND a.memory_id = ANY (v_ids) AND q.id IS NULL
          AND ((a.n, a.first_at, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8, recall_private.weight_in_millionths(a.credit))
               IS DISTINCT FROM
               (g.units, g.first_at, g.newest[1], g.newest[2], g.newest[3], g.newest[4], g.newest[5],
                g.newest[6], g.newest[7], g.newest[8], recall_private.weight_in_millionths(g.credit))
               -- Later accesses would be folded a second time.
               OR a.folded_until < g.reached);
        v_last := v_ids[cardinality(v_ids)];
    END LOOP;
END $$;

-- wrong_spreads: memories whose stored boost differs from what the logged accesses spread to them.
CREATE OR REPLACE FUNCTION recall_private.wrong_spreads(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT a.memory_id
    FROM recall.activation a
    LEFT JOIN recall_private.spread_as_of(p_tenant, NULL, 'infinity') s ON s.memory_id = a.memory_id
    WHERE a.tenant = p_tenant
      -- The difference that rebuild_spread tolerates.
      AND (NOT abs(a.spread - coalesce(s.boost[1], 0)) <= 1e-9 OR a.spread_at IS DISTINCT FROM s.boost[2])
$$;

-- wrong_degrees: memories whose in-degree or newest link differs from a recount of the links.
CREATE OR REPLACE FUNCTION recall_private.wrong_degrees(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT a.memory_id
    FROM recall.activation a
    LEFT JOIN (
        SELECT l.dst, count(DISTINCT l.src) AS in_degree, recall_private.epoch(max(l.created_at)) AS last_linked_at
        FROM recall.link l
        JOIN recall.memory m ON m.tenant = l.tenant AND m.id = l.src AND m.archived_at IS NULL
        WHERE l.tenant = p_tenant AND recall_private.is_reference(l.relation)
        GROUP BY l.dst
    ) c ON c.dst = a.memory_id
    WHERE a.tenant = p_tenant
      AND (a.in_degree, a.last_linked_at) IS DISTINCT FROM (coalesce(c.in_degree, 0), c.last_linked_at)
$$;

-- wrong_rates: memories without activation, in a layer that does not exist, or with a decay other than that of their
-- layer.
CREATE OR REPLACE FUNCTION recall_private.wrong_rates(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id
    FROM recall.memory m
    LEFT JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = m.id
    LEFT JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
    WHERE m.tenant = p_tenant AND ((a.clock, a.decay) = (l.clock, l.decay)) IS NOT TRUE
$$;

-- orphaned_rows: rows of the access log, its keys and the floor history for memories that do not exist. Queued
-- memories are left out, since the next fold drops these rows.
CREATE OR REPLACE FUNCTION recall_private.orphaned_rows(p_tenant text) RETURNS TABLE (name text, subject text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.name, r.subject
    FROM (
        SELECT DISTINCT 'accesses' AS name, e.memory_id, e.memory_id::text AS subject
        FROM recall.access e WHERE e.tenant = p_tenant AND e.memory_id NOT IN (
            SELECT q.id FROM recall_private.queued_ids(p_tenant) q(id))
        UNION ALL
        SELECT 'idempotency keys', k.memory_id, k.idempotency_key
        FROM recall.access_key k WHERE k.tenant = p_tenant
        UNION ALL
        SELECT DISTINCT 'floors', f.memory_id, f.memory_id::text
        FROM recall.floor_change f WHERE f.tenant = p_tenant
    ) r
    WHERE NOT EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = r.memory_id)
$$;

-- wrong_feedback: logged searches that show memories that do not exist (except queued ones, which the next fold
-- drops), and searches with verdicts on memories they did not show.
CREATE OR REPLACE FUNCTION recall_private.wrong_feedback(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT s.id
    FROM recall.search_log s CROSS JOIN LATERAL unnest(s.shown) u(id)
    WHERE s.tenant = p_tenant AND u.id IS NOT NULL
      AND NOT EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = u.id)
      AND u.id NOT IN (SELECT q.id FROM recall_private.queued_ids(p_tenant) q(id))
    UNION
    SELECT j.search_id
    FROM recall.judgement j JOIN recall.search_log s ON s.tenant = p_tenant AND s.id = j.search_id
    WHERE j.tenant = p_tenant AND j.memory_id = ANY (s.shown) IS NOT TRUE
$$;

-- wrong_archivals: memories that are archived without a current archival, or the reverse.
CREATE OR REPLACE FUNCTION recall_private.wrong_archivals(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(m.id, v.memory_id)
    FROM (SELECT o.id, o.archived_at FROM recall.memory o
          WHERE o.tenant = p_tenant AND o.archived_at IS NOT NULL) m
    FULL JOIN (SELECT o.memory_id, o.archived_at FROM recall.archival o
               WHERE o.tenant = p_tenant AND o.restored_at IS NULL) v ON v.memory_id = m.id
    WHERE m.archived_at IS DISTINCT FROM v.archived_at
$$;

-- wrong_floors: memories whose newest recorded floor differs from their pinned or protected state.
CREATE OR REPLACE FUNCTION recall_private.wrong_floors(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id
    FROM recall.memory m
    JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = m.id
    LEFT JOIN (
        SELECT DISTINCT ON (f.memory_id) f.memory_id, f.floored FROM recall.floor_change f
        WHERE f.tenant = p_tenant ORDER BY f.memory_id, f.at DESC, f.id DESC) n ON n.memory_id = m.id
    WHERE m.tenant = p_tenant AND (m.pinned OR a.protected) <> coalesce(n.floored, false)
$$;

-- wrong_versions: memories with gaps in the numbers of their versions, or with a version that does not begin when the one
-- before it was replaced.
CREATE OR REPLACE FUNCTION recall_private.wrong_versions(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT v.memory_id
    FROM (
        SELECT o.memory_id, lag(o.number) OVER w AS before,
               (o.number, o.written_at, o.written_by, o.written_through) IS DISTINCT FROM
               (lag(o.number) OVER w + 1, lag(o.replaced_at) OVER w, lag(o.replaced_by) OVER w, lag(o.replaced_through) OVER w)
               AS apart
        FROM recall.memory_version o WHERE o.tenant = p_tenant
        WINDOW w AS (PARTITION BY o.memory_id ORDER BY o.number)) v
    WHERE v.before IS NOT NULL AND v.apart
$$;

-- wrong_statistics: impossible document frequencies and settings of this tenant, by name.
CREATE OR REPLACE FUNCTION recall_private.wrong_statistics(p_tenant text) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT format('word %L', w.word) FROM recall.lexeme w
    LEFT JOIN recall.lexeme total ON total.tenant = p_tenant AND total.word = ''
    WHERE w.tenant = p_tenant AND NOT coalesce(
        w.documents BETWEEN CASE w.word WHEN '' THEN 0 ELSE 1 END AND total.documents, false)
    UNION ALL
    SELECT format('setting %L', s.name)
    FROM recall.setting s LEFT JOIN recall_private.known_settings() k ON k.name = s.name
    WHERE s.tenant = p_tenant AND s.name NOT IN ('statistics_at', 'changes.era') AND NOT coalesce(CASE
        WHEN s.name = 'language' THEN EXISTS (
            SELECT FROM pg_ts_config c
            WHERE c.cfgnamespace = 'recall'::regnamespace AND c.cfgname = s.value #>> '{}')
        WHEN recall_private.is_number(s.value) THEN s.value::double precision BETWEEN k.low AND k.high END, false)
$$;
