-- Summaries, which others write: what they are derived from, and whether it still is what they say.

-- derivations_of: the sources of these memories, each with its state. `changed`: it was rewritten or replaced after the
-- summary was written. `forgotten`: it was forgotten, with source NULL if it was deleted. `missing`: no memory has that key
-- or name yet. Otherwise `current`.
CREATE OR REPLACE FUNCTION recall_private.derivations_of(p_tenant text, p_ids bigint[])
RETURNS TABLE (summary bigint, source bigint, state text)
LANGUAGE sql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
    SELECT l.src, l.dst, CASE
               WHEN o.archived_at IS NOT NULL AND EXISTS (
                   SELECT FROM recall.archival v
                   WHERE v.tenant = p_tenant AND v.memory_id = o.id AND v.restored_at IS NULL AND v.reason = 'forgotten')
                   THEN 'forgotten'
               -- A source that came later, but happened before, is not news.
               WHEN o.superseded_by IS DISTINCT FROM s.id AND s.updated_at < CASE
                   WHEN o.updated_at > o.created_at THEN o.updated_at ELSE least(o.happened_at, o.created_at) END
                   THEN 'changed'
               ELSE 'current' END
    FROM recall.link l
    JOIN recall.memory s ON s.tenant = p_tenant AND s.id = l.src
    JOIN recall.memory o ON o.tenant = p_tenant AND o.id = l.dst
    WHERE l.tenant = p_tenant AND l.src = ANY (p_ids) AND l.relation = 'derived_from'
    UNION ALL
    SELECT p.src, NULL, CASE WHEN p.target ~ '^forgotten memory \d+$' THEN 'forgotten' ELSE 'missing' END
    FROM recall.pending_link p
    WHERE p.tenant = p_tenant AND p.src = ANY (p_ids) AND p.relation = 'derived_from'
    ORDER BY 1, 2
$$;

-- derivations (reader; Links): the sources of at most 200 memories, those that are summaries: `state` is current,
-- changed (after the summary was written), forgotten (source is NULL if it was deleted) or missing (it was never
-- stored).
CREATE OR REPLACE FUNCTION recall.derivations(p_ids bigint[])
RETURNS TABLE (summary bigint, source bigint, state text)
LANGUAGE sql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
    SELECT d.* FROM recall_private.derivations_of(recall.current_tenant(), recall_private.distinct_ids(p_ids)) d
$$;

-- stale_summaries (reader; Links): the live summaries that no longer say what their sources do, at most p_limit of
-- them, by id, after the memory p_after: how many of their sources changed after them, and how many were forgotten.
CREATE OR REPLACE FUNCTION recall.stale_summaries(p_limit int DEFAULT 100, p_after bigint DEFAULT 0)
RETURNS TABLE (id bigint, key text, title text, changed bigint, forgotten bigint)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id, m.key, m.title, count(*) FILTER (WHERE d.state = 'changed'), count(*) FILTER (WHERE d.state = 'forgotten')
    FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) c
    CROSS JOIN LATERAL recall_private.derivations_of(c.tenant, ARRAY(
        SELECT l.src FROM recall.link l WHERE l.tenant = c.tenant AND l.relation = 'derived_from' AND l.src > p_after
        UNION
        SELECT p.src FROM recall.pending_link p
        WHERE p.tenant = c.tenant AND p.relation = 'derived_from' AND p.src > p_after)) d
    JOIN recall.memory m ON m.tenant = c.tenant AND m.id = d.summary AND m.archived_at IS NULL
    WHERE d.state IN ('changed', 'forgotten')
    GROUP BY m.id, m.key, m.title ORDER BY m.id LIMIT recall_private.require_limit(p_limit)
$$;

-- note_forgotten_sources: keeps, for the summaries of memories that are about to be deleted, that a source was forgotten.
-- It is a pending link without words of the source; it goes when the summary is stored with other links.
CREATE OR REPLACE FUNCTION recall_private.note_forgotten_sources(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO recall.pending_link (tenant, src, target, relation, weight, created_at)
    SELECT p_tenant, l.src, 'forgotten memory ' || l.dst, l.relation, l.weight, l.created_at
    FROM unnest(p_ids) u(id)
    CROSS JOIN LATERAL (
        SELECT * FROM recall.link k WHERE k.tenant = p_tenant AND k.dst = u.id OFFSET 0) l
    WHERE l.relation = 'derived_from' AND l.src <> ALL (p_ids)
    ON CONFLICT DO NOTHING
$$;
