-- What hits show of past moments and of other embedders.

-- ignored_parts: what a search with token signs, with vectors or for a past moment could not read of these hits, as
-- sentences. It is a function of its own, because every search prepares all of its main statement.
CREATE OR REPLACE FUNCTION recall_private.ignored_parts(
    p_tenant text, p_ids bigint[], p_embedder text, p_tokens boolean, p_vectors boolean, p_as_of timestamptz
) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ignored text[] := '{}';
BEGIN
    IF p_tokens AND EXISTS (
        SELECT FROM recall.token_signs k
        WHERE k.tenant = p_tenant AND k.memory_id = ANY (p_ids) AND k.model <> p_embedder) THEN
        v_ignored := v_ignored || text 'tokens: those that another embedder made of some hits are ignored';
    END IF;
    IF p_vectors AND EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.passage_count > 0 AND m.embedded_with <> p_embedder) THEN
        v_ignored := v_ignored || text 'passages: those that another embedder made of some hits are ignored';
    END IF;
    IF p_as_of IS NULL THEN
        RETURN v_ignored;
    END IF;
    IF EXISTS (
        SELECT FROM unnest(p_ids) h(id) CROSS JOIN LATERAL (
            SELECT o.written_at, o.number FROM recall.memory_version o
            WHERE o.tenant = p_tenant AND o.memory_id = h.id AND o.replaced_at > p_as_of
            ORDER BY o.number LIMIT 1) v
        WHERE v.number > 1 AND v.written_at > p_as_of) THEN
        v_ignored := v_ignored
            || text 'versions: the text of that moment is not kept of some hits, which show the oldest one after it';
    END IF;
    RETURN v_ignored;
END $$;

-- version_at: the version of a memory that was in force at a past moment. No row if the present one was, or if that
-- version is not kept. It is a function of its own for the same reason.
CREATE OR REPLACE FUNCTION recall_private.version_at(p_tenant text, p_memory_id bigint, p_as_of timestamptz)
RETURNS SETOF recall.memory_version
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT v.* FROM recall.memory_version v
    WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.replaced_at > p_as_of
    ORDER BY v.number LIMIT 1;
END $$;
