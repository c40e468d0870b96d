"""Memories as a block of text for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Unpack

from pgrecall import workflows
from pgrecall.client.driver import Driver
from pgrecall.models.context import ContextRequest
from pgrecall.models.search import SearchRequest

if TYPE_CHECKING:
    from pgrecall.arguments import SearchOptions
    from pgrecall.models.context import ContextBlock, Order

CANDIDATES = 50
"""From how many memories a block is chosen where k is not given."""


class Composing(Driver):
    """What to put into a prompt."""

    def context(
        self,
        query: str = "",
        *,
        budget_tokens: int = 2000,
        per_layer: Mapping[str, int] | None = None,
        order: Order = "score",
        mmr_lambda: float = 0.8,
        duplicate_at: float = 0.92,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[SearchOptions],
    ) -> ContextBlock:
        """The memories that answer a question as one text for an agent's prompt, within a budget of tokens.

        A memory is shown whole or left out, with the reason; near-duplicates and what a newer memory
        replaces are shown once. What is in the block, and nothing else, is logged as shown. The fields are
        those of :class:`ContextRequest`; the options are those of :meth:`Memory.search`, where ``k`` (50,
        at most 200) is from how many memories the block is chosen.

        >>> block = memory.context("when is the contract signed?", budget_tokens=500)  # doctest: +SKIP
        >>> prompt = f"{block.text}\\n\\nUser: when is the contract signed?"            # doctest: +SKIP

        Raises:
            InvalidInput: the budget, a quota, a weight or the order cannot be, a layer is unknown, the token
                counter gave no count, or the search was refused.
        """
        options.setdefault("k", CANDIDATES)
        options.setdefault("explain", False)
        options.setdefault("session_id", self.session_id)
        request = ContextRequest(
            budget_tokens, dict(per_layer or {}), order, mmr_lambda, duplicate_at, count_tokens
        )
        question = SearchRequest(query, **options)
        return self._drive(workflows.context(question, request, self._abilities))
