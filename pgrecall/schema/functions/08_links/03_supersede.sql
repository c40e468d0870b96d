-- Superseding: a memory replaces another, which is kept.

-- supersede (app; Links): records that p_new supersedes p_old: by default, searches show only the new one, and a link
-- records the reason. Returns false if this was already recorded. Raises an error if p_old supersedes p_new, directly
-- or through others.
CREATE OR REPLACE FUNCTION recall.supersede(
    p_old bigint, p_new bigint, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_known bigint;
BEGIN
    PERFORM recall.require_memory(p_old), recall.require_memory(p_new), recall_private.require_moment(p_now);
    IF p_old = p_new THEN
        PERFORM recall_private.raise_invalid(format('Memory %s cannot supersede itself.', p_old));
    END IF;
    -- One supersession of a tenant at a time: two concurrent ones could close a circle that neither sees.
    PERFORM recall_private.lock_tenant(v_tenant, 'supersede');
    IF recall_private.is_successor(v_tenant, p_new, p_old) THEN
        PERFORM recall_private.raise_invalid(
            format('Memory %s cannot supersede %s, which already supersedes it.', p_new, p_old),
            'Supersede both with a third memory, or swap them.');
    END IF;
    PERFORM recall_private.lock_memories(v_tenant, p_kept => ARRAY[p_new], p_changed => ARRAY[p_old]);
    PERFORM recall.require_memory(p_old), recall.require_memory(p_new);
    SELECT m.superseded_by INTO v_known FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_old;
    UPDATE recall.memory m SET superseded_by = p_new, updated_at = p_now
    WHERE m.tenant = v_tenant AND m.id = p_old AND m.superseded_by IS DISTINCT FROM p_new;
    PERFORM recall.link(p_new, p_old, 'supersedes', 1, p_now);
    IF v_known IS DISTINCT FROM p_new THEN
        PERFORM recall_private.log_changes(v_tenant, ARRAY[p_old], 'superseded', p_now, p_new);
    END IF;
    RETURN v_known IS DISTINCT FROM p_new;
END $$;

-- is_successor: whether p_later supersedes p_earlier, directly or through others.
CREATE OR REPLACE FUNCTION recall_private.is_successor(p_tenant text, p_earlier bigint, p_later bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE successor AS (
        SELECT m.superseded_by AS id FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = p_earlier AND m.superseded_by IS NOT NULL
        UNION
        SELECT m.superseded_by FROM successor s
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = s.id
        WHERE m.superseded_by IS NOT NULL
    )
    SELECT EXISTS (SELECT FROM successor s WHERE s.id = p_later)
$$;

-- successors_of: the same as successors, for any number of memories of one tenant.
CREATE OR REPLACE FUNCTION recall_private.successors_of(p_tenant text, p_ids bigint[])
RETURNS TABLE (id bigint, successor bigint, step int)
LANGUAGE sql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
    WITH RECURSIVE chain AS (
        SELECT m.id, m.superseded_by AS successor, 1 AS step FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.superseded_by IS NOT NULL
        UNION ALL
        SELECT c.id, m.superseded_by, c.step + 1 FROM chain c
        JOIN recall.memory m ON m.tenant = p_tenant AND m.id = c.successor
        WHERE m.superseded_by IS NOT NULL
    ) CYCLE successor SET circular USING path
    SELECT c.id, c.successor, c.step FROM chain c WHERE NOT c.circular
$$;

-- distinct_ids: these ids, sorted, without repeats and NULLs. Raises an error for more than 200, because they would make
-- too many pairs.
CREATE OR REPLACE FUNCTION recall_private.distinct_ids(p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_ids bigint[] := ARRAY(SELECT DISTINCT i FROM unnest(p_ids) i WHERE i IS NOT NULL ORDER BY i);
BEGIN
    IF cardinality(v_ids) > 200 THEN
        PERFORM recall_private.raise_invalid(
            format('%s memories cannot be compared at once; the limit is 200.', cardinality(v_ids)), 'Ask for fewer.');
    END IF;
    RETURN v_ids;
END $$;

-- successors (reader; Links): the memories that supersede these, directly or through others, by id and step. `step` 1
-- supersedes the memory itself.
CREATE OR REPLACE FUNCTION recall.successors(p_ids bigint[])
RETURNS TABLE (id bigint, successor bigint, step int)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall_private.distinct_ids(p_ids);
BEGIN
    RETURN QUERY
    WITH RECURSIVE chain AS (
        SELECT m.id, m.superseded_by AS successor, 1 AS step FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) AND m.superseded_by IS NOT NULL
        UNION ALL
        SELECT c.id, m.superseded_by, c.step + 1 FROM chain c
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = c.successor
        WHERE m.superseded_by IS NOT NULL
    ) CYCLE successor SET circular USING path
    SELECT c.id, c.successor, c.step FROM chain c WHERE NOT c.circular ORDER BY c.id, c.step;
END $$;

-- was_superseded: whether a newer memory superseded this one at that moment.
CREATE OR REPLACE FUNCTION recall_private.was_superseded(p_tenant text, p_memory_id bigint, p_as_of timestamptz)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM recall.link l
        WHERE l.tenant = p_tenant AND l.dst = p_memory_id AND l.relation = 'supersedes' AND l.created_at <= p_as_of
        UNION ALL
        SELECT FROM recall.link_history h
        WHERE h.tenant = p_tenant AND h.dst = p_memory_id AND h.relation = 'supersedes'
          AND h.created_at <= p_as_of AND h.removed_at > p_as_of)
$$;
