-- Objects of the router that every node has. Citus repeats these statements in the cells. Run once, at the first
-- installation.

CREATE SCHEMA recall_router;

-- The key of a cell. It is a separate type, so that the name of a tenant has to be cast to it. Citus does that when it looks
-- for the node of a call, and the cast asks the directory.
CREATE TYPE recall_router.key AS (number int);

-- This table never has a row. Its shards say which node a key belongs to. Every cell has the key of a shard on its node.
CREATE TABLE recall_router.place (key recall_router.key PRIMARY KEY);
SELECT create_distributed_table('recall_router.place', 'key', shard_count := 64, colocate_with := 'none');

GRANT USAGE ON SCHEMA recall_router TO PUBLIC;
