-- other is shared with acme, a key of which also reads it.

INSERT INTO recall.reader (tenant, reader, since) VALUES ('other', 'acme', '2026-05-01 12:00+00');
UPDATE recall.api_key SET also_reads = '{other}' WHERE tenant = 'acme';
