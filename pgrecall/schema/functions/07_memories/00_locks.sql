-- The order in which rows are locked, the same for everything that changes a memory: first rows of memories by id, then
-- idempotency keys, then activations by id, then links, then logged searches by id. Each row is locked once, as
-- strongly as it will be needed: two transactions that share a weak lock and both ask for a stronger one wait for each
-- other as soon as a third one waits for the row.

-- lock_memories: locks memories in the order of their ids: p_kept against deletion (others may change them meanwhile),
-- p_changed against changes, p_removed against any use, also by a new link. A memory in several lists is locked once,
-- as the strongest says. One index probe for each, whatever the planner knows of the table.
CREATE OR REPLACE FUNCTION recall_private.lock_memories(
    p_tenant text, p_kept bigint[] DEFAULT '{}', p_changed bigint[] DEFAULT '{}', p_removed bigint[] DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM (
        SELECT w.id, max(w.strength) AS strength
        FROM (SELECT k, 1 FROM unnest(p_kept) k
              UNION ALL SELECT c, 2 FROM unnest(p_changed) c
              UNION ALL SELECT r, 3 FROM unnest(p_removed) r) w(id, strength)
        GROUP BY w.id ORDER BY w.id) o
    CROSS JOIN LATERAL (
        SELECT FROM (
            SELECT FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = o.id AND o.strength = 1 FOR KEY SHARE) kept
        UNION ALL
        SELECT FROM (
            SELECT FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = o.id AND o.strength = 2 FOR NO KEY UPDATE) changed
        UNION ALL
        SELECT FROM (
            SELECT FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = o.id AND o.strength = 3 FOR UPDATE) removed) l;
END $$;

-- lock_activations: locks the activations of these memories in the order of their ids. One index probe for each.
CREATE OR REPLACE FUNCTION recall_private.lock_activations(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM (SELECT DISTINCT u.id FROM unnest(p_ids) u(id) ORDER BY u.id) o
    CROSS JOIN LATERAL (
        SELECT FROM recall.activation a WHERE a.tenant = p_tenant AND a.memory_id = o.id FOR UPDATE) l;
END $$;

-- lock_with_references: locks these memories against any use, then their activations and those of the memories that
-- they refer to. Returns the memories referred to.
CREATE OR REPLACE FUNCTION recall_private.lock_with_references(p_tenant text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.lock_memories(p_tenant, p_removed => p_ids);
    RETURN recall_private.lock_referenced_activations(p_tenant, p_ids);
END $$;

-- lock_referenced_activations: locks the activations of these memories, of those that they refer to (which it
-- returns), and of p_others. The caller has locked the memories.
CREATE OR REPLACE FUNCTION recall_private.lock_referenced_activations(p_tenant text, p_ids bigint[], p_others bigint[] DEFAULT '{}')
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_cited bigint[];
BEGIN
    v_cited := ARRAY(
        SELECT DISTINCT l.dst FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            SELECT k.dst FROM recall.link k WHERE k.tenant = p_tenant AND k.src = u.id OFFSET 0) l);
    PERFORM recall_private.lock_activations(p_tenant, v_cited || p_ids || p_others);
    RETURN v_cited;
END $$;
