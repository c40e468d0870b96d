"""Cells: several databases that share out the tenants of one installation.

Each cell is a whole pgrecall database. The directory, schema ``recall_cells`` in one small database, says in
which cell a tenant lives; ``recall.resident`` in each cell says it once more, and refuses everybody else.

addresses   addresses of cells, without user and password
directory   the directory: places of tenants, cells, bindings, moves
routes      where tenants live, from the directory and cached; what the client asks
statements  the SQL files of this package
cell        one cell, as an administrator sees it
fleet       all cells together: listing and draining them, their tenants and login roles
joining     a database becomes a cell, or is one no more
checking    whether cells are as they should be
moves       moving a tenant from cell to cell
router      one connection string for all cells, by Citus
"""
