"""pgrecall from Python: ``Memory`` and ``AsyncMemory``. Groups of methods are in ``pgrecall.nouns``.

Code that awaits is written once, in ``_async``; ``scripts/generate_sync.py`` generates ``_sync`` from it.
Modules outside of these two packages never await and are imported by both.

_async/memory        ``AsyncMemory``: search, context, accesses, feedback, status
_async/client        opening and closing, views for a tenant or a session, groups of methods
_async/connection    SQL operations of one tenant, and the models
_async/replica       a standby that answers searches; reads has those of one search
_async/tenant_finder the cell of a tenant; databases has those that are open
_sync                the same without await, generated
resources            settings, models, and the database that was found
concurrency          threads, locks and sleep, for each of the two
freshness, outages   how recent a replica must be; which cells do not answer
nameless_queries     tenants whose next query is embedded without a lookup of names
"""
