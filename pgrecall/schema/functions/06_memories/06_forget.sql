-- Forgetting: archiving a memory, or deleting it with everything recorded about it.

-- forget: archives a memory, which leaves default search and stays stored. With p_hard deletes it with everything
-- about it, and removes its text from the context of the turn that followed. Returns whether anything changed.
CREATE OR REPLACE FUNCTION recall.forget(
    p_memory_id bigint, p_hard boolean DEFAULT false, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall.require_memory(p_memory_id), recall.require_moment(p_now);
    IF p_hard THEN
        RETURN recall.delete_memory(v_tenant, p_memory_id);
    END IF;
    RETURN cardinality(recall.archive_memories(v_tenant, ARRAY[p_memory_id], 'forgotten', NULL, p_now)) = 1;
END $$;

-- delete_memory: deletes a memory and everything that is only about it. Returns false if another transaction has just
-- deleted it.
CREATE OR REPLACE FUNCTION recall.delete_memory(p_tenant text, p_id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_cited bigint[];
    v_spread_to bigint[];
    v_words text[];
BEGIN
    v_spread_to := ARRAY(
        SELECT DISTINCT t FROM recall.access e, unnest(e.spread_to) t
        WHERE e.tenant = p_tenant AND e.memory_id = p_id);
    PERFORM recall.lock_for_deletion(p_tenant, p_id, v_spread_to);
    SELECT tsvector_to_array(m.search_text) INTO v_words
    FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = p_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    v_spread_to := ARRAY(  -- once more: it may have been used while this call waited
        SELECT DISTINCT t FROM recall.access e, unnest(e.spread_to) t
        WHERE e.tenant = p_tenant AND e.memory_id = p_id);
    v_cited := recall.lock_referenced_activations(p_tenant, ARRAY[p_id], v_spread_to);
    PERFORM recall.remove_from_contexts(p_tenant, p_id), recall.delete_from_logs(p_tenant, ARRAY[p_id]);
    DELETE FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = p_id;
    DELETE FROM recall.floor_change f WHERE f.tenant = p_tenant AND f.memory_id = p_id;
    DELETE FROM recall.access_key k WHERE k.tenant = p_tenant AND k.memory_id = p_id;
    PERFORM recall.recount_links(p_tenant, v_cited);
    IF cardinality(v_spread_to) > 0 THEN
        -- What it spread is deleted too, because a boost is derived from the log.
        PERFORM recall.rebuild_spread(p_tenant, v_spread_to);
    END IF;
    PERFORM recall.drop_unused_lexemes(p_tenant, v_words);
    RETURN true;
END $$;

-- lock_for_deletion: locks a memory, those that follow it and those that it superseded, whose rows change with it, in
-- one order. Those that it links to or spread to are locked only against deletion: their activations change twice,
-- which checks their keys, and this lock does not block updates.
CREATE OR REPLACE FUNCTION recall.lock_for_deletion(p_tenant text, p_id bigint, p_others bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_around record;
BEGIN
    FOR v_around IN
        SELECT a.id, bool_or(a.changes) AS changes
        FROM (
            SELECT p_id AS id, true AS changes
            UNION ALL
            SELECT o.id, true FROM recall.memory o WHERE o.tenant = p_tenant AND o.superseded_by = p_id
            UNION ALL
            SELECT l.dst, l.relation = 'next' FROM recall.link l WHERE l.tenant = p_tenant AND l.src = p_id
            UNION ALL
            SELECT u, false FROM unnest(p_others) u) a
        GROUP BY a.id ORDER BY a.id
    LOOP
        IF v_around.changes THEN
            PERFORM FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = v_around.id FOR UPDATE;
        ELSE
            PERFORM FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = v_around.id FOR KEY SHARE;
        END IF;
    END LOOP;
END $$;

-- remove_from_contexts: removes the text of a memory from the context of those that follow it, where the import of a
-- conversation put it after the speaker's name.
CREATE OR REPLACE FUNCTION recall.remove_from_contexts(p_tenant text, p_id bigint) RETURNS void
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    UPDATE recall.memory f
    SET context = rtrim(left(f.context, -length(q.quote)), E'\n')
    FROM recall.link l
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = p_id
    CROSS JOIN LATERAL (SELECT coalesce(m.author || ': ', '') || m.body AS quote) q
    WHERE l.tenant = p_tenant AND l.src = p_id AND l.relation = 'next' AND f.tenant = p_tenant AND f.id = l.dst
      AND m.body <> '' AND right(f.context, length(q.quote)) = q.quote
$$;
