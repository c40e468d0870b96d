-- Uses, as they are logged and summed from 0002 on, with the histories that an upgrade from 0001 makes up for acme; and
-- for other: a search that waits to be folded, a boost, an association, a link that was.

INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at)
SELECT m.tenant, m.id, u.kind, u.weight, u.at, u.session_id, u.at
FROM recall.memory m
CROSS JOIN LATERAL (
    SELECT 'write' AS kind, CASE m.layer WHEN 'entity' THEN 2 ELSE 1 END::float8 AS weight, m.happened_at AS at,
           NULL AS session_id
    UNION ALL SELECT 'used', 1, m.created_at + n * interval '5 days 7 hours', NULL FROM generate_series(1, m.id % 13) n
    UNION ALL SELECT 'read', 1, '2026-05-20 12:00+00', 'talk-' || m.id % 3 WHERE m.id % 4 = 0
    UNION ALL SELECT 'retrieval', 0.1, '2026-05-21 12:00+00', 'talk-1' WHERE m.id % 3 = 0
) u
ORDER BY m.tenant, u.at, m.id;

INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at, spread_to, spread_by) VALUES
    ('other', 27, 'used', 1, '2026-05-26 12:00+00', 'talk-9', '2026-05-26 12:00+00', '{25, 26}', '{0.5, 0.25}');

INSERT INTO recall.access_key (tenant, idempotency_key, memory_id)
SELECT m.tenant, format('once-%s-%s', m.id, n), m.id FROM recall.memory m CROSS JOIN generate_series(1, m.id % 13) n;

INSERT INTO recall.activation (
    tenant, memory_id, n, first_at, t1, t2, t3, t4, t5, t6, t7, t8, credit, folded_until, decay, clock, in_degree,
    last_linked_at)
SELECT m.tenant, m.id, s.n, s.newest[s.n], s.newest[1], s.newest[2], s.newest[3], s.newest[4], s.newest[5], s.newest[6],
       s.newest[7], s.newest[8], CASE WHEN m.id % 3 = 0 THEN 0.1 ELSE 0 END, s.until, l.base_decay, l.metabolic_rate,
       i.in_degree, i.last_linked_at
FROM recall.memory m
JOIN recall.layer l ON l.name = m.layer
CROSS JOIN LATERAL (
    SELECT count(x) FILTER (WHERE e.weight >= 1)::int AS n, max(e.at) AS until,
           array_agg(date_part('epoch', e.at) ORDER BY e.at DESC) FILTER (WHERE e.weight >= 1) AS newest
    FROM recall.access e CROSS JOIN LATERAL generate_series(1, ceil(e.weight)::int) x WHERE e.memory_id = m.id) s
CROSS JOIN LATERAL (
    SELECT count(DISTINCT k.src) AS in_degree, date_part('epoch', max(k.created_at)) AS last_linked_at
    FROM recall.link k JOIN recall.memory o ON o.id = k.src AND o.archived_at IS NULL
    WHERE k.dst = m.id AND k.relation IN ('links_to', 'supports')) i;

INSERT INTO recall.archival (tenant, memory_id, archived_at, reason)
SELECT tenant, id, archived_at, 'forgotten' FROM recall.memory WHERE archived_at IS NOT NULL;
INSERT INTO recall.floor_change (tenant, memory_id, at, floored)
SELECT tenant, id, created_at, true FROM recall.memory WHERE pinned;

INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at) VALUES
    ('other', 26, 'retrieval', 0.1, '2026-05-25 12:00+00', 'talk-9', '2026-05-25 12:00+00');
INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES ('other', '{26}', '2026-05-25 12:00+00');
UPDATE recall.activation SET spread = 1 / (2 * (memory_id - 24.0)), spread_at = date_part('epoch', '2026-05-26 12:00+00'::timestamptz)
WHERE tenant = 'other' AND memory_id IN (25, 26);
UPDATE recall.activation SET sessions = 1, sessions_at = date_part('epoch', '2026-05-26 12:00+00'::timestamptz)
WHERE tenant = 'other' AND memory_id IN (27, 29);
INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, strengthened_at) VALUES
    ('other', 27, 29, 'co_access', 1, '2026-05-26 12:00+00', '2026-05-26 12:00+00');
INSERT INTO recall.link_history (tenant, src, dst, relation, created_at, removed_at) VALUES
    ('other', 30, 25, 'links_to', '2026-03-01 12:00+00', '2026-03-05 12:00+00');
