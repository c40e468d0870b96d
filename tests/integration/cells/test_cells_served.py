"""The HTTP service in front of cells."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.acceptance.http.http_tools import serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio
from tests.acceptance.page.page_tools import Page, sent
from tests.integration.cells.conftest import Installation
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow


def test_the_service_finds_the_cell_of_each_key(two_cells: Installation) -> None:
    keys = {}
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        client = two_cells.memory(tenant)
        client.remember(f"The winch of {tenant}.", key="winch")
        keys[tenant] = client.keys.create("service").secret
    with serving("", cells=two_cells.directory) as service:
        for tenant, key in keys.items():
            with service.as_holder(key) as caller:
                assert caller.get("/v1/memories/winch").json()["body"] == f"The winch of {tenant}."
        assert service.client.get("/v1/memories/winch").status_code == 401
        two_cells.fleet.directory.run(
            "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)"
        )
        assert 'pgrecall_cell_up{cell="1"} 1.0' in service.client.get("/metrics").text
        two_cells.ask(0, "UPDATE recall.setting SET value = '\"later\"' WHERE name = 'schema.functions'")
        assert service.client.get("/readyz").status_code == 200
        with httpx.Client(base_url=service.url, timeout=PATIENCE, trust_env=False) as browser:
            page = sent(browser, Page(browser.get("/maintenance")).form("/sign-in"), key=keys["acme"]).text
            if "This tenant lives" not in page:
                page = browser.get("/maintenance").text
        assert "This tenant lives in cell 0. It is moving to cell 1" in " ".join(page.split())
        assert "Databases that share out the tenants" in page
        assert "beta" not in page
        two_cells.ask(1, "UPDATE recall.resident SET state = 'gone', cell = 0 WHERE tenant = 'beta'")
        with service.as_holder(keys["beta"]) as caller:
            assert caller.get("/v1/memories/winch").status_code == 401


def test_tools_find_the_cell_too(two_cells: Installation) -> None:
    two_cells.fleet.place("acme", 1)

    async def body() -> str:
        async with connected(over_stdio("", cells=two_cells.directory, tenant="acme")) as client:
            await answer(client, "remember", body="The winch of acme.", key="winch")
            found = await answer(client, "search", query="winch")
            return str(found["hits"][0]["body"])

    assert asyncio.run(body()) == "The winch of acme."
    assert two_cells.ask(1, "SELECT key FROM recall.memory") == [{"key": "winch"}]
