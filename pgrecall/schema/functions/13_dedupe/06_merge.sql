-- Merging a cluster, and undoing it. The keeper gets a copy of each access and link of the merged memories, marked with
-- the memory it comes from. The merged memories are archived and superseded by the keeper, but keep their own logs and
-- links. So nothing is lost if the keeper is deleted, and undo only has to remove the copies.

-- merge_cluster: merges live memories into their keeper. The caller has locked all of them, the memories at the other
-- ends of their links, and the activations of all.
CREATE OR REPLACE FUNCTION recall_private.merge_cluster(
    p_tenant text, p_plan_id bigint, p_keeper bigint, p_ids bigint[], p_now timestamptz
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_half_life double precision := recall_private.setting_number(p_tenant, 'association.half_life_days');
    v_moves jsonb := recall_private.dedupe_moves(p_tenant, p_keeper, p_ids);
    v_tags text[] := ARRAY(SELECT jsonb_array_elements_text(v_moves -> 'tags'));
    v_aliases text[] := ARRAY(SELECT jsonb_array_elements_text(v_moves -> 'aliases'));
    v_linked bigint[];
BEGIN
    -- Stores the previous values that undo cannot recompute from the log.
    UPDATE recall.plan_item i
    SET outcome = 'kept', note = NULL, added_tags = v_tags, added_aliases = v_aliases, updated_before = m.updated_at,
        folded_before = a.folded_until, sessions_before = a.sessions, sessions_at_before = a.sessions_at
    FROM recall.memory m JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    WHERE i.tenant = p_tenant AND i.plan_id = p_plan_id AND i.memory_id = p_keeper
      AND m.tenant = p_tenant AND m.id = p_keeper;
    UPDATE recall.plan_item i SET outcome = 'merged', note = NULL, updated_before = m.updated_at
    FROM recall.memory m
    WHERE i.tenant = p_tenant AND i.plan_id = p_plan_id AND i.memory_id = ANY (p_ids)
      AND m.tenant = p_tenant AND m.id = i.memory_id;
    -- Copies spread nothing: the boosts belong to the original rows.
    INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at, merged_from)
    SELECT p_tenant, p_keeper, e.kind, e.weight, e.at, e.session_id, greatest(p_now, e.recorded_at), e.memory_id
    FROM recall.access e WHERE e.tenant = p_tenant AND e.memory_id = ANY (p_ids) ORDER BY e.id;
    PERFORM recall_private.fold_memories(p_tenant, ARRAY[p_keeper], ARRAY['-infinity'::timestamptz]);
    UPDATE recall.activation a SET sessions = s.state[1], sessions_at = s.state[2]
    FROM recall_private.merged_sessions(p_tenant, p_ids || p_keeper, v_half_life) s(state)
    WHERE a.tenant = p_tenant AND a.memory_id = p_keeper AND s.state[2] IS NOT NULL;
    WITH copied AS (
        INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, strengthened_at, merged_from)
        SELECT p_tenant, l.src, l.dst, l.relation, l.weight, l.created_at, l.strengthened_at, l.merged_from
        FROM recall_private.moving_links(p_tenant, p_keeper, p_ids) l
        RETURNING dst
    )
    SELECT array_agg(DISTINCT c.dst) INTO v_linked FROM copied c;
    IF v_tags || v_aliases <> '{}' THEN
        PERFORM recall_private.keep_versions(p_tenant, ARRAY[p_keeper], p_now, false);
        UPDATE recall.memory m SET tags = m.tags || v_tags, aliases = m.aliases || v_aliases, updated_at = p_now
        WHERE m.tenant = p_tenant AND m.id = p_keeper;
        PERFORM recall_private.log_changes(p_tenant, ARRAY[p_keeper], 'rewritten', p_now);
    END IF;
    PERFORM recall_private.archive_memories(p_tenant, p_ids, 'merged', p_plan_id, p_now, p_keeper);
    UPDATE recall.memory m SET superseded_by = p_keeper, updated_at = p_now
    WHERE m.tenant = p_tenant AND m.id = ANY (p_ids);
    INSERT INTO recall.link (tenant, src, dst, relation, created_at, merged_from)
    SELECT p_tenant, p_keeper, u.id, 'supersedes', p_now, u.id FROM unnest(p_ids) u(id)
    ON CONFLICT (tenant, src, dst, relation) DO NOTHING;
    PERFORM recall_private.recount_links(p_tenant, v_linked || p_keeper);
END $$;

-- merged_sessions: the sum of the decaying counts {count, epoch} of sessions of these memories, at the latest of their
-- times.
CREATE OR REPLACE FUNCTION recall_private.merged_sessions(p_tenant text, p_ids bigint[], p_half_life double precision)
RETURNS double precision[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY[sum(recall_private.decayed_count(a.sessions, x.latest - a.sessions_at, p_half_life)), max(x.latest)]
    FROM (SELECT max(b.sessions_at) AS latest FROM recall.activation b
          WHERE b.tenant = p_tenant AND b.memory_id = ANY (p_ids)) x
    JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = ANY (p_ids) AND a.sessions_at IS NOT NULL
$$;

-- unmerge_cluster: removes from a keeper what the merge of these memories added, and restores the memories that are still
-- archived by that merge. Later uses, links and texts of the keeper stay. Returns how many memories were restored. The
-- caller has locked the same as for merge_cluster.
CREATE OR REPLACE FUNCTION recall_private.unmerge_cluster(
    p_plan recall.plan, p_keeper recall.plan_item, p_ids bigint[], p_now timestamptz
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_tenant text := p_plan.tenant;
    v_copied bigint;  -- the last copy in the log
    v_until timestamptz;
    v_recounted bigint[];
    v_cited bigint[];
    v_back bigint[];
    v_freed bigint[];  -- memories that were restored before, but are still superseded
BEGIN
    IF p_keeper.memory_id IS NOT NULL THEN
        WITH removed AS (
            DELETE FROM recall.access e
            WHERE e.tenant = v_tenant AND e.memory_id = p_keeper.memory_id AND e.merged_from = ANY (p_ids)
            RETURNING e.id
        )
        SELECT max(r.id) INTO v_copied FROM removed r;
        -- The time until which it was folded then, or the latest access since.
        SELECT greatest(p_keeper.folded_before, max(e.at)) INTO v_until
        FROM recall_private.accesses_since(p_plan, p_keeper.memory_id, v_copied) e
        WHERE e.at <= (SELECT a.folded_until FROM recall.activation a
                       WHERE a.tenant = v_tenant AND a.memory_id = p_keeper.memory_id);
        UPDATE recall.activation a SET folded_until = v_until
        WHERE a.tenant = v_tenant AND a.memory_id = p_keeper.memory_id;
        PERFORM recall_private.fold_memories(v_tenant, ARRAY[p_keeper.memory_id], ARRAY['-infinity'::timestamptz], v_until);
        PERFORM recall_private.recount_sessions(p_plan, p_keeper, v_copied);
        IF p_keeper.added_tags || p_keeper.added_aliases <> '{}' THEN
            PERFORM recall_private.take_values(p_plan, p_keeper, p_now);
        END IF;
    END IF;
    WITH dropped AS (
        DELETE FROM recall.link l
        WHERE l.tenant = v_tenant AND l.merged_from = ANY (p_ids)
          AND (l.src = p_keeper.memory_id OR l.dst = p_keeper.memory_id)
        RETURNING l.dst
    )
    SELECT array_agg(DISTINCT d.dst) INTO v_recounted FROM dropped d;
    WITH closed AS (
        -- Deleted instead of closed, as if the memory had never been archived.
        DELETE FROM recall.archival v
        WHERE v.tenant = v_tenant AND v.memory_id = ANY (p_ids) AND v.reason = 'merged' AND v.plan_id = p_plan.id
        RETURNING v.memory_id, v.restored_at
    ), restored AS (
        UPDATE recall.memory m
        SET archived_at = NULL,
            updated_at = CASE m.updated_at WHEN p_plan.applied_at THEN i.updated_before ELSE m.updated_at END
        FROM closed c
        JOIN recall.plan_item i ON i.tenant = v_tenant AND i.plan_id = p_plan.id AND i.memory_id = c.memory_id
        WHERE m.tenant = v_tenant AND m.id = c.memory_id AND c.restored_at IS NULL
        RETURNING m.id
    )
    SELECT array_agg(r.id ORDER BY r.id) INTO v_back FROM restored r;
    WITH freed AS (
        UPDATE recall.memory m SET superseded_by = NULL
        WHERE m.tenant = v_tenant AND m.id = ANY (p_ids) AND m.superseded_by = p_keeper.memory_id
          AND NOT EXISTS (
              SELECT FROM recall.link l WHERE l.tenant = v_tenant AND l.src = p_keeper.memory_id AND l.dst = m.id
              AND l.relation = 'supersedes')
        RETURNING m.id, m.archived_at
    )
    SELECT array_agg(f.id ORDER BY f.id) INTO v_freed FROM freed f
    WHERE f.archived_at IS NULL AND f.id <> ALL (coalesce(v_back, '{}'));
    v_cited := ARRAY(SELECT DISTINCT l.dst FROM recall.link l WHERE l.tenant = v_tenant AND l.src = ANY (v_back));
    PERFORM recall_private.sync_vectors(v_tenant, coalesce(v_back, '{}'));
    PERFORM recall_private.log_changes(v_tenant, v_back || v_freed, 'restored', p_now);
    PERFORM recall_private.recount_links(v_tenant, v_recounted || v_cited || p_keeper.memory_id);
    RETURN coalesce(cardinality(v_back), 0);
END $$;

-- accesses_since: the accesses of a keeper after its merge, in the order of the log. The log assigns ids under the lock
-- of the activation, so ids tell even which accesses of the same transaction came after the copies. Without copies, their
-- times decide.
CREATE OR REPLACE FUNCTION recall_private.accesses_since(p_plan recall.plan, p_keeper bigint, p_copied bigint)
RETURNS SETOF recall.access
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT e.* FROM recall.access e
    WHERE e.tenant = p_plan.tenant AND e.memory_id = p_keeper
      AND CASE WHEN p_copied IS NULL THEN e.recorded_at >= p_plan.applied_at ELSE e.id > p_copied END
    ORDER BY e.id
$$;

-- recount_sessions: restores the count of sessions that a keeper had before its merge, and adds the sessions in which it
-- was first used since, as if it had never been merged. The copies are no longer in the log.
CREATE OR REPLACE FUNCTION recall_private.recount_sessions(
    p_plan recall.plan, p_keeper recall.plan_item, p_copied bigint
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_half_life double precision := recall_private.setting_number(p_plan.tenant, 'association.half_life_days');
    v_count double precision[] := ARRAY[p_keeper.sessions_before, p_keeper.sessions_at_before];
    v_session record;
BEGIN
    FOR v_session IN
        WITH since AS MATERIALIZED (
            SELECT e.id, e.session_id, e.at, e.recorded_at
            FROM recall_private.accesses_since(p_plan, p_keeper.memory_id, p_copied) e
            WHERE e.session_id IS NOT NULL AND recall_private.is_active_access(e.kind) AND e.weight > 0
        ), first_use AS (
            SELECT DISTINCT ON (s.session_id) s.session_id, s.id, s.at FROM since s
            ORDER BY s.session_id, s.recorded_at, s.at, s.id
        )
        SELECT f.at FROM first_use f
        WHERE NOT EXISTS (
            SELECT FROM recall.access e
            WHERE e.tenant = p_plan.tenant AND e.memory_id = p_keeper.memory_id AND e.session_id = f.session_id
              AND recall_private.is_active_access(e.kind) AND e.weight > 0 AND e.id NOT IN (SELECT s.id FROM since s))
        ORDER BY f.id
    LOOP
        v_count := recall_private.incremented_count(v_count[1], v_count[2], recall_private.epoch(v_session.at), v_half_life);
    END LOOP;
    UPDATE recall.activation a SET sessions = v_count[1], sessions_at = v_count[2]
    WHERE a.tenant = p_plan.tenant AND a.memory_id = p_keeper.memory_id;
END $$;

-- take_values: removes from a keeper the tags and aliases that a merge added. If the keeper has not changed since, the
-- version made by the merge is deleted too; otherwise this is a normal change.
CREATE OR REPLACE FUNCTION recall_private.take_values(p_plan recall.plan, p_keeper recall.plan_item, p_now timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_memory recall.memory;
    v_fields jsonb;
BEGIN
    SELECT m.* INTO v_memory FROM recall.memory m WHERE m.tenant = p_plan.tenant AND m.id = p_keeper.memory_id;
    v_fields := recall_private.version_fields(v) FROM recall_private.present_versions(p_plan.tenant, ARRAY[v_memory.id]) v;
    v_memory.tags := ARRAY(SELECT t FROM unnest(v_memory.tags) WITH ORDINALITY u(t, place)
                           WHERE t <> ALL (p_keeper.added_tags) ORDER BY place);
    v_memory.aliases := ARRAY(SELECT t FROM unnest(v_memory.aliases) WITH ORDINALITY u(t, place)
                              WHERE t <> ALL (p_keeper.added_aliases) ORDER BY place);
    IF NOT recall_private.drop_version(
        p_plan.tenant, v_memory.id,
        v_fields || jsonb_build_object('tags', v_memory.tags, 'aliases', v_memory.aliases), p_plan.applied_at) THEN
        PERFORM recall_private.keep_versions(p_plan.tenant, ARRAY[v_memory.id], p_now, false);
    END IF;
    UPDATE recall.memory m
    SET tags = v_memory.tags, aliases = v_memory.aliases,
        updated_at = CASE m.updated_at WHEN p_plan.applied_at THEN p_keeper.updated_before ELSE m.updated_at END
    WHERE m.tenant = p_plan.tenant AND m.id = v_memory.id;
    PERFORM recall_private.log_changes(p_plan.tenant, ARRAY[v_memory.id], 'rewritten', p_now);
END $$;
