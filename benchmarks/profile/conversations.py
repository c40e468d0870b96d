"""Data for a profile: conversations of two speakers with vectors, token signs, sessions and links.

No model is needed: words follow Zipf's law, a vector is near that of its topic, and most signs of a token
follow from its word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import psycopg

from benchmarks.speed.bulk_copy import Connect, copy_rows, copy_vectors, vector_rows
from pgrecall.nouns.embedding import Embedded
from pgrecall.search.embed.embedder import QUESTION_TOKENS, TEXT_TOKENS

TENANT = "profile"
MODEL = "profile-384"
DIMENSIONS = 384
TURNS = 20
"""Memories of a session; each is linked with the next."""
NOW = datetime(2026, 6, 1, tzinfo=UTC)

_VOCABULARY, _TOPICS, _SPEAKERS = 20_000, 500, ("Nadia", "Oskar")
_BLOCK = 5_000
_MEMORY = {
    "tenant": "text", "id": "int8", "layer": "text", "title": "text", "body": "text", "author": "text",
    "session_id": "text", "created_at": "timestamptz", "updated_at": "timestamptz", "embedded_with": "text",
}  # fmt: skip
_SIGNS = "COPY recall.token_signs (tenant, memory_id, model, signs) FROM STDIN"
_LINK = {"tenant": "text", "src": "int8", "dst": "int8", "relation": "text"}
_ACTIVATIONS = """
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, t2, folded_until, decay, clock)
SELECT m.tenant, m.id, CASE WHEN m.id % 3 = 0 THEN 2 ELSE 1 END, recall_private.epoch(m.created_at),
       recall_private.epoch(m.created_at) + CASE WHEN m.id % 3 = 0 THEN 86400 ELSE 0 END,
       CASE WHEN m.id % 3 = 0 THEN recall_private.epoch(m.created_at) END, m.created_at, l.decay, l.clock
FROM recall.memory m JOIN recall_private.effective_layers(m.tenant) l ON l.name = m.layer
"""


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question, with what an embedder would make of them."""

    text: str
    embedded: Embedded


class Conversations:
    """So many turns; the same for the same number."""

    def __init__(self, memories: int) -> None:
        self._memories = memories
        self._dice = np.random.default_rng(7)
        self._words = [_word(number) for number in range(_VOCABULARY)]
        weights = 1 / np.arange(3, _VOCABULARY + 3)
        self._often = np.cumsum(weights / weights.sum())
        self._centres = _unit(self._dice.standard_normal((_TOPICS, DIMENSIONS)))
        self._tokens = self._dice.integers(0, 2, (_VOCABULARY, DIMENSIONS), dtype=np.uint8)

    def fill(self, url: str) -> list[Question]:
        """Fills an initialised database; returns questions about some of its memories."""
        asked: list[Question] = []
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
            connection.execute("SELECT recall_private.require_embedder(%s)", (MODEL,))
            connection.execute("SET session_replication_role = replica")  # rows refer to later ones
            for first in range(1, self._memories + 1, _BLOCK):
                ids = np.arange(first, min(first + _BLOCK, self._memories + 1))
                asked += self._store(connection, ids)
            connection.execute(_ACTIVATIONS)
            connection.execute("RESET session_replication_role")
            connection.execute("ANALYZE")
            connection.execute(
                "SELECT recall.move_vectors_to_own_table(), recall.refresh_statistics(%s)", (NOW,)
            )
        self._dice.shuffle(asked)
        return asked

    def _store(self, connection: Connect, ids: npt.NDArray[np.int64]) -> Iterator[Question]:
        lengths = self._dice.integers(8, 45, len(ids))
        texts = [np.searchsorted(self._often, self._dice.random(length)) for length in lengths]
        topics = self._centres[(ids // TURNS) % _TOPICS]
        vectors = _unit(topics + 0.06 * self._dice.standard_normal(topics.shape)).astype(np.float32)
        copy_rows(
            connection,
            "recall.memory",
            _MEMORY,
            (self._memory(*one) for one in zip(ids.tolist(), texts, strict=True)),
        )
        copy_vectors(connection, vector_rows(TENANT, ids, vectors))
        with connection.cursor().copy(_SIGNS) as copy:
            for id_, text in zip(ids.tolist(), texts, strict=True):
                signs = ",".join(self._bits(word) for word in text[:TEXT_TOKENS])
                copy.write_row((TENANT, id_, MODEL, f"{{{signs}}}"))
        copy_rows(
            connection, "recall.link", _LINK,
            ((TENANT, id_, id_ + 1, "next") for id_ in ids.tolist() if id_ % TURNS and id_ < self._memories),
        )  # fmt: skip
        for place in range(0, len(ids), 50):
            yield self._question(texts[place], vectors[place])

    def _memory(self, id_: int, text: npt.NDArray[np.int64]) -> tuple[object, ...]:
        entity = id_ % 500 == 0
        at = NOW - timedelta(minutes=10 * (self._memories - id_ + 1))
        title = (
            f"{self._words[id_ % 9000].title()} {self._words[id_ // 500 % 9000].title()}" if entity else ""
        )
        return (
            TENANT, id_, "entity" if entity else "episodic", title, self._said(text), _SPEAKERS[id_ % 2],
            f"session {id_ // TURNS}", at, at, MODEL,
        )  # fmt: skip

    def _question(self, text: npt.NDArray[np.int64], vector: npt.NDArray[np.float32]) -> Question:
        chosen = self._dice.choice(text, min(6, len(text)), replace=False)
        near = _unit(vector + 0.06 * self._dice.standard_normal(DIMENSIONS))
        signs = tuple(np.packbits(self._tokens[word]).tobytes() for word in chosen[:QUESTION_TOKENS])
        return Question(
            f"What did {_SPEAKERS[0]} say about {self._said(chosen)}?", Embedded(near.tolist(), signs)
        )

    def _said(self, text: npt.NDArray[np.int64]) -> str:
        return " ".join(self._words[word] for word in text)

    def _bits(self, word: int) -> str:
        """The signs of a word, an eighth of them changed by its surroundings."""
        changed = self._dice.random(DIMENSIONS) < 0.125
        return "".join(map(str, self._tokens[word] ^ changed))


def _word(number: int) -> str:
    """A word of no language, different for each number."""
    syllables: list[str] = []
    while number or len(syllables) < 2:
        number, syllable = divmod(number, 70)
        syllables.append("bdfgklmnprstvw"[syllable // 5] + "aeiou"[syllable % 5])
    return "".join(syllables) + "x"


def _unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
