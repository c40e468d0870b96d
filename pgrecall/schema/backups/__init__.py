"""Backups of a whole database of memories, in pg_dump's custom format, which pg_restore reads too.

programs   pg_dump and pg_restore: which ones fit a server, and running them
making     one backup, which appears under its name when it is complete
script     a dump run as SQL over a connection of our own
restoring  a backup becomes the memories of a database, all of it or nothing
folder     backups under names of their own, of which the newest are kept
"""
