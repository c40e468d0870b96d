"""Embedders and rerankers that hang, crash or answer garbage: search goes on, nothing wrong is stored."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import EmbedderError
from pgrecall.jobs.runner import Runner
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.embed.http import HttpEmbedder
from pgrecall.search.rerank.http import HttpReranker
from pgrecall.search.rerank.reranker import CallableReranker
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.http_endpoint import Endpoint, Reply

pytestmark = pytest.mark.fault

NAME = f"hash-{DIMENSIONS}"
Answer = Callable[[dict[str, Any]], Reply]


def embeddings(vectors: Sequence[object]) -> Reply:
    data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return Reply(body=json.dumps({"data": data}).encode())


def honest(request: dict[str, Any]) -> Reply:
    """Vectors as the embedder gives them that filled the database."""
    return embeddings(HashEmbedder(DIMENSIONS).embed(request["input"]))


def one_value(value: float) -> Answer:
    return lambda request: embeddings([[value] + [0.1] * (DIMENSIONS - 1)] * len(request["input"]))


WRONG: dict[str, Reply | Answer] = {
    "hangs": Reply(before=600.0),
    "fails": Reply(500, b'{"error": {"message": "out of memory"}}'),
    "is no JSON": Reply(body=b"<html>Bad gateway</html>"),
    "is half a JSON": lambda request: Reply(body=honest(request).body[:100]),
    "is nothing": Reply(body=b""),
    "is an empty list": Reply(body=b'{"data": []}'),
    "has NaN": one_value(math.nan),
    "has infinity": one_value(math.inf),
    "is zero": lambda request: embeddings([[0.0] * DIMENSIONS] * len(request["input"])),
    "has too few dimensions": lambda request: embeddings([[0.1] * 3] * len(request["input"])),
    "has too many vectors": lambda request: embeddings([[0.1] * DIMENSIONS] * (len(request["input"]) + 1)),
    "has text for numbers": lambda request: embeddings([["0.1"] * DIMENSIONS] * len(request["input"])),
}  # fmt: skip


@contextmanager
def opened(url: str, tenant: str, *, embedder: Any, reranker: Any = None) -> Iterator[Memory]:
    settings = Settings(database_url=url, tenant=tenant, embedder="none", reranker_deadline=0.5)
    with Memory(settings=settings, embedder=embedder, reranker=reranker) as memory:
        yield memory


def http(url: str, timeout: float = 60) -> HttpEmbedder:
    return HttpEmbedder(url, NAME, dimensions=DIMENSIONS, timeout=timeout, attempts=1)


def judge_embedder(memory: Memory, url: str, query: Query, heal: Callable[[], None]) -> None:
    """With an embedder that is broken: words answer, nothing is stored, a row of SQL waits for its vector."""
    tenant = memory.tenant
    query("SELECT recall.remember('The harbour opens at six', p_key => 'harbour')", tenant=tenant)
    result = memory.search("when does the harbour open?")
    assert [hit.key for hit in result.hits] == ["harbour"]
    assert [reason.split(":")[0] for reason in result.skipped] == ["meaning"]
    assert memory.embedder is not None
    with pytest.raises(EmbedderError) as caught:
        memory.remember("The ferry leaves at nine", key="ferry")
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    [failed] = memory.jobs.run("embed")
    assert failed.state == "failed"
    assert failed.error
    held = "SELECT key, embedded_with IS NULL AS waits FROM recall.memory WHERE tenant = %s"
    assert query(held, (tenant,), tenant=tenant) == [{"key": "harbour", "waits": True}]
    sound(url, tenant)
    heal()
    assert memory.remember("The ferry leaves at nine", key="ferry").outcome == "created"
    [mended] = memory.jobs.run("embed")
    assert (mended.state, mended.counts) == ("done", {"embedded": 1})
    assert memory.search("when does the harbour open?").skipped == ()
    sound(url, tenant)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed runs of a job are not tried three times: what is wrong here stays wrong."""
    monkeypatch.setattr("pgrecall.jobs.runner.Runner", partial(Runner, pauses=()))


@pytest.fixture
def committed(shared_url: str) -> Iterator[Query]:
    """Statements that are committed in the database all these tests share, each with a tenant of its own."""
    import psycopg
    from psycopg.rows import dict_row

    from tests.databases import runner

    with psycopg.connect(shared_url, row_factory=dict_row, autocommit=True) as connection:
        yield runner(connection)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("wrong", WRONG)
def test_an_embedder_whose_answer(
    wrong: str, endpoint: Endpoint, shared_url: str, committed: Query, inject: Inject
) -> None:
    endpoint.replies = [WRONG[wrong]]

    def heal() -> None:
        endpoint.replies = [honest]

    inject("a broken embedder over HTTP")
    timeout = 3 if wrong == "hangs" else 60
    with http(endpoint.url, timeout) as embedder, opened(shared_url, wrong, embedder=embedder) as memory:
        judge_embedder(memory, shared_url, committed, heal)


class Own:
    """An embedder of one's own, in this process."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self, embed: Callable[[Sequence[str]], Any]) -> None:
        self.embed = embed


def crash(_: Sequence[str]) -> Any:
    raise RuntimeError("CUDA error: an illegal memory access\nwas encountered")


OWN: dict[str, Callable[[Sequence[str]], Any]] = {
    "crashes": crash,
    "gives nothing": lambda _: None,
    "gives NaN": lambda texts: [[math.nan] * DIMENSIONS for _ in texts],
    "gives zeros": lambda texts: [[0.0] * DIMENSIONS for _ in texts],
    "gives too few": lambda texts: [[0.1] * DIMENSIONS for _ in texts[1:]],
    "gives other dimensions": lambda texts: [[0.1] * (DIMENSIONS // 2) for _ in texts],
    "gives words": lambda texts: [["a"] * DIMENSIONS for _ in texts],
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("wrong", OWN)
def test_an_embedder_of_ones_own_that(wrong: str, shared_url: str, committed: Query, inject: Inject) -> None:
    own = Own(OWN[wrong])

    def heal() -> None:
        own.embed = HashEmbedder(DIMENSIONS).embed

    inject("a broken embedder in the process")
    with opened(shared_url, wrong, embedder=own) as memory:
        judge_embedder(memory, shared_url, committed, heal)


def test_a_task_leaves_an_embedder_that_hangs(shared_url: str, inject: Inject) -> None:
    free = threading.Event()

    async def use() -> None:
        own = Own(lambda _: free.wait() and [])
        settings = Settings(database_url=shared_url, tenant="hanging", embedder="none")
        async with AsyncMemory(settings=settings, embedder=own) as memory:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await memory.search("harbour")
            assert (await memory.status()).memories == 0
            free.set()

    asyncio.run(use())
    inject("a broken embedder in the process")


@contextmanager
def endless() -> Iterator[str]:
    """An endpoint whose answer never ends, as fast as it is read."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with suppress(OSError), client:
                        client.recv(65536)
                        client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                        while True:
                            client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_an_answer_without_end_is_not_read_to_its_end(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, inject: Inject
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with endless() as url, http(url) as embedder:
        with opened(shared_url, "endless", embedder=embedder) as memory:
            with pytest.raises(EmbedderError, match="more than 1,179,648 bytes"):
                memory.remember("The ferry leaves at nine")
            assert "bytes" in memory.search("ferry").skipped[0]
        with HttpReranker(url, "m", timeout=30, attempts=1) as reranker:
            rereading(shared_url, "endless rereading", reranker)
    inject("an answer without end", 3)


SCORES: dict[str, Reply | Answer] = {
    "hangs": Reply(before=600.0),
    "fails": Reply(503, b"{}", headers={"Retry-After": "0"}),
    "is no JSON": Reply(body=b"<html>"),
    "is half a JSON": Reply(body=b'{"results": [{"index": 0, "relev'),
    "has NaN": Reply(body=b'{"results": [{"index": 0, "relevance_score": NaN}]}'),
    "has infinity": Reply(body=b'{"results": [{"index": 0, "relevance_score": 1e999}]}'),
    "has another index": Reply(body=b'{"results": [{"index": 7, "relevance_score": 0.5}]}'),
    "is a list": Reply(body=b"[]"),
}


def rereading(url: str, tenant: str, reranker: Any) -> None:
    """With a reranker that is broken: the fused order, the reason, and no wait beyond its deadline."""
    with opened(url, tenant, embedder=HashEmbedder(DIMENSIONS), reranker=reranker) as memory:
        memory.remember("The harbour opens at six", key="harbour")
        result = memory.search("when does the harbour open?", rerank=True)
        assert [hit.key for hit in result.hits] == ["harbour"]
        assert not result.reranked
        assert [reason.split(":")[0] for reason in result.skipped] == ["reranking"]
    sound(url, tenant)


@pytest.mark.parametrize("wrong", SCORES)
def test_a_reranker_whose_answer(wrong: str, endpoint: Endpoint, shared_url: str, inject: Inject) -> None:
    endpoint.replies = [SCORES[wrong]]
    inject("a broken reranker over HTTP")
    with HttpReranker(endpoint.url, "m", timeout=0.4, attempts=1) as reranker:
        rereading(shared_url, f"reranker {wrong}", reranker)


def test_a_reranker_of_ones_own_that_hangs_or_crashes(shared_url: str, inject: Inject) -> None:
    free = threading.Event()
    ways: dict[str, Callable[[str, Sequence[str]], Any]] = {
        "own hangs": lambda _, texts: free.wait() and [0.0] * len(texts),
        "own crashes": lambda _, texts: crash(texts),
        "own NaN": lambda _, texts: [math.nan] * len(texts),
    }
    for name, way in ways.items():
        inject("a broken reranker in the process")
        rereading(shared_url, name, CallableReranker(way, name, "logit"))
    free.set()
