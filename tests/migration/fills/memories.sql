-- What every revision can hold, written for the columns that all have: acme, which lives the same life in every fill,
-- so that its answers must be the same whatever it was upgraded from; and other, to which later fills add.

INSERT INTO recall.setting (tenant, name, value) VALUES
    ('*', 'embedding.dimensions', '64'), ('*', 'embedding.model', '"hash-64"'), ('*', 'schema.functions', '"of old"'),
    ('acme', 'vitality.weight', '0.7'), ('acme', 'statistics_at', '"2026-05-01T00:00:00+00:00"')
ON CONFLICT DO NOTHING;

INSERT INTO recall.layer (tenant, name, metabolic_rate, birth_weight, profile) VALUES
    ('*', 'entity', 0.1, 2, 'identity'), ('*', 'knowledge', 1, 1, 'knowledge'), ('*', 'episodic', 2, 1, 'episodic'),
    ('*', 'activity', 3, 1, 'activity'), ('acme', 'diary', 0.7, 1, 'balanced')
ON CONFLICT DO NOTHING;

INSERT INTO recall.memory (
    tenant, key, layer, title, body, role, author, context, source, session_id, tags, aliases, metadata, occurred_at,
    valid_from, valid_until, expires_at, pinned, archived_at, created_at, updated_at)
SELECT CASE WHEN g <= 24 THEN 'acme' ELSE 'other' END, nullif('note-' || g, 'note-10'),
       (ARRAY['knowledge', 'episodic', 'activity', 'entity', 'diary'])[1 + g % CASE WHEN g <= 24 THEN 5 ELSE 4 END],
       CASE WHEN g % 4 = 3 THEN initcap(w[1 + g % 20] || ' ' || w[1 + g * 7 % 20]) ELSE '' END,
       concat_ws(' ', w[1 + g * 3 % 20], w[1 + g * 5 % 20], w[1 + g * 11 % 20], 'café', w[1 + g * 13 % 20], g),
       (ARRAY['user', 'assistant', NULL])[1 + g % 3], (ARRAY['Mira Okafor', 'José', NULL])[1 + g % 3],
       CASE WHEN g % 2 = 0 THEN w[1 + g * 9 % 20] ELSE '' END, 'world', 's-' || g % 4,
       ARRAY[w[1 + g % 20], w[1 + g * 3 % 20]], CASE WHEN g % 4 = 3 THEN ARRAY['Keeper ' || w[1 + g % 20]] ELSE '{}' END,
       jsonb_build_object('n', g, 'none', NULL), CASE WHEN g % 6 = 0 THEN at - interval '3 days' END,
       CASE WHEN g % 8 = 0 THEN at END, CASE WHEN g % 8 = 0 THEN '2027-01-01'::timestamptz END,
       CASE WHEN g % 9 = 0 THEN '2026-08-01'::timestamptz END, g % 11 = 0,
       CASE WHEN g IN (7, 14, 28) THEN '2026-04-01 10:00+00'::timestamptz END, at, at
FROM (SELECT g, '2025-06-01 12:00+00'::timestamptz + g * interval '9 days' AS at,
             ARRAY['harbour', 'contract', 'crane', 'tide', 'gauge', 'winter', 'ledger', 'ferry', 'signal', 'archive',
                   'lantern', 'storm', 'keeper', 'night', 'canal', 'bridge', 'letter', 'invoice', 'autumn', 'garden'] AS w
      FROM generate_series(1, 30) g) x
ORDER BY g;

UPDATE recall.memory SET superseded_by = 4 WHERE tenant = 'acme' AND id = 3;

INSERT INTO recall.name (tenant, name, memory_id, entity)
SELECT DISTINCT m.tenant, lower(n), m.id, m.layer = 'entity'
FROM recall.memory m CROSS JOIN LATERAL unnest(m.title || m.aliases) n WHERE n <> ''
ON CONFLICT DO NOTHING;  -- a trigger keeps them where there are functions

INSERT INTO recall.link (tenant, src, dst, relation, weight, created_at, drafted)
SELECT m.tenant, m.id, CASE m.tenant WHEN 'acme' THEN m.id / 2 ELSE 25 END,
       CASE WHEN m.id % 5 = 4 THEN 'supports' ELSE 'links_to' END, 1 + m.id % 3, m.created_at + interval '1 day', m.id % 2 = 0
FROM recall.memory m WHERE m.id NOT IN (1, 25, 30) ORDER BY m.id;
INSERT INTO recall.link (tenant, src, dst, relation, created_at) VALUES
    ('acme', 4, 3, 'supersedes', '2026-02-01 12:00+00'), ('acme', 9, 10, 'next', '2026-02-01 12:00+00'),
    ('acme', 12, 5, 'contradicts', '2026-02-01 12:00+00');
INSERT INTO recall.pending_link (tenant, src, target, relation, created_at) VALUES
    ('acme', 2, 'note-99', 'links_to', '2025-07-01 12:00+00'), ('other', 26, 'Nobody', 'mentions', '2026-02-01 12:00+00');

INSERT INTO recall.lexeme (tenant, word, documents) VALUES ('acme', '', 22), ('acme', 'harbour', 22), ('acme', 'café', 3);
INSERT INTO recall.layer_median (tenant, layer, base, computed_at) VALUES ('acme', 'knowledge', -1.5, '2026-05-01 12:00+00');
INSERT INTO recall.relevance_model (
    tenant, embedder, profile, intercept, similarity, no_similarity, coverage, information, name, author, fitted_on)
VALUES ('acme', '*', 'balanced', -6, 7, 2, 2, 1, 2, 1, 'queries of our own');
