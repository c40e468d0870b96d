"""What a language model makes of a query and its conversation, before the search, and what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pgrecall.nouns.memories.models import Role

Need = Literal[
    "ambiguity",
    "contradiction",
    "follow_up_failure",
    "loop",
    "high_stakes",
    "mode_shift",
    "frustration",
    "sensitive_context",
    "under_specified",
]
Wants = Literal["fact", "list"]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How a language model would search for a query. What the request gives itself comes first.

    Attributes:
        needs: what the query needs beyond an answer; their effects are in one table,
            ``pgrecall.search.needs.NEEDS``.
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


@dataclass(frozen=True, slots=True)
class ModelUse:
    """How much a search used the language model, for its plan and its reranker.

    Attributes:
        calls: how many questions it was asked.
        tokens_read: tokens of the questions, as the model counts them; 0 where it does not say.
        tokens_written: tokens of its answers.
        seconds: how long it took in all.
    """

    calls: int
    tokens_read: int
    tokens_written: int
    seconds: float

    def __str__(self) -> str:
        calls = "once" if self.calls == 1 else f"{self.calls} times"
        tokens = f"{self.tokens_read:,} tokens read, {self.tokens_written:,} written"
        return f"asked {calls}, {self.seconds:.1f} s, {tokens}"


def sum_of_uses(uses: Sequence[ModelUse]) -> ModelUse | None:
    """All of these uses; None without any."""
    if not uses:
        return None
    return ModelUse(
        sum(use.calls for use in uses),
        sum(use.tokens_read for use in uses),
        sum(use.tokens_written for use in uses),
        sum(use.seconds for use in uses),
    )
