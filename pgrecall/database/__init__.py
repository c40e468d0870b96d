"""How pgrecall speaks to Postgres: connections, a tenant for every transaction, errors made ours.

Every operation runs in its own transaction, in which ``recall.tenant`` is set first; psycopg's
errors leave this package only as :mod:`pgrecall.errors`.

server        what a server is and has, and whether it will do
translation   psycopg's errors as ours
connections   single connections, and how long one waits for an answer
transactions  what every transaction begins with and what may become of it
pool          connections for threads
async_pool    connections for tasks of an event loop
"""
