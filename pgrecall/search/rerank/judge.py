"""A language model as a reranker: it says how far each memory applies to the query and its conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Annotated, Self

from pydantic import Field, create_model

from pgrecall.errors import RerankerError
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.nouns.search.plan import Need
from pgrecall.search.conversations import quoted_turns
from pgrecall.search.language_model import Answer, LanguageModel
from pgrecall.search.needs import NEEDS
from pgrecall.search.rerank.batching import MAX_PAIRS, BatchingRules, Scorer, rerank_in_batches
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale

MAX_APPLICABILITY = 0.95
"""Applicabilities count as at most this and at least 1 minus this. A text that talks the model into its
highest score therefore gains at most the weight of the reranker times logit(.95) = 2.94 log-odds over one of
which the model thinks nothing: 1.18 with the default weight of .4."""

_BATCH = 25
_CHARACTERS = 800

_TASK = (
    "You select memories for an assistant. For each memory, judge how far it applies to the query, as the "
    "conversation makes it understood: 1 if the answer needs it, 0.5 if it may help, 0 if it has nothing to "
    "do with it. A memory applies too if it is a preference, an obligation or an event that should change "
    "the answer, even without a word of the query. Give the number of every memory once, with its "
    "applicability."
)


class _Judged(Answer):
    memory: int
    applicability: Annotated[float, Field(ge=0, le=1)]


class _Judgement(Answer):
    memories: list[_Judged]


@cache
def _judgement_of(count: int) -> type[_Judgement]:
    """The form of a judgement of so many memories: a small model leaves some out, or does not end.

    Where a server does not hold it to the schema, the error says how many it judged.
    """
    memories = Annotated[list[_Judged], Field(json_schema_extra={"minItems": count, "maxItems": count})]
    return create_model("_Judgement", __base__=_Judgement, memories=(memories, ...))


class LanguageModelJudge:
    """Reranks by the applicability that a language model gives each memory, 0 to 1.

    It reads the first ``pairs`` candidates, 25 in one question, the first 800 characters of each. The model
    belongs to the judge, which closes it.
    """

    scale: Scale = "probability"

    def __init__(self, model: LanguageModel, *, pairs: int = MAX_PAIRS) -> None:
        self._model = model
        self._rules = BatchingRules(
            f"llm {model.name}", self.scale, pairs=pairs, group=_BATCH, characters=_CHARACTERS
        )
        self._turns: tuple[ConversationTurn, ...] = ()
        self._task = _TASK

    def __repr__(self) -> str:
        return f"LanguageModelJudge({self._model!r})"

    @property
    def name(self) -> str:
        return self._rules.name

    def in_conversation(self, turns: Sequence[ConversationTurn], needs: Sequence[Need] = ()) -> Self:
        """The same judge, who also knows the turns before the query, and what it needs."""
        judge = copy(self)
        judge._turns = tuple(turns)
        judge._task = " ".join([_TASK, *(NEEDS[need].judge for need in needs)])
        return judge

    def close(self) -> None:
        """Closes the connections of the model."""
        self._model.close()

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        until = None if deadline is None else time.monotonic() + deadline

        def prepare() -> Scorer:
            return Scorer(lambda query, texts: self._judged(query, texts, until), _BATCH)

        return rerank_in_batches(self._rules, prepare, query, candidates, top_n=top_n, deadline=deadline)

    def _judged(self, query: str, texts: Sequence[str], until: float | None) -> list[float]:
        """The applicability of each text, in their order."""
        memories = [(f"memory {number}", text) for number, text in enumerate(texts, start=1)]
        quoted = [*quoted_turns(self._turns), ("query", query), *memories]
        judged = self._model.ask(_judgement_of(len(texts)), self._task, quoted, until).memories
        if sorted(one.memory for one in judged) != list(range(1, len(texts) + 1)):
            raise RerankerError(
                f"The language model {self._model.name} judged {len(judged)} memories of {len(texts)}, or "
                f"did not number them 1 to {len(texts)}.",
                hint="Choose a larger PGRECALL_LLM_MODEL, or lower PGRECALL_RERANKER_PAIRS.",
            )
        return [
            min(max(one.applicability, 1 - MAX_APPLICABILITY), MAX_APPLICABILITY)
            for one in sorted(judged, key=lambda one: one.memory)
        ]
