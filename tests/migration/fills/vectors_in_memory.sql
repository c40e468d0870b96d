-- The vectors of fills/memories.sql where they are a column of memory: up to revision 0005.

UPDATE recall.memory m SET embedded_with = 'hash-64', embedding = ('[' || (
    SELECT string_agg(((m.id * (d + 3)) % 17 - 8)::text, ',') FROM generate_series(1, 64) d) || ']')::halfvec
WHERE m.id % 5 > 0;
