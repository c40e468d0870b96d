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

-- lock_around: locks the memories that the query p_around lists as lock_memories does: its columns kept, changed and removed,
-- from $1, the tenant, $2, p_ids, and $3, p_others. If it lists others once these are locked, starts again without locks,
-- since the new ones may come earlier in the order. Returns what it lists now.
CREATE OR REPLACE FUNCTION recall_private.lock_around(
    p_tenant text, p_around text, p_ids bigint[], p_others bigint[] DEFAULT '{}'
) RETURNS record
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_locked record;
    v_now record;
BEGIN
    LOOP
        BEGIN
            EXECUTE p_around INTO v_locked USING p_tenant, p_ids, p_others;
            PERFORM recall_private.lock_memories(p_tenant, v_locked.kept, v_locked.changed, v_locked.removed);
            EXECUTE p_around INTO v_now USING p_tenant, p_ids, p_others;
            IF EXISTS (
                (SELECT 1, unnest(v_now.kept) UNION ALL SELECT 2, unnest(v_now.changed)
                 UNION ALL SELECT 3, unnest(v_now.removed)) EXCEPT
                (SELECT 1, unnest(v_locked.kept) UNION ALL SELECT 2, unnest(v_locked.changed)
                 UNION ALL SELECT 3, unnest(v_locked.removed))) THEN
                RAISE SQLSTATE 'RC000';
            END IF;
            RETURN v_now;
        EXCEPTION WHEN SQLSTATE 'RC000' THEN
            NULL;
        END;
    END LOOP;
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
