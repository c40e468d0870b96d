-- Reading: one memory, and the state of a tenant.

-- links_of: the links of a memory in both directions, newest first, at most 200.
CREATE OR REPLACE FUNCTION recall.links_of(p_tenant text, p_memory_id bigint) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
               'other', o.id, 'other_key', o.key, 'other_title', o.title, 'relation', l.relation,
               'weight', l.weight, 'outgoing', l.outgoing, 'created_at', l.created_at)
               ORDER BY l.created_at DESC, o.id, l.outgoing), '[]')
    FROM (
        SELECT k.dst AS other, k.relation, k.weight, true AS outgoing, k.created_at
        FROM recall.link k WHERE k.tenant = p_tenant AND k.src = p_memory_id
        UNION ALL
        SELECT k.src, k.relation, k.weight, false, k.created_at
        FROM recall.link k WHERE k.tenant = p_tenant AND k.dst = p_memory_id
        ORDER BY created_at DESC, other LIMIT 200
    ) l
    JOIN recall.memory o ON o.tenant = p_tenant AND o.id = l.other
$$;

-- get: one memory with its vitality terms at p_now and its links; no row when there is none.
-- It does not count as an access; record one when the memory was used.
CREATE OR REPLACE FUNCTION recall.get(p_memory_id bigint, p_now timestamptz DEFAULT now())
RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, context text,
    source text, session_id text, tags text[], aliases text[], metadata jsonb, occurred_at timestamptz,
    valid_from timestamptz, valid_until timestamptz, superseded_by bigint, expires_at timestamptz,
    pinned boolean, archived_at timestamptz, created_at timestamptz, updated_at timestamptz,
    embedded_with text, vitality jsonb, links jsonb
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT m.id, m.key, m.layer, m.title, m.body, m.role, m.author, m.context, m.source, m.session_id,
           m.tags, m.aliases, m.metadata, m.occurred_at, m.valid_from, m.valid_until, m.superseded_by,
           m.expires_at, m.pinned, m.archived_at, m.created_at, m.updated_at, m.embedded_with,
           to_jsonb(t), recall.links_of(m.tenant, m.id)
    FROM (SELECT recall.current_tenant() AS tenant, recall.finite(p_now) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall.weights_of(c.tenant) AS w OFFSET 0) x
    JOIN recall.memory m ON m.tenant = c.tenant AND m.id = p_memory_id
    JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
    JOIN recall.layers_of(c.tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall.vitality_terms(a, m.pinned, l, x.w, c.moment) t
$$;

-- status: what this tenant holds and how it fares at p_now, as one JSON document; links are those that were made,
-- not those that use makes.
CREATE OR REPLACE FUNCTION recall.status(p_now timestamptz DEFAULT now()) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    RETURN (
        SELECT to_jsonb(h) - 'reported_at' || jsonb_build_object(
            'accesses', (SELECT count(*) FROM recall.access a WHERE a.tenant = v_tenant),
            'links', (SELECT count(*) FROM recall.link l WHERE l.tenant = v_tenant AND l.relation <> 'co_access'),
            'links_pending', recall.pending_count(),
            'embedder', recall.setting_of('*', 'embedding.model'),
            'dimensions', recall.setting_of('*', 'embedding.dimensions'),
            'language', recall.language(v_tenant), 'accents_off', recall.takes_accents_off(),
            'statistics_at', (SELECT s.value FROM recall.setting s
                              WHERE s.tenant = v_tenant AND s.name = 'statistics_at'))
        FROM recall.health_report(p_now) h);
END $$;
