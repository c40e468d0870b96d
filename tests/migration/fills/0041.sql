-- A redact plan of other that was applied, with what it took out.

INSERT INTO recall.plan (tenant, id, kind, state, created_at, applied_at, options, report)
OVERRIDING SYSTEM VALUE
VALUES ('other', 900, 'redact', 'applied', '2026-05-31 11:00+00', '2026-05-31 11:00+00', '{}',
        '{"scanned": 1, "complete": true, "planned": 1, "secrets": 1, "kinds": {"Secret": 1}}');
INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, reason, outcome, findings)
SELECT 'other', 900, m.id, 1, 0, 'Secrets.', 'redacted', '[{"version": null, "field": "body", "kind": "Secret", "count": 1}]'
FROM recall.memory m WHERE m.tenant = 'other' AND m.id = 30;
INSERT INTO recall.redacted_text (tenant, plan_id, memory_id, taken)
SELECT 'other', 900, m.id, '[{"version": 0, "places": [{"path": ["body"], "spans": [[0, 17, "hidden"]], "digest": "0"}]}]'
FROM recall.memory m WHERE m.tenant = 'other' AND m.id = 30;
