-- What the router has on every node: Citus repeats these statements in the cells. Once, at the first installation.

CREATE SCHEMA recall_router;

-- The key of a cell. A type of its own, so that a tenant's name has to be cast to it: Citus does that when it looks for the
-- node of a call, and the cast asks the directory.
CREATE TYPE recall_router.key AS (number int);

-- Never has a row. Its shards say which node a key belongs to, and every cell has the key of a shard that its node holds.
CREATE TABLE recall_router.place (key recall_router.key PRIMARY KEY);
SELECT create_distributed_table('recall_router.place', 'key', shard_count := 64, colocate_with := 'none');

GRANT USAGE ON SCHEMA recall_router TO PUBLIC;
