"""Borrowed models: the same numbers as one's own, and one's own where the service fails or lies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.lending import service_models
from pgrecall.search.lending.service_client import (
    ModelOffer,
    ModelService,
    ModelServiceError,
    embedder_identity,
    offers_same_embedder,
    read_offer,
    reranker_identity,
)
from pgrecall.search.lending.service_models import ServiceEmbedder, ServiceReranker
from pgrecall.search.rerank.scores import RerankCandidate
from pgrecall.settings import Settings
from tests.http_endpoint import Endpoint, Reply

DIMENSIONS = 64
SETTINGS = Settings(embedder="hash", embedder_dimensions=DIMENSIONS)
OWN = HashEmbedder(DIMENSIONS)
TEXTS = ("the harbour master signs", "é, 漢字 and 😀", "nothing \ud800 readable", "x " * 9_000)
CANDIDATES = [
    RerankCandidate(7, "a lamp"),
    RerankCandidate(8, "the harbour"),
    RerankCandidate(9, "harbour dues"),
]


def said(value: object) -> Reply:
    return Reply(body=json.dumps(value).encode())


def honest(request: dict[str, Any]) -> Reply:
    if "inputs" in request:
        made = OWN.embed_with_tokens(request["inputs"], request["most"])
        return said([{"vector": vector, "tokens": [one.hex() for one in signs]} for vector, signs in made])
    return said([{"index": place, "score": len(text) - 8.0} for place, text in enumerate(request["texts"])])


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint(honest)
    yield endpoint
    endpoint.stop()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def embedder(endpoint: Endpoint, told: list[str]) -> ServiceEmbedder:
    offer = {"name": OWN.name, "dimensions": DIMENSIONS, "identity": embedder_identity(SETTINGS)}
    return ServiceEmbedder(ModelService(endpoint.url, "pgs_secret"), offer, SETTINGS, told.append)


def test_vectors_come_through_to_the_last_bit(
    embedder: ServiceEmbedder, endpoint: Endpoint, told: list[str]
) -> None:
    readable = [text.encode("utf-8", "replace").decode() for text in TEXTS]
    assert embedder.embed(TEXTS) == OWN.embed(readable)
    assert embedder.embed(["one"] * 130) == OWN.embed(["one"]) * 130
    assert [len(request["inputs"]) for request in endpoint.requests] == [len(TEXTS), 64, 64, 2]
    assert {headers["Authorization"] for headers in endpoint.headers} == {"Bearer pgs_secret"}
    assert (told, embedder.embed([])) == ([], [])


@pytest.mark.parametrize(
    ("lie", "clause"),
    [
        (lambda _: said([{"vector": [0.5] * (DIMENSIONS - 1), "tokens": None}]), "dimensions"),
        (lambda _: said([{"vector": [float("nan")] * DIMENSIONS, "tokens": None}]), "finite"),
        (lambda _: said([{"vector": [1.0] * DIMENSIONS, "tokens": ["not hex"]}]), "not vectors"),
        (lambda _: said([]), "0 vectors"),
        (lambda _: said({"vectors": []}), "not vectors"),
        (lambda _: Reply(body=b"<html>"), "not JSON"),
        (lambda _: Reply(status=500), "(500)"),
        (lambda _: Reply(status=401), "key"),
        (lambda _: Reply(body=b"[" * 4000, between=0.005), "did not answer"),
        (lambda _: Reply(before=600.0), "did not answer"),
    ],
)
def test_a_service_that_lies_or_dawdles_is_asked_once_and_left(
    embedder: ServiceEmbedder,
    endpoint: Endpoint,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    lie: Callable[[dict[str, Any]], Reply],
    clause: str,
) -> None:
    monkeypatch.setattr(service_models, "ANSWER_SECONDS", 0.3 if clause == "did not answer" else 60.0)
    endpoint.replies = [lie]
    assert embedder.embed(["a note"]) == embedder.embed(["a note"]) == OWN.embed(["a note"])
    assert len(endpoint.requests) == 1
    assert len(told) == 1
    assert clause in told[0]
    assert "loaded here" in told[0]
    assert "pgs_secret" not in told[0]


def test_scores_are_logits_and_keep_their_places(
    endpoint: Endpoint, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        service_models, "_LATER", 60.0
    )  # so that nobody hears of it, however late the deadline is
    offer = {"name": "lent", "scale": "logit", "identity": "x"}
    reranker = ServiceReranker(ModelService(endpoint.url), offer, SETTINGS, told.append)
    outcome = reranker.rerank("where?", CANDIDATES, top_n=2, deadline=30.0)
    assert [(one.id, one.score) for one in outcome.scores] == [(9, 4.0), (8, 3.0)]
    assert outcome.complete
    endpoint.replies = [Reply(before=600.0)]
    late = reranker.rerank("where?", CANDIDATES, top_n=2, deadline=0.2)
    assert (late.scores, late.complete, told) == ((), False, [])


def test_a_service_that_is_none_of_ours_offers_nothing(endpoint: Endpoint) -> None:
    with pytest.raises(ModelServiceError, match="refused the request"):
        read_offer(ModelService(endpoint.url), 60.0)
    endpoint.stop()
    with pytest.raises(ModelServiceError, match="did not answer"):
        read_offer(ModelService(endpoint.url), 5.0)


def test_only_the_same_model_fits() -> None:
    def offered(**change: object) -> ModelOffer:
        model = {"name": OWN.name, "identity": embedder_identity(SETTINGS), "dimensions": DIMENSIONS}
        return ModelOffer("1", True, {**model, **change}, None)

    assert offers_same_embedder(SETTINGS, offered())
    assert not offers_same_embedder(SETTINGS, offered(dimensions=DIMENSIONS + 1))
    assert not offers_same_embedder(SETTINGS, offered(dimensions="many"))
    assert not offers_same_embedder(SETTINGS, offered(identity="another"))
    assert not offers_same_embedder(Settings(embedder="local"), offered())
    assert not offers_same_embedder(Settings(embedder="none"), offered(identity=None))
    names = {
        embedder_identity(Settings(embedder="local", embedder_model=name))
        for name in (None, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
    }
    assert len(names) == 1
    rerankers = [Settings(reranker="local"), Settings(reranker="local", reranker_tokens=64)]
    assert len({reranker_identity(one) for one in rerankers}) == 2


@pytest.mark.parametrize("url", ["ftp://x", "nowhere", "http://", "http://[::1", "http://x:99999999"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="PGRECALL_SERVER"):
        ModelService(url)
