-- A key that may only read, as the revisions before say it by its name.

INSERT INTO recall.api_key (tenant, name, hash, created_at, read_only)
VALUES ('other', 'reader', '\x01ff', '2026-05-01 12:00+00', true);
