"""Readers of other people's memory: files in, a stream of drafts and problems out.

Nothing here touches a database, a clock or the environment. Texts are streamed; only the names and
keys of a source are held.
"""
