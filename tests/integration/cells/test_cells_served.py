"""The HTTP service in front of cells."""

from __future__ import annotations

import asyncio

import pytest

from tests.acceptance.http.http_tools import serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio
from tests.integration.cells.conftest import Installation

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
