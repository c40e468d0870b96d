-- Duplicates of other: a merge in force, and one that waits.

-- In the tables of before 0031.
DO $$ BEGIN
    IF to_regclass('recall.plan') IS NULL THEN
        INSERT INTO recall.dedupe_plan (tenant, state, created_at, applied_at, options, report)
        SELECT 'other', p.state, '2026-05-30 10:00+00', p.applied_at,
               '{"min_similarity": 0.9, "max_count": 1000, "layers": null}',
               '{"live": 3, "uncompared": 0, "found": 1, "planned": 1, "capped": 0, "clusters": 1, "contradictions": []}'
        FROM (VALUES ('applied', '2026-05-31 10:00+00'::timestamptz), ('planned', NULL)) p(state, applied_at);
        INSERT INTO recall.dedupe_item (tenant, plan_id, memory_id, cluster, keeper, vitality, reason, content_hash, outcome)
        SELECT 'other', p.id, m.id, 1, m.place = 1, 0.3, 'The same text.', m.content_hash, NULL
        FROM recall.dedupe_plan p
        CROSS JOIN (SELECT x.id, x.content_hash, row_number() OVER (ORDER BY x.id) AS place FROM recall.memory x
                    WHERE x.tenant = 'other' AND x.archived_at IS NULL ORDER BY x.id LIMIT 2) m
        WHERE p.tenant = 'other' AND p.state = 'planned';
        UPDATE recall.dedupe_plan p SET state = 'undone', undone_at = p.applied_at WHERE p.tenant = 'other' AND p.state = 'applied';
    END IF;
END $$;
