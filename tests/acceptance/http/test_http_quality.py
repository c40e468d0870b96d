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
