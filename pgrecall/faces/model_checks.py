"""Checks of the models of an installation: the embedder, the reranker and the language model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Protocol, runtime_checkable

from pgrecall.errors import RecallError
from pgrecall.faces.doctor import Finding, failed
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.language_model import Answer, make_language_model
from pgrecall.search.rerank.reranker import make_reranker, warm_up
from pgrecall.settings import Settings


def check_embedder(settings: Settings, dimensions: int | None, known: str | None) -> Iterator[Finding]:
    """Checks that the embedder answers and fits the database.

    Args:
        settings: settings of the command; they name the embedder.
        dimensions: dimensions of the embeddings in the database; None without a database.
        known: name of the embedder that made them; None if there are none.
    """
    try:
        embedder = make_embedder(settings)
        if embedder is None:
            yield Finding(
                "embedder", "warn", "No embedder is configured: search uses words and names, not meaning.",
                "export PGRECALL_EMBEDDER=local",
            )  # fmt: skip
            return
        with _closed_after(embedder):
            [vector] = embedder.embed(("Check that the embedder answers.",))
    except RecallError as error:
        yield failed("embedder", error)
        return
    if dimensions not in (None, len(vector)):
        yield Finding(
            "embedder", "fail",
            f"{embedder.name} gives {len(vector)} dimensions, this database has {dimensions}.",
            "configure the embedder that made them, or use another database (docs/howto/models.md)",
        )  # fmt: skip
    elif known not in (None, embedder.name):
        yield Finding(
            "embedder", "fail", f"Embeddings are from {known}, the configured embedder is {embedder.name}.",
            f"configure {known}, or: pgrecall jobs run reembed",
        )  # fmt: skip
    else:
        yield Finding("embedder", "ok", f"{embedder.name} answers with {len(vector)} dimensions.")


def check_reranker(settings: Settings) -> Finding:
    """Checks that the configured reranker loads."""
    try:
        reranker = make_reranker(settings)
        if reranker is None:
            return Finding("reranker", "ok", "No reranker is configured; hits keep their order.")
        with _closed_after(reranker):
            warm_up(reranker)
    except RecallError as error:
        return failed("reranker", error)
    return Finding("reranker", "ok", f"{reranker.name} is ready.")


def check_language_model(settings: Settings) -> Finding:
    """Asks the configured language model, and says what searches send to it."""
    try:
        model = make_language_model(settings)
        if model is None:
            return Finding("llm", "ok", "No language model is configured; no search asks one.")
        with closing(model):
            model.ask(Answer, "Answer with an empty object.", ())
    except RecallError as error:
        return failed("llm", error)
    return Finding(
        "llm", "ok", f"{model.name} at {model.shown} answers. With --plan it is sent the query and its "
        "conversation, as reranker (llm) also the memories that were found.",
    )  # fmt: skip


def _closed_after(model: object) -> AbstractContextManager[object]:
    """Closes the connections of a model, if it has any."""
    return closing(model) if isinstance(model, _Closable) else nullcontext()


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...
