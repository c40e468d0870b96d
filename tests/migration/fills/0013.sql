-- The vector of a passage, of a tenant whose answers are not compared; nobody has looked at other memories for passages.

INSERT INTO recall.vector_shared (tenant, memory_id, archived, embedding, part, passage_start, passage_end)
SELECT v.tenant, v.memory_id, v.archived, v.embedding, 1, 0, 1
FROM recall.vector_shared v
JOIN recall.memory m ON m.tenant = v.tenant AND m.id = v.memory_id AND length(m.body) > 0
WHERE v.tenant = 'other' ORDER BY v.memory_id LIMIT 1;
UPDATE recall.memory m SET passage_count = 1
FROM recall.vector_shared v WHERE v.tenant = m.tenant AND v.memory_id = m.id AND v.part = 1;
