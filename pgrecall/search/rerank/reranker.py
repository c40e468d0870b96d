"""The interface of rerankers, their choice by the settings, and a reranker that calls a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, assert_never, runtime_checkable

from pgrecall.errors import InvalidInput, RecallError, RerankerError
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.nouns.search.plan import Need
from pgrecall.search.deadline import IsCancelled, run_within
from pgrecall.search.foreign_words import in_one_line
from pgrecall.search.rerank.batching import (
    MAX_PAIRS,
    BatchingReranker,
    BatchingRules,
    Scorer,
    require_rerankable,
)
from pgrecall.search.rerank.scores import (
    RerankCandidate,
    RerankOutcome,
    Scale,
    as_logits,
    rank_by_logit,
)
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.search.language_model import LanguageModel

_DEADLINE_FACTOR = 1.1
"""Factor on the deadline, so that a reranker that keeps the deadline itself can still return its result."""


class Reranker(Protocol):
    """Scores candidates for a query; may be shared between threads."""

    @property
    def name(self) -> str:
        """The name of the model. Coefficients fitted for one name are not used for another."""

    @property
    def scale(self) -> Scale:
        """The scale of the model's output. The scores of an outcome are always logits."""

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        """Returns the ``top_n`` best of the candidates, which are in their original order.

        ``deadline`` is in seconds from now: the outcome contains the candidates that were read by then. None
        sets no limit.

        Raises:
            RerankerError: the reranker failed or returned unexpected scores.
        """


@runtime_checkable
class SupportsWarmUp(Protocol):
    """A reranker that can load its model in advance."""

    def warm_up(self) -> None: ...


@runtime_checkable
class SupportsConversation(Protocol):
    """A reranker that can read the turns before a query."""

    def in_conversation(self, turns: Sequence[ConversationTurn], needs: Sequence[Need] = ()) -> Reranker:
        """The same reranker with these turns, oldest first, and what the query needs by its plan."""


def make_reranker(settings: Settings, model: LanguageModel | None = None) -> Reranker | None:
    """Returns the configured reranker; None for ``none``. Loads no model and sends nothing.

    Args:
        settings: the settings.
        model: the language model for ``llm``; None makes the configured one, which the reranker closes.

    Raises:
        InvalidInput: ``http`` or ``llm`` lacks its URL, ``cohere`` or ``llm`` its model; ``onnx`` lacks its
            folder.
        MissingExtra: ``local`` without pgrecall[torch], or ``onnx`` without pgrecall[local].
        RerankerError: the folder of a model lacks a file.
    """
    match settings.reranker:
        case "none":
            return None
        case "local":
            from pgrecall.search.rerank.local import LocalReranker

            return LocalReranker(
                settings.reranker_model,
                pairs=settings.reranker_pairs,
                tokens=settings.reranker_tokens,
                scale=settings.reranker_scale or "logit",
                precision=settings.reranker_precision,
            )
        case "onnx":
            from pgrecall.search.rerank.onnx import OnnxReranker

            return OnnxReranker(
                _required(settings.reranker_model, "onnx", "MODEL"),
                pairs=settings.reranker_pairs,
                tokens=settings.reranker_tokens,
                scale=settings.reranker_scale or "logit",
            )
        case "http":
            from pgrecall.search.rerank.http import HttpReranker

            cohere = settings.reranker_form == "cohere"
            return HttpReranker(
                _required(settings.reranker_url, "http", "URL"),
                _required(settings.reranker_model, "cohere", "MODEL") if cohere else settings.reranker_model,
                form=settings.reranker_form,
                key=settings.reranker_key,
                scale=settings.reranker_scale,
                pairs=settings.reranker_pairs,
            )
        case "llm":
            from pgrecall.search.language_model import make_language_model
            from pgrecall.search.rerank.judge import LanguageModelJudge

            if (model := model or make_language_model(settings)) is None:
                raise InvalidInput(
                    "The llm reranker needs PGRECALL_LLM_URL.",
                    hint="Set it and PGRECALL_LLM_MODEL, or choose another reranker with PGRECALL_RERANKER.",
                )
            return LanguageModelJudge(model, pairs=settings.reranker_pairs)
    assert_never(settings.reranker)


def _required(value: str | None, kind: str, setting: str) -> str:
    if not value:
        raise InvalidInput(
            f"The {kind} reranker needs PGRECALL_RERANKER_{setting}.",
            hint="Set it, or choose another reranker with PGRECALL_RERANKER.",
        )
    return value


def warm_up(reranker: Reranker) -> None:
    """Loads the model of the reranker, so that no search waits for it.

    Raises:
        RerankerError: it cannot be loaded.
    """
    if isinstance(reranker, SupportsWarmUp):
        reranker.warm_up()


def try_rerank(
    reranker: Reranker,
    query: str,
    candidates: Sequence[RerankCandidate],
    *,
    top_n: int,
    deadline: float | None,
) -> RerankOutcome:
    """Reranks; any failure becomes an outcome without scores that has the reason.

    Failures are an error, a missed deadline, and a result that does not match the candidates.

    Raises:
        InvalidInput: ``top_n``, ``deadline`` or the ids are invalid.
    """
    require_rerankable(candidates, top_n, deadline)
    outcomes: list[RerankOutcome] = []

    def work(_: IsCancelled) -> None:
        returned = reranker.rerank(query, candidates, top_n=top_n, deadline=deadline)
        outcomes.append(_checked(returned, reranker.name, candidates, top_n))

    limit = None if deadline is None else _DEADLINE_FACTOR * deadline + 0.01
    try:
        in_time = run_within(limit, work, reranker.name)
    except RecallError as error:
        return RerankOutcome((), False, str(error))
    return (
        outcomes[0] if in_time else RerankOutcome((), False, f"the deadline of {deadline:g} seconds passed")
    )


def _checked(returned: object, name: str, candidates: Sequence[RerankCandidate], top_n: int) -> RerankOutcome:
    """Recomputes the ranks of an outcome; its ids must be those of candidates, each at most once."""
    places = {candidate.id: place for place, candidate in enumerate(candidates)}
    if (
        not isinstance(returned, RerankOutcome)
        or not isinstance(returned.scores, tuple | list)
        or not _scores_each_once(returned, places)
    ):
        raise RerankerError(
            f"The reranker {name} returned something that is not an outcome of its candidates.",
            hint="Return a RerankOutcome that scores each of them at most once.",
        )
    logits = as_logits([score.score for score in returned.scores], len(returned.scores), "logit", name)
    by_place = {places[score.id]: logit for score, logit in zip(returned.scores, logits, strict=True)}
    complete = returned.complete is True
    reason = in_one_line(returned.reason)
    if not complete and not reason:
        reason = f"the reranker {in_one_line(name)} left out texts and does not say why"
    return RerankOutcome(rank_by_logit(candidates, by_place, top_n), complete, reason or None)


def _scores_each_once(outcome: RerankOutcome, places: Mapping[int, int]) -> bool:
    return len({score.id for score in outcome.scores} & places.keys()) == len(outcome.scores)


class CallableReranker(BatchingReranker):
    """A reranker that calls a function of a query and texts, such as a language model as a judge.

    The function gets up to ``batch`` texts and returns one number for each, in their order, on ``scale``. A
    running call is not interrupted at the deadline.

        CallableReranker(lambda query, texts: [len(text) / 100 for text in texts], "length", "logit")

    Raises:
        InvalidInput: the scale or a number is invalid.
    """

    def __init__(
        self,
        function: Callable[[str, Sequence[str]], Sequence[float]],
        name: str,
        scale: Scale,
        *,
        pairs: int = MAX_PAIRS,
        batch: int = MAX_PAIRS,
    ) -> None:
        self._rules = BatchingRules(name, scale, pairs=pairs, group=batch)
        self._model = Scorer(function, batch)

    def __repr__(self) -> str:
        return f"CallableReranker({self.name!r}, {self.scale!r})"

    def _scorer(self) -> Scorer:
        return self._model
