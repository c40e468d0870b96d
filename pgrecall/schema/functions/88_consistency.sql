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

-- pointless_vectors: memories whose vector has no direction, which no search by meaning can find.
CREATE OR REPLACE FUNCTION recall.pointless_vectors(p_tenant text) RETURNS SETOF bigint
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id FROM recall.memory m
    WHERE m.tenant = p_tenant AND m.embedding IS NOT NULL
      AND NOT (l2_norm(m.embedding) > 0 AND l2_norm(m.embedding) < 'Infinity')
$$;
