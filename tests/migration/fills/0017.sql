-- A version of a memory, and changes, of a tenant whose answers are not compared.

INSERT INTO recall.memory_version (
    tenant, memory_id, number, title, body, metadata, written_at, replaced_at, replaced_by, replaced_through)
SELECT m.tenant, m.id, 1, m.title, 'What it said before', '{"page": 2}', m.created_at, m.created_at + interval '1 hour',
       'somebody', 'sql'
FROM recall.memory m WHERE m.tenant = 'other' ORDER BY m.id LIMIT 1;
INSERT INTO recall.memory_change (tenant, era, memory_id, kind, at)
SELECT v.tenant, 1, v.memory_id, 'rewritten', v.replaced_at FROM recall.memory_version v;
