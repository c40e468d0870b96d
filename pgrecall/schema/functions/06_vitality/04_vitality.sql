-- Vitality of stored memories at any time.

-- vitality (reader; Vitality): the vitality of a memory of this tenant at p_now, from 0 to 1. NULL if there is no such
-- memory. With more than eight accesses it is an approximation (docs/explanation/vitality.md).
CREATE OR REPLACE FUNCTION recall.vitality(p_memory_id bigint, p_now timestamptz DEFAULT now())
RETURNS double precision
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT s.activation / (1 + s.activation)
    FROM (SELECT recall.current_tenant() AS tenant, recall_private.epoch(recall_private.require_moment(p_now)) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall_private.vitality_weights(c.tenant) AS w OFFSET 0) x
    JOIN recall.activation a ON a.tenant = c.tenant AND a.memory_id = p_memory_id
    CROSS JOIN LATERAL (SELECT recall_private.activation_sum(a, x.w, c.moment) AS activation OFFSET 0) s
$$;

-- explain_vitality (reader; Vitality): every term of a memory's vitality at p_now. No row if there is no such memory.
-- `recent` is the exact sum over the eight newest accesses, `tail` approximates that over the others.
CREATE OR REPLACE FUNCTION recall.explain_vitality(p_memory_id bigint, p_now timestamptz DEFAULT now())
RETURNS TABLE (
    accesses bigint, recent double precision, tail double precision, spread double precision,
    revival double precision, activation double precision, base double precision,
    vitality double precision, retention double precision, zone text
)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT t.*
    FROM (SELECT recall.current_tenant() AS tenant, recall_private.require_moment(p_now) AS moment OFFSET 0) c
    CROSS JOIN LATERAL (SELECT recall_private.vitality_weights(c.tenant) AS w OFFSET 0) x
    JOIN recall.activation a ON a.tenant = c.tenant AND a.memory_id = p_memory_id
    JOIN recall.memory m ON m.tenant = a.tenant AND m.id = a.memory_id
    JOIN recall_private.effective_layers(c.tenant) l ON l.name = m.layer
    CROSS JOIN LATERAL recall_private.vitality_terms(a, m.pinned, l, x.w, c.moment) t
$$;
