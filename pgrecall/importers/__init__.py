"""Importers: they read files and yield drafts and problems.

They use no database, clock or environment. Texts are streamed; only names and keys are kept in memory.
"""
