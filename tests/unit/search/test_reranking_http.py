"""The HTTP reranker against a real local server, in Cohere's form and in TEI's."""

from __future__ import annotations

import json
import logging
import math
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search import http_endpoint as endpoints
from pgrecall.search.rerank.http import Form, HttpReranker
from pgrecall.search.rerank.reranker import make_reranker, try_rerank
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale
from pgrecall.settings import Settings
from tests.http_endpoint import Endpoint, Reply
from tests.unit.search.deadlines import not_before
from tests.waiting import PATIENCE

KEY = "sk-very-secret-0123456789"
THREE = [RerankCandidate(7, "one"), RerankCandidate(8, "three"), RerankCandidate(9, "seventeen")]


def cohere(items: Any) -> bytes:
    return json.dumps({"id": "abc", "results": items, "meta": {"api_version": {"version": "2"}}}).encode()


def honest(request: dict[str, Any]) -> Reply:
    """Longer texts are better, and the best come first, as real servers answer."""
    texts = request.get("documents") or request["texts"]
    raw = request.get("raw_scores", False)
    scores = [float(len(text)) if raw else 1 - 1 / (1 + len(text)) for text in texts]
    order = sorted(range(len(texts)), key=lambda place: -scores[place])
    if "documents" in request:
        return Reply(body=cohere([{"index": i, "relevance_score": scores[i]} for i in order]))
    return Reply(body=json.dumps([{"index": i, "score": scores[i]} for i in order]).encode())


@pytest.fixture(params=["cohere", "tei"])
def form(request: pytest.FixtureRequest) -> Form:
    chosen: Form = request.param
    return chosen


@pytest.fixture
def reranker(endpoint: Endpoint, form: Form) -> Iterator[HttpReranker]:
    with HttpReranker(endpoint.url, "m", form=form, key=SecretStr(KEY), timeout=60, attempts=2) as made:
        yield made


def failure(reranker: HttpReranker, deadline: float | None = None) -> str:
    with pytest.raises(RerankerError) as caught:
        reranker.rerank("q", THREE, top_n=3, deadline=deadline)
    assert type(caught.value) is RerankerError
    assert caught.value.hint, "no way out is given"
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert KEY not in sentence + repr(caught.value) + repr(caught.value.__cause__)
    return sentence


def ids(outcome: RerankOutcome) -> list[int]:
    return [score.id for score in outcome.scores]


def test_the_answer_is_put_in_order_and_on_the_logit_scale(reranker: HttpReranker, form: Form) -> None:
    outcome = reranker.rerank("q", THREE, top_n=2, deadline=60)
    assert ids(outcome) == [9, 8]
    assert [score.original_rank for score in outcome.scores] == [3, 2]
    expected = {"cohere": math.log(9), "tei": 9.0}[form]
    assert outcome.scores[0].score == pytest.approx(expected)


def test_what_is_sent_to_cohere(endpoint: Endpoint) -> None:
    with HttpReranker(endpoint.url, "rerank-v3.5", key=SecretStr(KEY)) as reranker:
        reranker.rerank("who?", THREE, top_n=1)
    assert endpoint.requests == [
        {"model": "rerank-v3.5", "query": "who?", "documents": ["one", "three", "seventeen"], "top_n": 3}
    ]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("scale", "raw"), [(None, True), ("logit", True), ("probability", False)])
def test_tei_is_asked_for_the_scale_declared(endpoint: Endpoint, scale: Scale | None, raw: bool) -> None:
    with HttpReranker(endpoint.url, form="tei", scale=scale) as reranker:
        outcome = reranker.rerank("who?", THREE, top_n=3)
    assert endpoint.requests == [
        {"query": "who?", "texts": ["one", "three", "seventeen"], "raw_scores": raw, "truncate": True}
    ]
    assert "Authorization" not in endpoint.headers[0]
    assert outcome.scores[0].score == pytest.approx(9.0 if raw else math.log(9))


def test_the_first_version_of_cohere_may_send_the_documents_back(endpoint: Endpoint) -> None:
    items = [
        {"index": 0, "relevance_score": 0.5, "document": {"text": "one"}},
        {"index": 2, "relevance_score": 1, "document": {"text": "seventeen"}},
        {"index": 1, "relevance_score": 0.25, "document": {"text": "three"}},
    ]
    endpoint.replies = [Reply(body=cohere(items))]
    with HttpReranker(endpoint.url + "/v1", "m") as reranker:
        assert ids(reranker.rerank("q", THREE, top_n=3)) == [9, 7, 8]
    assert endpoint.paths == ["/v1/rerank"]


@pytest.mark.parametrize(
    ("form", "path", "asked"),
    [
        ("cohere", "", "/v2/rerank"),
        ("cohere", "/", "/v2/rerank"),
        ("cohere", "/v2/", "/v2/rerank"),
        ("cohere", "/v1", "/v1/rerank"),
        ("cohere", "/proxy", "/proxy/v2/rerank"),
        ("cohere", "/rerank", "/rerank"),
        ("cohere", "/models/x/rerank?api-version=2", "/models/x/rerank?api-version=2"),
        ("tei", "", "/rerank"),
        ("tei", "/tei/", "/tei/rerank"),
        ("tei", "/rerank", "/rerank"),
    ],
)
def test_addresses(endpoint: Endpoint, form: Form, path: str, asked: str) -> None:
    with HttpReranker(endpoint.url + path, "m", form=form) as reranker:
        reranker.rerank("q", THREE, top_n=1)
    assert endpoint.paths == [asked]


def test_cohere_is_asked_once_and_tei_for_no_more_texts_than_it_takes(endpoint: Endpoint) -> None:
    many = [RerankCandidate(place, "x" * place) for place in range(60)]
    with HttpReranker(endpoint.url, "m") as reranker:
        outcome = reranker.rerank("q", many, top_n=60)
    assert ids(outcome) == list(range(49, -1, -1))
    with HttpReranker(endpoint.url, form="tei") as reranker:
        assert ids(reranker.rerank("q", many, top_n=60)) == ids(outcome)
    assert [len(request.get("documents", request.get("texts"))) for request in endpoint.requests] == [
        50,
        25,
        25,
    ]


def test_nothing_to_rerank_asks_nothing(endpoint: Endpoint, reranker: HttpReranker) -> None:
    assert reranker.rerank("q", [], top_n=3) == RerankOutcome()
    assert endpoint.requests == []


def test_any_text_can_be_sent(endpoint: Endpoint, reranker: HttpReranker) -> None:
    reranker.rerank("naïve 日本 🙂 \x00", [RerankCandidate(1, "half \ud83d")], top_n=1)
    assert endpoint.requests[0]["query"] == "naïve 日本 🙂 \x00"
    assert (endpoint.requests[0].get("documents") or endpoint.requests[0]["texts"]) == ["half ?"]


# What may pass


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_what_may_pass_is_tried_again(endpoint: Endpoint, reranker: HttpReranker, status: int) -> None:
    endpoint.replies = [Reply(status, headers={"Retry-After": "0"}), honest]
    assert reranker.rerank("q", THREE, top_n=3, deadline=60).complete
    assert len(endpoint.requests) == 2


def test_a_server_that_keeps_failing_is_given_up(endpoint: Endpoint, reranker: HttpReranker) -> None:
    endpoint.replies = [
        Reply(503, b'{"message": "model is\\nloading", "code": 1}', headers={"Retry-After": "0"})
    ]
    sentence = failure(reranker)
    assert "tried 2 times: its server failed (503): model is loading." in sentence
    assert len(endpoint.requests) == 2


def test_a_wait_beyond_the_deadline_is_not_begun(endpoint: Endpoint, reranker: HttpReranker) -> None:
    endpoint.replies = [Reply(429, headers={"Retry-After": "30"})]
    assert "tried once: too many requests (429)." in failure(reranker, deadline=25)
    assert len(endpoint.requests) == 1


@pytest.fixture
def no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request itself does not end soon after the deadline, while the caller's thread may be held up."""
    monkeypatch.setattr(endpoints, "_LATER", PATIENCE)


@pytest.mark.usefixtures("no_timeout")
def test_a_slow_answer_ends_at_the_deadline(endpoint: Endpoint, reranker: HttpReranker) -> None:
    endpoint.replies = [Reply(before=600.0), honest]
    outcome = try_rerank(reranker, "q", THREE, top_n=3, deadline=0.3)
    assert (outcome.scores, outcome.complete) == ((), False)
    assert "0.3 seconds" in (outcome.reason or "")


@pytest.mark.usefixtures("no_timeout")
def test_the_answer_that_came_by_the_deadline_is_kept(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_before(monkeypatch, lambda _: len(endpoint.requests) == 2)
    many = [RerankCandidate(place, "x" * (place + 1)) for place in range(40)]
    endpoint.replies = [honest, Reply(before=600.0)]
    with HttpReranker(endpoint.url, form="tei") as reranker:
        outcome = reranker.rerank("q", many, top_n=50, deadline=0.3)
    assert ids(outcome) == list(range(24, -1, -1))
    assert not outcome.complete


def test_a_slow_answer_times_out_without_a_deadline(endpoint: Endpoint, form: Form) -> None:
    endpoint.replies = [Reply(before=600.0), honest]
    with HttpReranker(endpoint.url, "m", form=form, timeout=0.3, attempts=1) as reranker:
        sentence = failure(reranker)
    assert "0.3 seconds" in sentence
    assert "PGRECALL_RERANKER_DEADLINE" in sentence


def test_a_refused_connection_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:  # bound but not listening: nobody can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with HttpReranker(url, "m", attempts=1) as reranker:
            sentence = failure(reranker)
    assert url in sentence
    assert "PGRECALL_RERANKER_URL" in sentence


# What does not pass


@pytest.mark.parametrize("status", [400, 404, 413, 422, 301])
def test_a_refused_request_is_not_tried_again(
    endpoint: Endpoint, reranker: HttpReranker, status: int
) -> None:
    endpoint.replies = [Reply(status, b'{"error": "no such model"}', headers={"Location": "/elsewhere"})]
    sentence = failure(reranker)
    assert f"refused the request ({status}): no such model." in sentence
    assert "PGRECALL_RERANKER_FORM" in sentence
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_but_not_shown(
    endpoint: Endpoint, reranker: HttpReranker, status: int
) -> None:
    endpoint.replies = [Reply(status, json.dumps({"message": f"bad key {KEY[:10]}..."}).encode())]
    sentence = failure(reranker)
    assert "refused the key" in sentence
    assert "PGRECALL_RERANKER_KEY" in sentence
    assert KEY[:10] not in sentence


def test_a_missing_key_is_reported(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(401)]
    with HttpReranker(endpoint.url, "m") as reranker:
        assert "wants a key" in failure(reranker)


def test_the_key_never_shows(
    endpoint: Endpoint, reranker: HttpReranker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.replies = [Reply(400, json.dumps({"error": {"message": f"header was Bearer {KEY}!"}}).encode())]
    assert "Bearer ***!" in failure(reranker)
    assert KEY not in repr(reranker) + repr(vars(reranker)) + caplog.text


def test_a_login_or_a_query_in_the_address_never_shows(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.replies = [Reply(400)]
    with HttpReranker(endpoint.url.replace("//", f"//me:{KEY}@"), "m") as reranker:
        failure(reranker)
        assert KEY not in repr(reranker) + caplog.text
    assert endpoint.headers[0]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("key", ["two words", "naïve", "line\nbreak", "nul\x00"])
def test_a_key_that_no_header_carries_is_refused_unseen(key: str) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_RERANKER_KEY") as caught:
        HttpReranker("http://localhost", "m", key=SecretStr(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"{",
        b"\xff\xfe\xfd",
        b"[" * 100_000,
        b"null",
        b"7",
        b'{"results": null}',
        b'{"results": [1]}',
        b"[[0, 0.5]]",
        b'[{"index": 0}]',
        b'{"results": [{"index": 0}]}',
        b'[{"index": "0", "score": 1}]',
        b'{"results": [{"index": true, "relevance_score": 1}]}',
        b'{"data": [{"index": 0, "embedding": [1]}]}',
    ],
)
def test_garbage_is_no_list_of_scores(endpoint: Endpoint, reranker: HttpReranker, body: bytes) -> None:
    endpoint.replies = [Reply(body=body)]
    sentence = failure(reranker)
    assert "answered with something other than scores" in sentence
    assert "PGRECALL_RERANKER_URL speaks the form" in sentence
    assert len(endpoint.requests) == 1


def replied(form: Form, items: list[tuple[int, Any]]) -> Reply:
    if form == "cohere":
        return Reply(body=cohere([{"index": i, "relevance_score": score} for i, score in items]))
    return Reply(body=json.dumps([{"index": i, "score": score} for i, score in items]).encode())


@pytest.mark.parametrize("indexes", [[], [0], [0, 1, 2, 3], [0, 1, 1], [0, 1, 3], [-1, 0, 1]])
def test_wrong_indexes_are_reported(
    endpoint: Endpoint, reranker: HttpReranker, form: Form, indexes: list[int]
) -> None:
    endpoint.replies = [replied(form, [(index, 0.5) for index in indexes])]
    assert f"returned {len(indexes)} scores for 3 texts, or did not number them 0 to 2" in failure(reranker)


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, None, "1", True, [1.0]])
def test_scores_must_be_finite_numbers(
    endpoint: Endpoint, reranker: HttpReranker, form: Form, value: object
) -> None:
    endpoint.replies = [replied(form, [(0, 0.5), (1, value), (2, 0.5)])]
    assert "not a finite number" in failure(reranker)


def test_a_logit_declared_as_a_probability_is_reported(endpoint: Endpoint) -> None:
    endpoint.replies = [replied("cohere", [(0, 0.5), (1, 4.5), (2, 0.5)])]
    with HttpReranker(endpoint.url, "m") as reranker:
        assert "PGRECALL_RERANKER_SCALE" in failure(reranker)


def test_a_closed_reranker_says_so(reranker: HttpReranker) -> None:
    reranker.close()
    assert "is closed" in failure(reranker)


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://x", "http://", "http://x\x00"])
def test_bad_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_RERANKER_URL"):
        HttpReranker(url, "m")


@pytest.mark.parametrize("options", [{"pairs": 0}, {"attempts": 0}, {"timeout": 0}, {"timeout": math.nan}])
def test_bad_numbers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        HttpReranker("http://localhost", "m", **options)


def test_an_unknown_form_is_refused() -> None:
    unknown: Any = "xml"
    with pytest.raises(InvalidInput, match="'xml'"):
        HttpReranker("http://localhost", "m", form=unknown)


def test_threads_share_a_reranker(endpoint: Endpoint, reranker: HttpReranker) -> None:
    outcomes: list[RerankOutcome] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(reranker.rerank("q", THREE, top_n=3, deadline=60)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_settings_make_one(endpoint: Endpoint, form: Form) -> None:
    made = make_reranker(
        Settings(
            reranker="http",
            reranker_url=endpoint.url,
            reranker_model="the-model",
            reranker_form=form,
            reranker_key=SecretStr(KEY),
            reranker_pairs=2,
        )
    )
    assert isinstance(made, HttpReranker)
    assert made.name == "the-model"
    assert made.scale == {"cohere": "probability", "tei": "logit"}[form]
    assert ids(made.rerank("q", THREE, top_n=3)) == [8, 7]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    made.close()
