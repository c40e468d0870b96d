"""What a driver has at hand for steps that need no Postgres; the one place that knows how to answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from pgrecall.errors import EmbedderError
from pgrecall.search.embed.embedder import Embedder, Vectors, try_embed
from pgrecall.search.rerank.reranker import Reranker, try_rerank
from pgrecall.search.rerank.scores import RerankOutcome
from pgrecall.workflows.base import Aside, Embed, LocalStep, Rerank


@dataclass(frozen=True, slots=True)
class Tools:
    """The models at hand; threads may share them."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None

    def answer(self, step: LocalStep) -> Any:
        """What a step is answered with. It may take long: an event loop has a thread do it."""
        match step:
            case Embed():
                return self._vectors(step.texts)
            case Rerank():
                return self._reread(step)
            case Aside():
                return step.work()
            case _:
                assert_never(step)

    def _vectors(self, texts: tuple[str, ...]) -> Vectors | EmbedderError:
        assert self.embedder is not None
        return try_embed(self.embedder, texts)

    def _reread(self, step: Rerank) -> RerankOutcome:
        assert self.reranker is not None
        return try_rerank(
            self.reranker, step.query, step.candidates, top_n=step.top_n, deadline=step.deadline
        )
