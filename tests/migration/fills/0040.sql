-- other is shared with acme; keys of other would also read acme.

INSERT INTO recall.reader (tenant, reader, since) VALUES ('other', 'acme', '2026-05-01 12:00+00');
UPDATE recall.api_key SET also_reads = '{acme}' WHERE tenant = 'other';
