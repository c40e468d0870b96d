"""The jobs that embed: what came in from plain SQL, and everything after the model has changed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgrecall.encoding import Vector
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.jobs.steps import JobFlow, Progress, Task
from pgrecall.operations.jobs import Unembedded, begin_reembedding, store_embeddings, unembedded
from pgrecall.search.embed.embedder import embedding_text
from pgrecall.workflows import Embed, Step

BATCH = 64
"""Texts embedded and stored at a time."""

_PROBE = "Does the embedder answer?"


@dataclass(slots=True)
class _Pass:
    """One walk over the memories by id; ``refused`` are those the embedder would not take, and why."""

    stored: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


def embed(task: Task) -> JobFlow:
    """Embeds the memories that have no vector yet."""
    walked = yield from _walk(task, _name(task), None)
    _complain(walked)


def reembed(task: Task) -> JobFlow:
    """Makes the configured embedder that of the database and replaces every vector of another one."""
    model = _name(task)
    vectors = yield Embed((_PROBE,))
    if isinstance(vectors, EmbedderError):
        raise vectors
    yield begin_reembedding(model, len(vectors[0]))
    walked = yield from _walk(task, model, model)
    while walked.stored:  # a writer may have stored with the old one while this walked past
        walked = yield from _walk(task, model, model)
    _complain(walked)


def _walk(task: Task, model: str, unlike: str | None) -> Generator[Step | Progress, Any, _Pass]:
    walked = _Pass()
    after = 0
    while batch := (yield unembedded(after, task.rows(BATCH), unlike)):
        after = batch[-1].id
        made = yield from _vectors(batch, walked)
        stored = (yield store_embeddings(made, model)) if made else 0
        walked.stored += stored
        yield Progress(stored, {"embedded": stored})
    return walked


def _vectors(
    batch: Sequence[Unembedded], walked: _Pass
) -> Generator[Step | Progress, Any, list[tuple[Unembedded, Vector]]]:
    """The vectors of a batch; where it fails as a whole, of those texts that the embedder takes alone."""
    answer = yield Embed(tuple(_text(memory) for memory in batch))
    if not isinstance(answer, EmbedderError):
        return list(zip(batch, answer, strict=True))
    if isinstance((yield Embed((_PROBE,))), EmbedderError):
        raise answer  # it fails on any text: one text at a time would only take longer
    made: list[tuple[Unembedded, Vector]] = []
    for memory in batch:
        alone = yield Embed((_text(memory),))
        if isinstance(alone, EmbedderError):
            walked.refused.append((memory.id, alone.message))
        else:
            made.append((memory, alone[0]))
    return made


def _complain(walked: _Pass) -> None:
    if walked.refused:
        first, reason = walked.refused[0]
        raise InvalidInput(
            f"{len(walked.refused)} memories could not be embedded; the first is memory {first}: {reason}",
            hint="Shorten or split their texts.",
        )


def _name(task: Task) -> str:
    if task.embedder is None:
        raise InvalidInput("There is no embedder to embed with.", hint="Configure one: PGRECALL_EMBEDDER.")
    return task.embedder


def _text(memory: Unembedded) -> str:
    return embedding_text(memory.title, memory.body)
