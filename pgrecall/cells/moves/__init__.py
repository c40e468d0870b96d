"""Moving a tenant from one cell to another, while clients use it.

move          the steps of a move, each of which can be repeated after a failure
copying       the rows on their way, by logical replication
comparing     the copy compared with what was copied, before writers are stopped and after
changed_rows  rows that changed at the source meanwhile
log_messages  the messages of the log in which these are
rights        what moving needs of a role and a server
balance       which moves would even out cells
"""
