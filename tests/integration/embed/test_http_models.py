"""The reranker that a service lends: the adapters that speak to others speak to it, too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
import uvicorn

from pgrecall.client import AsyncMemory
from pgrecall.faces.http.app import create_app
from pgrecall.faces.http.authentication import AccessPolicy
from pgrecall.faces.http.logs import service_log
from pgrecall.faces.http.server import listening_socket
from pgrecall.faces.http.service import Service
from pgrecall.search.lending.service_client import ModelService
from pgrecall.search.lending.service_models import ServiceReranker
from pgrecall.search.rerank.http import HttpReranker
from pgrecall.search.rerank.reranker import CallableReranker, Reranker
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome
from pgrecall.settings import Settings
from tests.waiting import PATIENCE

CANDIDATES = [RerankCandidate(100 + place, "x" * (place * 7 % 60)) for place in range(60)]


def by_length(_: str, texts: Sequence[str]) -> list[float]:
    return [len(text) / 7 - 3.25 for text in texts]


@pytest.mark.parametrize("pairs", [50, 10])
def test_a_lent_reranker_gives_the_scores_it_gives_here(settings: Settings, pairs: int) -> None:
    own = CallableReranker(by_length, "length", "logit", pairs=60)
    few = replace(settings, reranker_pairs=pairs, http_timeout=PATIENCE)
    tei, borrowed, unsure = asyncio.run(_asked(few, own))
    expected = own.rerank("how long?", CANDIDATES, top_n=60).scores
    assert tei.scores == borrowed.scores == expected
    assert [(one.id, one.new_rank) for one in unsure.scores] == [(one.id, one.new_rank) for one in expected]
    assert [one.score for one in unsure.scores] == pytest.approx([one.score for one in expected])


async def _asked(settings: Settings, own: Reranker) -> list[RerankOutcome]:
    """What a service with this reranker answers: to logits asked for in two ways, and as probabilities."""
    async with AsyncMemory(settings=settings, reranker=own) as memory:
        service = Service(memory, AccessPolicy(needs_key=False), service_log("json"))
        running = uvicorn.Server(uvicorn.Config(create_app(service), log_config=None))
        with listening_socket("127.0.0.1", 0) as listener:
            serving = asyncio.create_task(running.serve(sockets=[listener]))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            asking = replace(settings, reranker_pairs=60)
            offer = {"name": own.name, "scale": own.scale}
            rerankers: list[Reranker] = [
                HttpReranker(f"{url}/v1/models", "length", form="tei", pairs=60, timeout=PATIENCE),
                ServiceReranker(ModelService(url), offer, asking, pytest.fail),
                HttpReranker(f"{url}/v1/models", form="tei", scale="probability", pairs=60, timeout=PATIENCE),
            ]
            outcomes = [
                await asyncio.to_thread(one.rerank, "how long?", CANDIDATES, top_n=60) for one in rerankers
            ]
            for one in rerankers:
                if isinstance(one, HttpReranker):
                    one.close()
            running.should_exit = True
            await serving
    return outcomes
