-- Uses, as 0001 logged and summed them.

INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, idempotency_key, recorded_at)
SELECT m.tenant, m.id, u.kind, u.weight, u.at, u.session_id, u.key, u.at
FROM recall.memory m
CROSS JOIN LATERAL (
    SELECT 'write' AS kind, CASE m.layer WHEN 'entity' THEN 2 ELSE 1 END::float8 AS weight, m.happened_at AS at,
           NULL AS session_id, NULL AS key
    UNION ALL SELECT 'used', 1, m.created_at + n * interval '5 days 7 hours', NULL, format('once-%s-%s', m.id, n)
    FROM generate_series(1, m.id % 13) n
    UNION ALL SELECT 'read', 1, '2026-05-20 12:00+00', 'talk-' || m.id % 3, NULL WHERE m.id % 4 = 0
    UNION ALL SELECT 'retrieval', 0.1, '2026-05-21 12:00+00', 'talk-1', NULL WHERE m.id % 3 = 0
) u
ORDER BY u.at, m.id;

INSERT INTO recall.activation (
    tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, credit, decay, clock, in_degree, last_linked_at)
SELECT m.tenant, m.id, s.n, s.newest[s.n], s.newest[1], s.newest[2], s.newest[3], s.newest[4], s.newest[5], s.newest[6],
       s.newest[7], s.newest[8], CASE WHEN m.id % 3 = 0 THEN 0.1 ELSE 0 END, l.base_decay, l.metabolic_rate,
       i.in_degree, i.last_linked_at
FROM recall.memory m
JOIN recall.layer l ON l.name = m.layer
CROSS JOIN LATERAL (
    SELECT count(*)::int AS n, array_agg(date_part('epoch', e.at) ORDER BY e.at DESC) AS newest
    FROM recall.access e CROSS JOIN LATERAL generate_series(1, e.weight::int) WHERE e.memory_id = m.id AND e.weight >= 1) s
CROSS JOIN LATERAL (
    SELECT count(DISTINCT k.src) AS in_degree, date_part('epoch', max(k.created_at)) AS last_linked_at
    FROM recall.link k JOIN recall.memory o ON o.id = k.src AND o.archived_at IS NULL
    WHERE k.dst = m.id AND k.relation IN ('links_to', 'supports')) i;
