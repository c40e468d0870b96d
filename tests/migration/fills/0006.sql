-- The vectors of fills/memories.sql in a table of their own.

UPDATE recall.memory m SET embedded_with = 'hash-64' WHERE m.id % 5 > 0;

INSERT INTO recall.vector_shared (tenant, memory_id, archived, embedding)
SELECT m.tenant, m.id, m.archived_at IS NOT NULL, ('[' || (
    SELECT string_agg(((m.id * (d + 3)) % 17 - 8)::text, ',') FROM generate_series(1, 64) d) || ']')::halfvec
FROM recall.memory m WHERE m.id % 5 > 0;
