-- Plans of other, unless they came up from 0003 and 0018: one that was applied, and one that waits.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM recall.plan) THEN
        INSERT INTO recall.plan (tenant, kind, state, created_at, applied_at, options, report) VALUES
            ('other', 'prune', 'applied', '2026-03-31 10:00+00', '2026-04-01 10:00+00', '{"max_share": 0.5}', '{"planned": 1}'),
            ('other', 'dedupe', 'planned', '2026-05-30 10:00+00', NULL,
             '{"min_similarity": 0.9, "max_count": 1000, "layers": null}',
             '{"live": 3, "uncompared": 0, "found": 1, "planned": 1, "capped": 0, "clusters": 1, "contradictions": []}');
        UPDATE recall.archival SET reason = 'pruned', plan_id = 1 WHERE tenant = 'other';
        INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, terms, reason, impact, content_hash, outcome)
        SELECT 'other', 1, m.id, 1, 0.05, '{}', 'Old.', '{"links_in": 0}', m.content_hash, 'archived'
        FROM recall.memory m WHERE m.id = 28;
        INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, keeper, vitality, reason, content_hash)
        SELECT 'other', 2, m.id, 1, m.id = 29, 0.3, 'The same text.', m.content_hash
        FROM recall.memory m WHERE m.id IN (29, 30);
    END IF;
END $$;
