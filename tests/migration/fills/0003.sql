-- Upkeep of other: a plan that was applied, one that waits, and runs of jobs.

-- In the tables of before 0031.
DO $$ BEGIN
    IF to_regclass('recall.plan') IS NULL THEN
        INSERT INTO recall.prune_plan (tenant, state, created_at, applied_at, options, report) VALUES
            ('other', 'applied', '2026-03-31 10:00+00', '2026-04-01 10:00+00', '{"max_share": 0.5}', '{"planned": 1}'),
            ('other', 'planned', '2026-05-31 10:00+00', NULL, '{"max_share": 0.5}', '{"planned": 1}');
        UPDATE recall.archival SET reason = 'pruned', plan_id = 1 WHERE tenant = 'other';
        INSERT INTO recall.prune_item (tenant, plan_id, memory_id, place, vitality, terms, reason, impact, outcome, note)
        SELECT 'other', i.plan, m.id, i.place, 0.05, '{}', 'Old.', jsonb_build_object('links_in', 0, 'content_hash', m.content_hash),
               i.outcome, i.note
        FROM (VALUES (1, 28, 1, 'archived', NULL), (1, 29, 2, 'skipped', 'used since'), (2, 30, 1, NULL, NULL))
            i(plan, memory, place, outcome, note)
        JOIN recall.memory m ON m.id = i.memory;
    END IF;
END $$;
INSERT INTO recall.job_run (tenant, job, state, started_at, finished_at, done, counts, error) VALUES
    ('other', 'fold', 'done', '2026-05-31 10:00+00', '2026-05-31 10:00:01+00', 3, '{"folded": 3}', NULL),
    ('other', 'embed', 'failed', '2026-05-31 10:00+00', '2026-05-31 10:00:01+00', 0, '{}', 'no model');
