"""Cells: several databases among which the tenants of one installation are divided.

Each cell is a whole pgrecall database. The directory, schema ``recall_cells`` in one small database, records
in which cell a tenant lives. The table ``recall.resident`` in each cell records it too: a cell refuses all
other tenants.

addresses   addresses of cells, without user and password
directory   the directory: places of tenants, cells, bindings, moves
routes      where tenants live, from the directory and cached; what the client asks
statements  the SQL files of this package
cell        one cell, as an administrator sees it
fleet       all cells together: listing and draining them, their tenants and login roles
joining     making a database a cell, and a single database again
checking    whether cells are as they should be
moves       moving a tenant from cell to cell
router      one connection string for all cells, by Citus
"""
