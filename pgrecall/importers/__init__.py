"""Importers: they read files and yield drafts and problems.

They use no database, clock or environment. Texts are streamed; names and keys are kept in memory, and of
programs that write a message twice or change it later, the turns of one session.
"""
