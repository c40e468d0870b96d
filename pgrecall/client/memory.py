"""``Memory``: everything pgrecall does, in one class."""

from __future__ import annotations

from pgrecall.client.composing import Composing
from pgrecall.client.jobs import Working
from pgrecall.client.keeping import Keeping
from pgrecall.client.pruning import Pruning
from pgrecall.client.remembering import Remembering
from pgrecall.client.searching import Searching
from pgrecall.client.tuning import Tuning
from pgrecall.client.using import Using


class Memory(Remembering, Using, Searching, Composing, Keeping, Working, Pruning, Tuning):
    """One tenant's memory.

    >>> with Memory() as memory:                                   # doctest: +SKIP
    ...     memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     for hit in memory.search("when is the contract signed?").hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    Without a database URL (argument or ``PGRECALL_DATABASE_URL``) an embedded Postgres is started
    and its schema kept current; another server is used as it is, once ``pgrecall init`` has run.

    Args:
        url: libpq connection string of the database.
        tenant: whose memories these are; transactions of this client see no others.
        settings: everything else; read from the environment when absent.
        embedder: replaces the one that ``settings`` describe.

    Raises:
        DatabaseUnavailable, DatabaseUnsuitable, SchemaMismatch: the database cannot be used.
    """
