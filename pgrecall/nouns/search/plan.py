"""What a language model makes of a query and its conversation, before the search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pgrecall.nouns.memories.models import Role

Need = Literal["contradiction", "high_stakes"]
Wants = Literal["fact", "list"]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How a language model would search for a query. What the request gives itself comes first.

    Attributes:
        needs: contradiction: replaced and invalid memories are searched too, so that both sides are seen;
            high_stakes: the reranker reads the candidates.
        queries: sub-queries, at most 4, searched together with the query.
        roles: only memories of these roles.
        since, until: only memories of this period.
        wants: fact, or list: then a context prefers memories that differ from each other.
    """

    needs: tuple[Need, ...] = ()
    queries: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    wants: Wants = "fact"

    def __str__(self) -> str:
        parts = {
            "needs": ", ".join(self.needs).replace("_", " "),
            "queries": "; ".join(self.queries),
            "roles": ", ".join(self.roles),
            "since": self.since and f"{self.since:%Y-%m-%d}",
            "until before": self.until and f"{self.until:%Y-%m-%d}",
        }
        return "; ".join([f"a {self.wants}", *(f"{name} {value}" for name, value in parts.items() if value)])

    @property
    def narrows(self) -> bool:
        """Whether it leaves memories out."""
        return bool(self.roles or self.since or self.until)
