-- What verification looks at around the memories themselves: their names, links that wait, successions, vectors. Each
-- function returns what breaks its check for one tenant; nothing is written and nothing locked.

-- wrong_names: memories whose rows in the table of names are not their title and aliases, or say of the wrong layer.
CREATE OR REPLACE FUNCTION recall.wrong_names(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT coalesce(w.id, n.memory_id)
    FROM (
        SELECT DISTINCT m.id, recall.name_form(known) AS name, m.layer = 'entity' AS entity
        FROM recall.memory m CROSS JOIN LATERAL unnest(m.title || m.aliases) known
        WHERE m.tenant = p_tenant AND (m.title <> '' OR m.aliases <> '{}')
          AND recall.name_form(known) <> '' AND length(known) <= 200) w
    FULL JOIN (SELECT o.memory_id, o.name, o.entity FROM recall.name o WHERE o.tenant = p_tenant) n
        ON n.memory_id = w.id AND n.name = w.name AND n.entity = w.entity
    WHERE w.id IS NULL OR n.memory_id IS NULL
$$;

-- answered_links: what links of this tenant wait for though a memory has that key.
CREATE OR REPLACE FUNCTION recall.answered_links(p_tenant text) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT DISTINCT p.target
    FROM recall.pending_link p JOIN recall.memory m ON m.tenant = p_tenant AND m.key = p.target
    WHERE p.tenant = p_tenant
$$;

-- circular_successors: memories that, at whatever remove, replace themselves.
CREATE OR REPLACE FUNCTION recall.circular_successors(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id FROM recall.memory m
    WHERE m.tenant = p_tenant AND m.superseded_by IS NOT NULL AND recall.is_successor(p_tenant, m.id, m.id)
$$;

-- wrong_vectors: memories that search by meaning cannot find as it should: whose vector has no direction, is not there,
-- is that of another text, or does not know whether it is archived; and vectors of no memory.
CREATE OR REPLACE FUNCTION recall.wrong_vectors(p_tenant text) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT coalesce(m.id, v.memory_id) FROM (SELECT * FROM recall.memory WHERE tenant = $1) m '
        'FULL JOIN (SELECT * FROM recall.%I WHERE tenant = $1) v ON v.memory_id = m.id '
        'WHERE m.id IS NULL OR (m.embedded_with IS NULL) <> (v.memory_id IS NULL) '
        'OR v.archived <> (m.archived_at IS NOT NULL) '
        'OR v.memory_id IS NOT NULL AND NOT (l2_norm(v.embedding) > 0 AND l2_norm(v.embedding) < ''Infinity'')',
        recall.vector_table(p_tenant)) USING p_tenant;
END $$;
