"""The examples in a database of their own, asked as often as a test wants; and floors for the answers."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, cast

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.examples.answers import Answer, quality
from benchmarks.examples.judged import CORPORA, Judged, ask, fill, read_judged
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import Embedder
from pgrecall.settings import Settings
from tests.databases import alone, dropped

DIMENSIONS = 384

BY_CORPUS = frozenset({"handbook", "diary-de", "diary-es", "diary-ja", "diary-zh"})
"""Corpora with floors of their own; those of the others are by kind."""

APPLIES = frozenset(name for name in CORPORA if name.startswith("applies-"))
"""Chats of which most answers share no word with the query. No search is held to them yet."""

BY_KIND = frozenset(CORPORA) - BY_CORPUS - APPLIES

Floors = Mapping[str, tuple[float, float, float]]
"""The least recall@5, recall@10 and mean reciprocal rank of each kind or corpus."""


class Examples:
    """Each corpus of examples/ as a tenant, with a client each."""

    def __init__(self, clients: Mapping[str, Memory]) -> None:
        self.clients = clients
        self.judged = tuple(one for one in read_judged() if one.corpus in clients)

    def kind(self, kind: str) -> tuple[Judged, ...]:
        return tuple(one for one in self.judged if one.kind == kind)

    def ask(self, judged: Sequence[Judged], **more: Any) -> list[Answer]:
        return [ask(self.clients[one.corpus], one, **more) for one in judged]


@contextmanager
def database(server: EmbeddedServer) -> Iterator[str]:
    """A database for embeddings of MiniLM's size; dropped afterwards."""
    name = f"test_quality_{uuid.uuid4().hex[:12]}"
    url = make_conninfo(server.url, dbname=name)
    with psycopg.connect(server.url, autocommit=True) as admin:
        alone(admin, f"CREATE DATABASE {name}")
        try:
            migrate.upgrade(url, dimensions=DIMENSIONS)
            yield url
        finally:
            dropped(admin, name)


@contextmanager
def examples(
    server: EmbeddedServer, embedder: Embedder | None, corpora: Collection[str] = BY_KIND
) -> Iterator[Examples]:
    """The corpora of these names, imported with this embedder; dropped afterwards."""
    settings = Settings(embedder="local" if embedder else "none")
    with database(server) as url, ExitStack() as stack:
        clients = {}
        for corpus in corpora:
            memory = Memory(url, tenant=corpus, settings=settings, embedder=embedder)
            clients[corpus] = stack.enter_context(memory)
            fill(memory, corpus)
        yield Examples(clients)


def without(judged: Sequence[Judged], option: str) -> list[Judged]:
    """The same questions, asked without an option."""
    return [
        replace(one, options=cast(SearchOptions, {k: v for k, v in one.options.items() if k != option}))
        for one in judged
    ]


def assert_floor(answers: Sequence[Answer], floor: tuple[float, float, float]) -> None:
    found = quality(answers)
    reached = (found.recall_5, found.recall_10, found.mrr)
    assert all(got >= least for got, least in zip(reached, floor, strict=True)), found
