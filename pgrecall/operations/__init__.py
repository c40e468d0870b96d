"""Database calls as values: an SQL statement, its parameters, and a function that reads its rows.

The client and the jobs execute them; there is no I/O here. Most modules are named after the groups of the
client.
"""
