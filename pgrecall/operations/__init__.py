"""Database calls as values: one SQL statement, its parameters, and a function that reads its rows.

The client and the jobs execute them; there is no I/O here. The modules are named after the groups of the
client.
"""
