"""Cells: several databases that share out the tenants of one installation.

Each cell is a whole pgrecall database. The directory, schema ``recall_cells`` in one small database, says in
which cell a tenant lives; ``recall.resident`` in each cell says it once more, and refuses everybody else.

addresses   addresses of cells, without user and password
directory   the directory: places of tenants, cells, bindings, moves
routes      where tenants live, from the directory and cached; what the client asks
statements  the SQL files of this package
cell        one cell, as an administrator sees it
fleet       all cells together: listing and draining them, their tenants
joining     a database becomes a cell, or is one no more
checking    whether cells are as they should be
fleet_roles login roles of tenants, bound in every cell
copying     a tenant's rows on their way from cell to cell, by logical replication
comparing   the copy compared with what was copied
rights      what moving needs of a role and a server
move        moving a tenant
balance     which moves would even out cells
router      one connection string for all cells, by Citus
"""
