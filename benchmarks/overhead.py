"""The time that the client and the HTTP service add to the SQL call of a search.

    python -m benchmarks.overhead [--memories 5000] [--rounds 200] [--json]

Fills a new database with memories and asks the same questions in three ways in turn: the SQL call alone on an
open connection, ``Memory.search``, and a POST to `pgrecall serve` over one connection. There is no reranker,
and the hash embedder computes each vector once, so no time of a model is included. Figures are medians; CPU
is that of the client's process. Then an ``AsyncMemory`` with a pool of 8 gets 200 queries at once.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import cycle, islice
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row
from rich.console import Console

from benchmarks.harness import Goal, Row, fresh_database, interleaved, show, surroundings
from pgrecall import AsyncMemory, Memory
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.memories.models import Draft
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import search_and_log
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings, load_settings

DIMENSIONS = 384
WORDS = 2000
QUESTIONS = 50
CLIENT, SERVICE, ALL = Goal(1.3), Goal(2.0), Goal(1.0, least=True)
CPU = 2.0
"""Milliseconds of Python allowed for a search."""

AT_ONCE, POOL = 200, 8


def rows(server: str, memories: int, rounds: int) -> list[Row]:
    """The rows, for a database with so many memories on the server of this URL."""
    chosen = argparse.Namespace(memories=memories, rounds=rounds)
    return run(chosen, Console(stderr=True, quiet=True), load_settings(database_url=server))[0]


def run(chosen: argparse.Namespace, screen: Console, where: Settings) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and the surroundings of the measurement."""
    with fresh_database(where, DIMENSIONS) as url:
        settings = Settings(database_url=url, embedder="hash", embedder_dimensions=DIMENSIONS)
        with (
            Memory(settings=settings, embedder=_Remembering(DIMENSIONS)) as memory,
            psycopg.connect(url, autocommit=True) as connection,
        ):
            with screen.status("Filling the database"):
                questions = _filled(memory, chosen.memories)
                connection.execute("VACUUM ANALYZE")
            around = surroundings(connection)
            with screen.status("Searching"), _service(url) as ask:
                by_sql, by_client = _by_sql(connection, questions), _by_client(memory, questions)
                bare, client, service = interleaved([by_sql, by_client, ask(questions)], chosen.rounds)
                spent = _worked(by_client, chosen.rounds)
            with screen.status("Searching at once"):
                answered = asyncio.run(_at_once(settings, questions))
    rows = [
        Row("Memory.search", "the SQL call", client * 1e3, bare * 1e3, "ms", CLIENT),
        Row("CPU of Memory.search", f"{CPU:g} ms", spent * 1e3, CPU, "ms", Goal(1.0)),
        Row("POST /v1/search", "Memory.search", service * 1e3, client * 1e3, "ms", SERVICE),
        Row(f"answers of AsyncMemory, pool of {POOL}", "searches at once", answered, AT_ONCE, "", ALL),
    ]
    return rows, around


class _Remembering(HashEmbedder):
    """Caches vectors, so that the client is measured and not the embedder."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self._known: dict[str, list[float]] = {}

    def _embed_one(self, text: str) -> list[float]:
        if text not in self._known:
            self._known[text] = super()._embed_one(text)
        return self._known[text]


def _worked(action: Callable[[], object], rounds: int) -> float:
    """The median CPU time, in seconds, of an action in this process."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        action()
        spent.append(time.process_time() - began)
    return median(spent)


async def _at_once(settings: Settings, questions: Sequence[str]) -> int:
    """How many of 200 concurrent searches are answered."""
    async with AsyncMemory(settings=replace(settings, pool_size=POOL)) as memory:
        asked = [memory.search(question) for question in islice(cycle(questions), AT_ONCE)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    return sum(not isinstance(answer, BaseException) and bool(answer.hits) for answer in answers)


def _filled(memory: Memory, count: int) -> list[str]:
    """Stores memories of words that are rare and common as in a language; returns questions about them."""
    dice = random.Random(7)
    words = [f"{dice.choice('bdfgklmnprst')}{dice.choice('aeiou')}{number:x}" for number in range(WORDS)]
    weights = [1 / (place + 1) for place in range(WORDS)]
    texts = [" ".join(dice.choices(words, weights, k=40)) for _ in range(count)]
    for start in range(0, count, 500):
        memory.remember_many([Draft(text) for text in texts[start : start + 500]])
    memory.maintenance.refresh_statistics()
    return [" ".join(dice.sample(dice.choice(texts).split(), 5)) for _ in range(QUESTIONS)]


def _by_sql(connection: psycopg.Connection[Any], questions: Sequence[str]) -> Callable[[], object]:
    """The statement alone, with what it needs made beforehand."""
    embedder = HashEmbedder(DIMENSIONS)
    connection.execute("SELECT set_config('recall.tenant', 'default', false)")
    connection.execute("SET synchronous_commit = off")  # as the client sets it for a search
    asked = [
        search_and_log(SearchRequest(question), [Embedded(list(embedder.embed([question])[0]))])
        for question in questions
    ]
    turns = cycle(asked)
    cursor = connection.cursor(row_factory=dict_row)

    def search() -> object:
        operation = next(turns)
        return cursor.execute(operation.sql, {**operation.parameters, "tenant": "default"}).fetchall()

    return search


def _by_client(memory: Memory, questions: Sequence[str]) -> Callable[[], object]:
    turns = cycle(questions)
    return lambda: memory.search(next(turns))


@contextmanager
def _service(url: str) -> Iterator[Callable[[Sequence[str]], Callable[[], object]]]:
    """A service as a process of its own, asked over one connection."""
    environment = os.environ | {
        "PGRECALL_DATABASE_URL": url,
        "PGRECALL_EMBEDDER": "hash",
        "PGRECALL_EMBEDDER_DIMENSIONS": str(DIMENSIONS),
        "PGRECALL_ALLOW_SUPERUSER": "1",
    }
    command = [
        sys.executable,
        "-c",
        "from pgrecall.faces.cli.main import main; main()",
        "serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().strip())
            with closing(
                http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
            ) as connection:
                yield lambda questions: _by_http(connection, questions)
        finally:
            process.terminate()


def _by_http(connection: http.client.HTTPConnection, questions: Sequence[str]) -> Callable[[], object]:
    turns = cycle(questions)

    def search() -> object:
        body = json.dumps({"query": next(turns)})
        connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return json.loads(answer.read())

    return search


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=200, help="searches in each way")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    if chosen.memories < 100 or chosen.rounds < 1:
        parser.error("at least 100 memories and 1 round")
    rows, around = run(chosen, Console(stderr=True), load_settings())
    sizes = {"memories": chosen.memories, "rounds": chosen.rounds}
    show(rows, sizes, around, as_json=chosen.json)


if __name__ == "__main__":
    main()
