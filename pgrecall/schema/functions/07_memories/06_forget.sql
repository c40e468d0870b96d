-- Forgetting: archiving a memory, or deleting it with everything recorded about it.

-- forget (app; Remember): archives a memory, which stays stored and which searches omit by default. With p_hard,
-- deletes it with everything about it, and removes its text from the context of the turn that followed. Returns whether
-- anything changed.
CREATE OR REPLACE FUNCTION recall.forget(
    p_memory_id bigint, p_hard boolean DEFAULT false, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall.require_memory(p_memory_id), recall_private.require_moment(p_now);
    IF p_hard THEN
        RETURN recall_private.delete_memories(v_tenant, ARRAY[p_memory_id], p_now) = 1;
    END IF;
    RETURN cardinality(recall_private.archive_memories(v_tenant, ARRAY[p_memory_id], 'forgotten', NULL, p_now)) = 1;
END $$;

-- forget_session (app; Remember): archives the live memories of a session. Returns how many were archived, or with
-- p_dry_run, which changes nothing, how many would be.
CREATE OR REPLACE FUNCTION recall.forget_session(
    p_session_id text, p_dry_run boolean DEFAULT false, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.session_id = p_session_id AND m.archived_at IS NULL ORDER BY m.id);
BEGIN
    PERFORM recall_private.require_moment(p_now);
    IF p_dry_run THEN
        RETURN cardinality(v_ids);
    END IF;
    RETURN cardinality(recall_private.archive_memories(v_tenant, v_ids, 'forgotten', NULL, p_now));
END $$;

-- unarchive_session (app; Remember): undoes the last forget_session of a session that archived something: restores what
-- it archived and is archived still. Returns how many memories.
CREATE OR REPLACE FUNCTION recall.unarchive_session(p_session_id text, p_now timestamptz DEFAULT now()) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
BEGIN
    PERFORM recall_private.require_moment(p_now);
    SELECT coalesce(array_agg(f.id ORDER BY f.id) FILTER (WHERE f.archived_at = f.last), '{}') INTO v_ids FROM (
        SELECT m.id, v.archived_at, max(v.archived_at) OVER () AS last
        FROM recall.memory m
        JOIN recall.archival v ON v.tenant = v_tenant AND v.memory_id = m.id
        WHERE m.tenant = v_tenant AND m.session_id = p_session_id AND m.archived_at IS NOT NULL
          AND v.restored_at IS NULL AND v.reason = 'forgotten') f;
    RETURN cardinality(recall_private.restore_memories(v_tenant, v_ids, p_now));
END $$;

-- unarchive (app; Remember): restores an archived memory, whatever archived it: its links, accesses and vitality are as
-- if it had stayed. Returns whether it was archived.
CREATE OR REPLACE FUNCTION recall.unarchive(p_memory_id bigint, p_now timestamptz DEFAULT now()) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM recall.require_memory(p_memory_id), recall_private.require_moment(p_now);
    RETURN cardinality(recall_private.restore_memories(recall.current_tenant(), ARRAY[p_memory_id], p_now)) = 1;
END $$;

-- delete_memories: deletes memories and everything that is only about them; the log of changes keeps their ids, as
-- deleted. Returns how many it deleted: fewer if another transaction has just deleted some.
CREATE OR REPLACE FUNCTION recall_private.delete_memories(p_tenant text, p_ids bigint[], p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_cited bigint[];
    v_spread_to bigint[] := recall_private.lock_for_deletion(p_tenant, p_ids);
    v_words text[];
    v_ids bigint[];
    v_replaced bigint[];
BEGIN
    SELECT array_agg(DISTINCT w.word), array_agg(DISTINCT m.id) INTO v_words, v_ids
    FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.search_text FROM recall.memory o WHERE o.tenant = p_tenant AND o.id = u.id OFFSET 0) m
    LEFT JOIN LATERAL unnest(tsvector_to_array(m.search_text)) w(word) ON true;
    IF v_ids IS NULL THEN
        RETURN 0;
    END IF;
    v_cited := recall_private.lock_referenced_activations(p_tenant, v_ids, v_spread_to || recall_private.keepers_of(p_tenant, v_ids));
    PERFORM recall_private.remove_from_contexts(p_tenant, v_ids), recall_private.delete_from_logs(p_tenant, v_ids),
            recall_private.delete_merged_copies(p_tenant, v_ids), recall_private.note_forgotten_sources(p_tenant, v_ids);
    v_replaced := ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.superseded_by = ANY (v_ids) AND m.id <> ALL (v_ids) AND m.archived_at IS NULL
        ORDER BY m.id);
    DELETE FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = ANY (v_ids);
    DELETE FROM recall.memory_change c WHERE c.tenant = p_tenant AND c.memory_id = ANY (v_ids);
    PERFORM recall_private.log_changes(p_tenant, v_ids, 'deleted', p_now), recall_private.log_changes(p_tenant, v_replaced, 'restored', p_now);
    DELETE FROM recall.floor_change f WHERE f.tenant = p_tenant AND f.memory_id = ANY (v_ids);
    DELETE FROM recall.access_key k WHERE k.tenant = p_tenant AND k.memory_id = ANY (v_ids);
    PERFORM recall_private.recount_links(p_tenant, v_cited);
    IF cardinality(v_spread_to) > 0 THEN
        -- What they spread is deleted too, because a boost is derived from the log.
        PERFORM recall_private.rebuild_spread(p_tenant, v_spread_to);
    END IF;
    PERFORM recall_private.drop_unused_lexemes(p_tenant, v_words);
    RETURN cardinality(v_ids);
END $$;

-- lock_for_deletion: locks these memories, and those that follow them or that they superseded, whose rows change with
-- them. Those that they link to or spread to are locked only against deletion: their activations change twice, which
-- checks their keys. Returns the memories that they spread to.
CREATE OR REPLACE FUNCTION recall_private.lock_for_deletion(p_tenant text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_around record := recall_private.lock_around(
        p_tenant, 'SELECT kept || spread_to AS kept, changed, $2 AS removed, spread_to FROM recall_private.around_deleted($1, $2)',
        p_ids);
BEGIN
    RETURN v_around.spread_to;
END $$;

-- around_deleted: the memories that change when these are deleted, those that they link to, were merged into or are
-- sources of, and those that they spread activation to. One index probe for each (OFFSET 0), whatever the planner knows of the tables.
CREATE OR REPLACE FUNCTION recall_private.around_deleted(
    p_tenant text, p_ids bigint[], OUT changed bigint[], OUT kept bigint[], OUT spread_to bigint[]
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    changed := ARRAY(
        SELECT DISTINCT a.id FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            (SELECT o.id FROM recall.memory o WHERE o.tenant = p_tenant AND o.superseded_by = u.id OFFSET 0)
            UNION ALL
            (SELECT l.dst FROM recall.link l
             WHERE l.tenant = p_tenant AND l.src = u.id AND l.relation = 'next' OFFSET 0)) a);
    kept := ARRAY(
        SELECT DISTINCT a.id FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            SELECT l.dst FROM recall.link l WHERE l.tenant = p_tenant AND l.src = u.id
            UNION ALL
            SELECT l.src FROM recall.link l
            WHERE l.tenant = p_tenant AND l.dst = u.id AND l.relation = 'derived_from' OFFSET 0) a(id))
        || recall_private.keepers_of(p_tenant, p_ids);
    spread_to := ARRAY(
        SELECT DISTINCT t FROM unnest(p_ids) u(id)
        CROSS JOIN LATERAL (
            SELECT e.spread_to FROM recall.access e
            WHERE e.tenant = p_tenant AND e.memory_id = u.id AND e.spread_to IS NOT NULL OFFSET 0) a
        CROSS JOIN LATERAL unnest(a.spread_to) t);
END $$;

-- remove_from_contexts: removes the text of these memories from the context of those that follow them, where the import
-- of a conversation put it after the speaker's name.
CREATE OR REPLACE FUNCTION recall_private.remove_from_contexts(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE recall.memory f
    SET context = rtrim(left(f.context, -length(q.quote)), E'\n')
    FROM recall.link l
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = l.src
    CROSS JOIN LATERAL (SELECT coalesce(m.author || ': ', '') || m.body AS quote) q
    WHERE l.tenant = p_tenant AND l.src = ANY (p_ids) AND l.relation = 'next' AND f.tenant = p_tenant AND f.id = l.dst
      AND f.id <> ALL (p_ids) AND m.body <> '' AND right(f.context, length(q.quote)) = q.quote
$$;
