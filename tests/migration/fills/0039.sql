-- A grant of a key of other, whose code was exchanged.

INSERT INTO recall.oauth_grant (tenant, digest, key_id, secret, access, access_ends_at, terms, ends_at)
SELECT 'other', '\x00aa', k.id, '\x00bb', '\x00cc', '2026-05-01 13:00+00', '{"client_id": "agent"}', '2026-06-01 12:00+00'
FROM recall.api_key k WHERE k.tenant = 'other' ORDER BY k.id LIMIT 1;
