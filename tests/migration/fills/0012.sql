-- The signs of a memory's tokens; coefficients have defaults.

INSERT INTO recall.token_signs (tenant, memory_id, model, signs)
SELECT m.tenant, m.id, 'hash-4', '{x0f,xf0}' FROM recall.memory m ORDER BY m.tenant, m.id LIMIT 1;
