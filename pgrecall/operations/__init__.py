"""Every call of the database as a value: one SQL statement, its parameters, and how to read its rows.

No I/O happens here; the client and the jobs execute these values. The modules are named as the groups of the
client are.
"""
