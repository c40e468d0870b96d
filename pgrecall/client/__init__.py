"""pgrecall from Python: ``Memory``, ``AsyncMemory`` and their groups of methods. No SQL stands here.

Everything that awaits is written once, in ``_async``; ``scripts/generate_sync.py`` makes ``_sync`` of it.
What never awaits stands beside the two and is imported by both.

_async       the clients, their groups, and everything that takes more than one call
_sync        the same without await, generated
resources    settings, models, and the database that was found
concurrency  what differs between the two beside the keywords: threads, locks, sleep
groups       how a client gets its groups
"""
