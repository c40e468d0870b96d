"""The HTTP reranker, for servers with the API of Cohere (``/v2/rerank``) or TEI (``/rerank``)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal, assert_never, get_args

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.endpoint_limits import MORE_BYTES
from pgrecall.search.http_endpoint import Endpoint, ErrorWording
from pgrecall.search.http_service import HttpService, address_of
from pgrecall.search.rerank.batching import (
    MAX_PAIRS,
    BatchingRules,
    Scorer,
    require_positive,
    rerank_in_batches,
)
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale
from pgrecall.setting_types import Secret

Form = Literal["cohere", "tei"]

_PREFIX = "PGRECALL_RERANKER"
_WORDING = ErrorWording(
    noun="reranker",
    prefix=_PREFIX,
    error=RerankerError,
    slow=f"Raise {_PREFIX}_DEADLINE or lower {_PREFIX}_PAIRS.",
    refused=f"Check {_PREFIX}_URL, {_PREFIX}_FORM and {_PREFIX}_MODEL.",
)
# TEI refuses more than 32 texts per request by default.
_TEI_BATCH = 25
_COHERE_BATCH = 1_000


class HttpReranker(HttpService):
    """Reranks over HTTP. It keeps connections until ``close()``, and threads may share it.

    ``form`` cohere posts ``{"model", "query", "documents", "top_n"}`` and reads ``results`` of
    ``index`` and ``relevance_score``, as in version 2 of Cohere's API and in the version 1 of other servers.
    ``tei`` posts ``{"query", "texts", "raw_scores", "truncate"}`` and reads a list of ``index`` and
    ``score``. ``url`` is a base URL or a full URL that ends in ``/rerank``. ``scale`` None is probability for
    cohere and logit for tei, which returns the declared scale. Lost connections, timeouts, 429 and 5xx are
    retried while the deadline allows it.

        with HttpReranker("http://localhost:8080", form="tei") as reranker:
            reranker.rerank("who signs?", [RerankCandidate(1, "Mira signs on Friday")], top_n=1)

    Raises:
        InvalidInput: the URL, the key or a number is invalid.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        *,
        form: Form = "cohere",
        key: Secret | None = None,
        scale: Scale | None = None,
        pairs: int = MAX_PAIRS,
        timeout: float = 30.0,
        attempts: int = 3,
    ) -> None:
        if form not in get_args(Form):
            raise InvalidInput(f"The form {form!r} is unknown.", hint="Give cohere or tei.")
        self._form: Form = form
        self._model = model
        self._batch = min(require_positive("pairs", pairs), _COHERE_BATCH if form == "cohere" else _TEI_BATCH)
        declared: Scale = scale or ("probability" if form == "cohere" else "logit")
        self.name = model or form
        self._rules = BatchingRules(self.name, declared, pairs=pairs, group=self._batch)
        address = address_of(url, _PREFIX, "/rerank", "" if form == "tei" else "/v2")
        self._endpoint = Endpoint(address, _WORDING, key=key, timeout=timeout, attempts=attempts)

    @property
    def scale(self) -> Scale:
        return self._rules.scale

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        until = None if deadline is None else time.monotonic() + deadline

        def prepare() -> Scorer:
            return Scorer(lambda query, texts: self._ask(query, texts, until), self._batch)

        return rerank_in_batches(self._rules, prepare, query, candidates, top_n=top_n, deadline=deadline)

    def _ask(self, query: str, texts: Sequence[str], until: float | None) -> list[object]:
        """Returns the scores as received, one for each text in their order; the values are not validated."""
        # Some send the texts back, and an escape in JSON may take six bytes for one character.
        limit = MORE_BYTES + 1_000 * len(texts) + 6 * sum(map(len, texts))
        answer = self._endpoint.post(self._body(query, texts), until, texts=len(texts), answer_bytes=limit)
        items, named = _items(answer, self._form)
        if items is None:
            raise RerankerError(
                f"The reranker at {self._endpoint.shown} answered with something other than scores.",
                hint=f"Check that {_PREFIX}_URL speaks the form {self._form}.",
            )
        if sorted(item["index"] for item in items) != list(range(len(texts))):
            raise RerankerError(
                f"The reranker at {self._endpoint.shown} returned {len(items)} scores for {len(texts)} "
                f"texts, or did not number them 0 to {len(texts) - 1}.",
                hint=f"Check that it answers for every text, or lower {_PREFIX}_PAIRS.",
            )
        return [item[named] for item in sorted(items, key=lambda item: item["index"])]

    def _body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        model = {"model": self._model} if self._model else {}
        match self._form:
            case "cohere":
                return {**model, "query": query, "documents": list(texts), "top_n": len(texts)}
            case "tei":
                raw = self.scale == "logit"
                return {"query": query, "texts": list(texts), "raw_scores": raw, "truncate": True}
        assert_never(self._form)


def _items(answer: Any, form: Form) -> tuple[list[dict[str, Any]] | None, str]:
    """Returns the items of an answer and the name of their score; None if the answer has another form."""
    match form:
        case "cohere":
            items, named = answer.get("results") if isinstance(answer, dict) else None, "relevance_score"
        case "tei":
            items, named = answer, "score"
    if not isinstance(items, list) or not all(_is_score(item, named) for item in items):
        return None, named
    return items, named


def _is_score(item: object, named: str) -> bool:
    return isinstance(item, dict) and type(item.get("index")) is int and named in item
