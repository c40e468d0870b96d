"""Tenants whose last query had no name: their next query is embedded without a lookup of names."""

from __future__ import annotations

from collections.abc import Sequence

MAX_TENANTS = 10_000
"""Maximum number of tenants to remember; more displace the oldest."""


class NamelessQueries:
    """Remembers for each tenant whether the last query contained a name.

    Threads and tasks share it: every change is one operation of a dict.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, None] = {}

    def note(self, tenant: str, *, named: bool) -> None:
        """Notes whether a query of the tenant contained a name."""
        if named:
            self._tenants.pop(tenant, None)
        elif tenant not in self._tenants:
            self._tenants[tenant] = None
            while len(self._tenants) > MAX_TENANTS:
                self._tenants.pop(next(iter(self._tenants), tenant), None)

    def queries(self, tenant: str, asked: Sequence[str]) -> list[str] | None:
        """The texts to embed if these queries contain no name, as SQL would return them.

        None if names have to be looked up first: the last query had one, or these contain white space that
        SQL and Python may not agree on.
        """
        if not asked or tenant not in self._tenants:
            return None
        if any(letter.isspace() and letter != " " for query in asked for letter in query):
            return None
        return [" ".join(query.split()) for query in asked]
