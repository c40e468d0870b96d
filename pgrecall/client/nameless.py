"""Tenants whose last question named nothing: their next one is embedded without a lookup of names."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 10_000
"""Tenants to remember; beyond, the one first remembered is forgotten."""


class NamelessQuestions:
    """Remembers for each tenant whether the last question contained a name.

    Threads and tasks share it: every change is one operation of a dict.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, None] = {}

    def note(self, tenant: str, *, named: bool) -> None:
        """Notes whether a question of the tenant contained a name."""
        if named:
            self._tenants.pop(tenant, None)
        elif tenant not in self._tenants:
            self._tenants[tenant] = None
            while len(self._tenants) > MOST:
                self._tenants.pop(next(iter(self._tenants), tenant), None)

    def questions(self, tenant: str, asked: Sequence[str]) -> list[str] | None:
        """The texts to embed if these questions contain no name, as SQL would return them.

        None if names have to be looked up first: the last question had one, or these contain white space that
        SQL and Python may not agree on.
        """
        if not asked or tenant not in self._tenants:
            return None
        if any(letter.isspace() and letter != " " for question in asked for letter in question):
            return None
        return [" ".join(question.split()) for question in asked]
