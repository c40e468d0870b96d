-- Archiving and restoring. Archived memories are kept, and each archival keeps its reason.

-- archive_memories: archives the live ones of these memories, all or none, and returns their ids. p_keeper is the memory
-- that they are merged into, if they are.
CREATE OR REPLACE FUNCTION recall_private.archive_memories(
    p_tenant text, p_ids bigint[], p_reason text, p_plan_id bigint, p_now timestamptz, p_keeper bigint DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_archived bigint[];
    v_cited bigint[] := recall_private.lock_with_references(p_tenant, p_ids);
BEGIN
    WITH archived AS (
        UPDATE recall.memory m SET archived_at = p_now
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.archived_at IS NULL
        RETURNING m.id
    ), noted AS (
        INSERT INTO recall.archival (tenant, memory_id, archived_at, reason, plan_id)
        SELECT p_tenant, x.id, p_now, p_reason, p_plan_id FROM archived x ORDER BY x.id
        RETURNING memory_id
    )
    SELECT coalesce(array_agg(n.memory_id ORDER BY n.memory_id), '{}') INTO v_archived FROM noted n;
    PERFORM recall_private.sync_vectors(p_tenant, v_archived), recall_private.recount_links(p_tenant, v_cited);
    PERFORM recall_private.log_changes(
        p_tenant, v_archived, CASE WHEN p_keeper IS NULL THEN 'archived' ELSE 'merged' END, p_now, p_keeper);
    RETURN v_archived;
END $$;

-- restore_memories: restores the archived ones of these memories and returns their ids.
CREATE OR REPLACE FUNCTION recall_private.restore_memories(p_tenant text, p_ids bigint[], p_now timestamptz)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_restored bigint[];
    v_cited bigint[];
BEGIN
    -- This lock does not conflict with new links.
    PERFORM recall_private.lock_memories(p_tenant, p_changed => p_ids);
    v_cited := recall_private.lock_referenced_activations(p_tenant, p_ids);
    WITH restored AS (
        UPDATE recall.memory m SET archived_at = NULL
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.archived_at IS NOT NULL
        RETURNING m.id
    )
    SELECT coalesce(array_agg(r.id ORDER BY r.id), '{}') INTO v_restored FROM restored r;
    PERFORM recall_private.close_archivals(p_tenant, v_restored, p_now), recall_private.sync_vectors(p_tenant, v_restored);
    PERFORM recall_private.recount_links(p_tenant, v_cited);
    RETURN v_restored;
END $$;

-- close_archivals: closes the archivals of the live ones of these memories and returns the memories that they refer
-- to.
CREATE OR REPLACE FUNCTION recall_private.close_archivals(p_tenant text, p_ids bigint[], p_now timestamptz)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_closed bigint[];
BEGIN
    WITH closed AS (
        UPDATE recall.archival v SET restored_at = p_now
        FROM recall.memory m
        WHERE v.tenant = p_tenant AND v.memory_id = ANY (p_ids) AND v.restored_at IS NULL
          AND m.tenant = p_tenant AND m.id = v.memory_id AND m.archived_at IS NULL
        RETURNING v.memory_id
    )
    SELECT array_agg(c.memory_id ORDER BY c.memory_id) INTO v_closed FROM closed c;
    PERFORM recall_private.log_changes(p_tenant, v_closed, 'restored', p_now);
    RETURN (SELECT array_agg(DISTINCT l.dst) FROM recall.link l WHERE l.tenant = p_tenant AND l.src = ANY (v_closed));
END $$;

-- record_floor_changes: records which of these memories gained or lost the protection floor since the last record.
-- The recorded time is never before that record, although a transaction that waited may have begun earlier. The
-- caller has locked their activations.
CREATE OR REPLACE FUNCTION recall_private.record_floor_changes(p_tenant text, p_ids bigint[], p_now timestamptz) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO recall.floor_change (tenant, memory_id, at, floored)
    SELECT p_tenant, m.id, greatest(p_now, f.at), m.pinned OR a.protected
    FROM recall.memory m
    -- OFFSET 0 keeps one index probe for each memory, whatever the planner estimates.
    CROSS JOIN LATERAL (
        SELECT r.protected FROM recall.activation r WHERE r.tenant = p_tenant AND r.memory_id = m.id OFFSET 0) a
    LEFT JOIN LATERAL (
        SELECT f.floored, f.at FROM recall.floor_change f
        WHERE f.tenant = p_tenant AND f.memory_id = m.id ORDER BY f.at DESC, f.id DESC LIMIT 1) f ON true
    WHERE m.tenant = p_tenant AND m.id = ANY (p_ids)
      AND (m.pinned OR a.protected) <> coalesce(f.floored, false)
    ORDER BY m.id
$$;

-- pin (app; Remember): pins a memory, which keeps it out of all prune plans, or unpins it. Returns whether anything
-- changed.
CREATE OR REPLACE FUNCTION recall.pin(
    p_memory_id bigint, p_pinned boolean DEFAULT true, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_changed boolean;
BEGIN
    PERFORM recall.require_memory(p_memory_id), recall_private.require_moment(p_now);
    IF p_pinned IS NULL THEN
        PERFORM recall_private.raise_invalid('p_pinned is NULL; it must be true or false.');
    END IF;
    UPDATE recall.memory m SET pinned = p_pinned
    WHERE m.tenant = v_tenant AND m.id = p_memory_id AND m.pinned <> p_pinned;
    v_changed := FOUND;
    -- Otherwise the protection of the memory could change while its floor is recorded.
    PERFORM FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = p_memory_id FOR NO KEY UPDATE;
    PERFORM recall_private.record_floor_changes(v_tenant, ARRAY[p_memory_id], p_now);
    RETURN v_changed;
END $$;

-- expire_memories (worker; Jobs and maintenance): archives up to p_limit live memories past their time to live, with
-- the reason `expired`, and returns how many. Nothing is deleted. Memories that are being changed or accessed are left
-- for the next run.
CREATE OR REPLACE FUNCTION recall.expire_memories(
    p_limit int DEFAULT 1000, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_now timestamptz := recall_private.require_moment(p_now);
BEGIN
    RETURN cardinality(recall_private.archive_memories(v_tenant, ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.expires_at <= v_now AND m.archived_at IS NULL
        ORDER BY m.expires_at, m.id LIMIT recall_private.require_limit(p_limit) FOR UPDATE SKIP LOCKED), 'expired', NULL, p_now));
END $$;
