-- Who would live here if there were other cells; nothing asks while there are none.

INSERT INTO recall.resident (tenant, state, cell) VALUES ('acme', 'here', NULL), ('elsewhere', 'gone', 3);
