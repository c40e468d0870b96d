"""A memory of as many and as large versions as may be is read by every face, in pages of bounded size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from pgrecall import Memory
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio

KEPT = 20
LARGE = 1_000_000
PAGE = 16_000_000

TEXTS = {"words": "word ", "control-characters": "\x01"}
"""What the texts consist of. A control character takes six bytes in JSON."""

MORE = (
    "INSERT INTO recall.memory_version SELECT (jsonb_populate_record(v, jsonb_build_object('number', n))).* "
    "FROM recall.memory_version v, recall.memory m, generate_series(2, %s) n "
    "WHERE v.number = 1 AND m.id = v.memory_id AND m.key = %s"
)


@pytest.fixture(params=TEXTS)
def filled(request: pytest.FixtureRequest, shared_url: str) -> str:
    """A memory with as many versions beside the current one; its key."""
    unit = TEXTS[request.param]
    with member(shared_url) as memory:
        for number in range(2):
            memory.remember(f"{number} " + unit * ((LARGE - 2) // len(unit)), key=request.param)
    with psycopg.connect(shared_url) as connection:
        connection.execute(MORE, (KEPT, request.param))
    return str(request.param)


@pytest.fixture(scope="module")
def served(shared_url: str) -> Iterator[Served]:
    with serving(shared_url) as running:
        yield running


@pytest.fixture(scope="module")
def reader(shared_url: str) -> Iterator[Memory]:
    with member(shared_url) as memory:
        yield memory


def numbers_over_http(client: httpx.Client, key: str) -> list[int]:
    """Of all versions, read page after page."""
    found: list[int] = []
    while page := read(client, f"/v1/versions/{key}", **({"before": found[-1]} if found else {})).json():
        found += [version["number"] for version in page]
    return found


def read(client: httpx.Client, path: str, **parameters: int) -> httpx.Response:
    found = client.get(path, params=parameters)
    assert found.status_code == 200, found.text[:500]
    assert len(found.content) < 1.2 * PAGE, path  # both texts of a difference, and what differs
    return found


def test_every_face_reads_it_in_pages(
    served: Served, reader: Memory, filled: str, shared_url: str, bare_pgrecall: Command
) -> None:
    expected = list(range(KEPT + 1, 0, -1))
    assert numbers_over_http(served.client, filled) == expected
    found = [version.number for version in reader.history.versions(filled)]
    while found[-1] > expected[-1]:
        found += [version.number for version in reader.history.versions(filled, before=found[-1])]
    assert found == expected
    read(served.client, f"/v1/memories/{filled}")
    read(served.client, f"/v1/differences/{filled}", earlier=1)
    memory = reader.get(filled).id
    for path in ("/memories/{}", "/versions/{}", "/versions/{}/1", "/edit/{}"):
        read(served.client, path.format(memory))
    asyncio.run(_read_over_mcp(shared_url, filled))
    given = {"database_url": shared_url, "tenant": "acme"}
    for command in (("history", filled), ("show", filled), ("diff", filled, "1"), ("export", "-")):
        assert bare_pgrecall(*command, **given).code == 0, command


async def _read_over_mcp(database_url: str, key: str) -> None:
    async with connected(over_stdio(database_url, tenant="acme")) as client:
        for tool, arguments in (("history", {"limit": 200, "max_chars": 100_000}), ("diff", {"earlier": 1})):
            said = await answer(client, tool, memory=key, **arguments)
            assert len(str(said)) < PAGE, tool
