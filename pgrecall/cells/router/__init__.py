"""The router: one connection string for all cells, on a coordinator with Citus whose workers are the cells.

The coordinator is the database of the directory. In its schema ``recall_router`` there is a wrapper for every
function that a cell declares, with the tenant as its first argument; Citus sends a call of it whole to the
cell where the directory has the tenant.

wrappers     declared functions of a cell, read from its catalogue, and their wrappers as SQL
coordinator  the database of the router: what it holds, and transactions in it
nodes        cells as nodes of Citus, each with a shard by which calls find it
installing   makes a coordinator route, and brings it up to this version
access       which login roles may use the router
checking     whether a coordinator is as it should be
"""

from pgrecall.cells.statements import named_statements

STATEMENTS = named_statements("router/statements.sql")
"""The SQL statements of this package, by name."""
