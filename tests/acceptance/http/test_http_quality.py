"""Quality over HTTP: the three routes, and what they refuse."""

from __future__ import annotations

import asyncio

import httpx

from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.settings import Settings
from tests.acceptance.http.test_http_figures import service


def test_the_routes_of_quality(settings: Settings) -> None:
    async def course(client: httpx.AsyncClient) -> None:
        note = {"body": "The harbour contract is signed.", "key": "c"}
        stored = (await client.post("/v1/memories", json=note)).json()
        search = (await client.post("/v1/search", json={"query": "harbour contract"})).json()
        used = {"search_id": search["search_id"], "memories": ["c"]}
        assert (await client.post("/v1/feedback/used", json=used)).json() == {"count": 1}
        report = (await client.get("/v1/quality")).json()
        assert (report["searches"], report["answered"]["count"], report["answered"]["value"]) == (1, 1, 1.0)
        asked = {"query": "harbour contract", "memory": "c", "layers": ["episodic"]}
        miss = (await client.post("/v1/quality/miss", json=asked)).json()
        assert (miss["memory"], miss["outcome"]) == (stored["id"], "filtered")
        assert miss["filters"] == ["layers"]
        replay = (await client.post("/v1/quality/replay", json={"vitality_mode": "off"})).json()
        assert (replay["searches"], replay["judged"]) == (1, 1)
        assert replay["conclusion"].startswith("Too little")
        for path, body, status in (
            ("miss", {"query": "harbour"}, 422),
            ("miss", {"query": "harbour", "memory": "nothing"}, 404),
            ("miss", {"query": "harbour", "memory": "c", "rerank": True}, 422),
            ("replay", {}, 422),
            ("replay", {"vitality_mode": "off", "limit": 1001}, 422),
            ("replay", {"vitality_mode": "off", "change": 1}, 422),
        ):
            refused = await client.post(f"/v1/quality/{path}", json=body)
            assert refused.status_code == status, refused.text
        assert (await client.get("/v1/quality", params={"limit": 0})).status_code == 422

    async def run() -> None:
        async with service(settings, Tracing()) as (client, _):
            await course(client)

    asyncio.run(run())


def test_an_experiment_over_http(settings: Settings) -> None:
    async def course(client: httpx.AsyncClient) -> None:
        none = (await client.get("/v1/quality/experiment")).json()
        assert (none["number"], none["refused"]) == (None, "no_experiment")
        await client.post("/v1/memories", json={"body": "The harbour contract is signed.", "key": "c"})
        for name, value in (("search.experiment", 1), ("search.experiment_weight", 2.0)):
            assert (await client.put(f"/v1/settings/{name}", json={"value": value})).status_code == 200
        for session in range(3):
            asked = {"query": "harbour contract", "session_id": f"s{session}"}
            search = (await client.post("/v1/search", json=asked)).json()
            if not session:
                used = {"search_id": search["search_id"], "memories": ["c"]}
                assert (await client.post("/v1/feedback/used", json=used)).json() == {"count": 1}
        await client.post("/v1/search", json={"query": "harbour contract"})
        report = (await client.get("/v1/quality/experiment", params={"difference": 0.2})).json()
        assert (report["number"], report["running"], report["needed"]) == (1, True, 119)
        assert [arm["arm"] for arm in report["arms"]] == ["off", "default", "other"]
        assert sum(arm["sessions"] for arm in report["arms"]) == 3
        assert sum(arm["used"] for arm in report["arms"]) == 1
        assert {weight for arm in report["arms"] for weight in arm["weights"]} <= {0.0, 0.5, 2.0}
        assert report["without_session"] <= 1
        assert (report["refused"], report["conclusion"].startswith("Too little")) == ("too_few", True)
        assert (await client.get("/v1/quality/experiment", params={"number": 2})).json()["running"] is False
        for bad in ({"difference": 0.9}, {"number": 0}, {"number": "first"}):
            assert (await client.get("/v1/quality/experiment", params=bad)).status_code == 422

    async def run() -> None:
        async with service(settings, Tracing()) as (client, _):
            await course(client)

    asyncio.run(run())
