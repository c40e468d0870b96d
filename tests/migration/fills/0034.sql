-- An import of other, which changed a memory, and can be undone.

INSERT INTO recall.plan (tenant, id, kind, state, created_at, applied_at, options, report)
OVERRIDING SYSTEM VALUE
VALUES ('other', (1::bigint << 51) + 1, 'import', 'applied', '2026-05-31 10:00+00', '2026-05-31 10:00+00',
        '{"source": "markdown:notes"}', '{"changed": 1}');
INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, reason, content_hash, outcome, before)
SELECT 'other', p.id, m.id, 0, 0, 'Import.', m.content_hash, 'changed', jsonb_build_object(
           'number', 1, 'hash', m.content_hash, 'updated_at', m.updated_at, 'layer', 'episodic', 'expires_at', NULL,
           'pinned', false, 'links', '[]'::jsonb, 'after', jsonb_build_object(
               'number', 1, 'hash', m.content_hash, 'updated_at', m.updated_at, 'layer', m.layer, 'expires_at',
               m.expires_at, 'pinned', m.pinned))
FROM recall.plan p JOIN recall.memory m ON m.tenant = 'other' AND m.id = 30
WHERE p.tenant = 'other' AND p.kind = 'import';
