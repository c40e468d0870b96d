-- Superseding: one memory in place of another, which stays.

-- supersede: says that p_new replaces p_old: default search shows the new one alone, and a link tells why. Returns
-- false when that was known; a memory that p_old replaces itself, at any remove, cannot replace it.
CREATE OR REPLACE FUNCTION recall.supersede(
    p_old bigint, p_new bigint, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_known bigint;
BEGIN
    PERFORM recall.require_memory(p_old), recall.require_memory(p_new), recall.finite(p_now);
    IF p_old = p_new THEN
        PERFORM recall.reject(format('Memory %s cannot supersede itself.', p_old));
    END IF;
    -- One supersession of a tenant at a time: two crossing ones would each miss the circle they close.
    PERFORM pg_advisory_xact_lock(recall.lock_key('supersede', v_tenant));
    IF recall.is_successor(v_tenant, p_new, p_old) THEN
        PERFORM recall.reject(
            format('Memory %s cannot supersede %s, which supersedes it already.', p_new, p_old),
            'Supersede both with a third memory, or swap them.');
    END IF;
    -- Both first, in the order of those that archive several; then as what is changed, as drafts do.
    PERFORM FROM recall.memory m
    WHERE m.tenant = v_tenant AND m.id IN (p_old, p_new) ORDER BY m.id FOR KEY SHARE;
    PERFORM recall.require_memory(p_old), recall.require_memory(p_new);
    PERFORM FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_old FOR NO KEY UPDATE;
    SELECT m.superseded_by INTO v_known FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_old;
    UPDATE recall.memory m SET superseded_by = p_new, updated_at = p_now
    WHERE m.tenant = v_tenant AND m.id = p_old AND m.superseded_by IS DISTINCT FROM p_new;
    PERFORM recall.link(p_new, p_old, 'supersedes', 1, p_now);
    RETURN v_known IS DISTINCT FROM p_new;
END $$;

-- is_successor: whether p_later replaces p_earlier, at any remove.
CREATE OR REPLACE FUNCTION recall.is_successor(p_tenant text, p_earlier bigint, p_later bigint) RETURNS boolean
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
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
