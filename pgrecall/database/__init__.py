"""Connections to Postgres, transactions for a tenant, and translated errors.

Every operation runs in its own transaction, which sets ``recall.tenant`` first. Errors of psycopg are
translated to :mod:`pgrecall.errors`.

server             version and extensions of a server
error_translation  errors of psycopg as those of pgrecall
connections        connections with deadlines
statements         limits and opening statements that both pools share
session            single connections that hold locks
pooler             detection of connection poolers
pool               connections for threads
async_pool         connections for tasks of an event loop
cancelling         tasks that end properly when they are cancelled
log_positions      positions of a primary and a standby in the log
calling_interface  the interface that a call comes through
"""
