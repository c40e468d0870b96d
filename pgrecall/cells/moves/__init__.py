"""Moving a tenant from one cell to another, while clients use it.

move          the steps of a move, each of which can be repeated after a failure
copying       copying the rows by logical replication
comparing     comparing both ends, before writers are stopped and after
changed_rows  rows that change at the source during the copy
log_messages  the messages of the log that report them
rights        the rights and settings that a move needs
balance       moves that would make cells equally large
"""
