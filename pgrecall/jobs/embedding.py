"""The jobs that embed memories: those stored by plain SQL, and all after a change of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.jobs.job import JobContext
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.jobs.operations import (
    Unembedded,
    begin_reembedding,
    count_unembedded,
    store_embeddings,
    unembedded,
)
from pgrecall.search.embed.embedder import TokenEmbedder

BATCH = 64
"""Number of texts to embed and store together; fewer if they are long."""

CHARACTERS = 2_000_000
"""Characters of the texts of a batch, as in an import; each thousand may become a vector."""

_PROBE = "Check that the embedder answers."


@dataclass(slots=True)
class _Pass:
    """One pass over the memories by id; ``refused`` are those that the embedder refused, with the reasons."""

    stored: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


def embed(context: JobContext) -> None:
    """Embeds the memories that have no vector yet, then those that lack token signs or passages."""
    model = context.embedder.name
    context.expect(context.execute(count_unembedded(None)))
    last = _pass(context, model, None)
    if isinstance(context.embedder, TokenEmbedder):
        context.expect(context.execute(count_unembedded(model, tokens=True)))
        last.refused += _pass(context, model, model, tokens=True).refused
    context.expect(context.execute(count_unembedded(model, passages=True)))
    last.refused += _pass(context, model, model, passages=True).refused
    _require_all_embedded(last)


def reembed(context: JobContext) -> None:
    """Makes the configured embedder that of the database and replaces every vector of another one."""
    model = context.embedder.name
    [probe] = context.embed([_PROBE])
    context.execute(begin_reembedding(model, len(probe.vector)))
    context.expect(context.execute(count_unembedded(model)))
    last = _pass(context, model, model)
    while last.stored:  # a writer may have stored vectors of the old one in between
        last = _pass(context, model, model)
    _require_all_embedded(last)


def _pass(
    context: JobContext, model: str, unlike: str | None, *, tokens: bool = False, passages: bool = False
) -> _Pass:
    """Embeds memories and stores their vectors, batch by batch: those without a vector; with ``unlike``,
    those whose vector is of another embedder; or those that lack ``tokens`` or ``passages``."""
    result = _Pass()
    after = 0
    while batch := context.execute(
        unembedded(after, context.rows(BATCH), unlike, tokens=tokens, passages=passages)
    ):
        after = batch[-1].id
        for portion in _portions(batch):
            made = _vectors(context, portion, result)
            stored = context.execute(store_embeddings(made, model)) if made else 0
            result.stored += stored
            context.report(stored, embedded=stored)
    return result


def _portions(batch: Sequence[Unembedded]) -> Iterator[list[Unembedded]]:
    """A batch in its order, a new portion after each so many characters."""
    portion: list[Unembedded] = []
    characters = 0
    for memory in batch:
        portion.append(memory)
        characters += len(memory.body)
        if characters >= CHARACTERS:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def _vectors(
    context: JobContext, batch: Sequence[Unembedded], result: _Pass
) -> list[tuple[Unembedded, Embedded]]:
    """The vectors of a batch. If it fails as a whole, each text is embedded separately."""
    try:
        return list(zip(batch, context.embed_memories([_text(memory) for memory in batch]), strict=True))
    except EmbedderError as error:
        try:
            context.embed([_PROBE])
        except EmbedderError:
            raise error from None  # it fails on any text: one text at a time would only take longer
    made: list[tuple[Unembedded, Embedded]] = []
    for memory in batch:
        try:
            [embedded] = context.embed_memories([_text(memory)])
        except EmbedderError as error:
            result.refused.append((memory.id, error.message))
        else:
            made.append((memory, embedded))
    return made


def _require_all_embedded(last: _Pass) -> None:
    if last.refused:
        first, reason = last.refused[0]
        raise InvalidInput(
            f"{len(last.refused)} memories could not be embedded; the first is memory {first}: {reason}",
            hint="Shorten or split their texts.",
        )


def _text(memory: Unembedded) -> tuple[str, str]:
    return memory.title, memory.body
