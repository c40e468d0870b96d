"""The HTTP service in front of cells."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.acceptance.cli.command_tools import command_line, environment
from tests.acceptance.http.http_tools import PLAIN, serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio
from tests.acceptance.page.page_tools import Page, sent
from tests.integration.cells.conftest import Installation
from tests.waiting import PATIENCE, until


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
        with httpx.Client(base_url=service.url, **PLAIN) as browser:
            page = sent(browser, Page(browser.get("/maintenance")).form("/sign-in"), key=keys["acme"]).text
            if "This tenant lives" not in page:
                page = browser.get("/maintenance").text
        assert "This tenant lives in cell 0. It has been moving to cell 1" in " ".join(page.split())
        assert "The databases of this installation; each holds some of the tenants" in page
        assert "beta" not in page
        two_cells.ask(1, "UPDATE recall.resident SET state = 'gone', cell = 0 WHERE tenant = 'beta'")
        with service.as_holder(keys["beta"]) as caller:
            assert caller.get("/v1/memories/winch").status_code == 401


def test_a_worker_of_all_cells_reports_itself(two_cells: Installation) -> None:
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        two_cells.memory(tenant).remember(f"The winch of {tenant}.")
    away = conninfo_to_dict(two_cells.cells[1])["dbname"]
    with working(two_cells) as ask, psycopg.connect(two_cells.directory, autocommit=True) as admin:
        until(lambda: ask("/readyz").status_code == 200, "readiness", pause=0.1)
        fold = 'pgrecall_worker_run_timestamp_seconds{job="fold",state="done"}'
        until(lambda: fold in ask("/metrics").text, "a run of fold", pause=0.1)
        until(lambda: memories(ask("/metrics").text) == 2, "the figures of both cells", pause=0.1)
        assert 'pgrecall_cell_up{cell="1"} 1.0' in ask("/metrics").text
        assert 'pgrecall_pool{figure="pool_size"}' in ask("/metrics").text
        admin.execute(f"ALTER DATABASE {away} ALLOW_CONNECTIONS false".encode())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (away,))
        try:
            until(lambda: ask("/readyz").status_code == 503, "a cell that is not served", pause=0.1)
            assert all(said.startswith("Cell 1: ") for said in ask("/readyz").json()["problems"])
            assert ask("/healthz").json() == {"alive": True}
        finally:
            admin.execute(f"ALTER DATABASE {away} ALLOW_CONNECTIONS true".encode())


def test_a_worker_of_one_cell_reports_that_one(two_cells: Installation) -> None:
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        two_cells.memory(tenant).remember(f"The winch of {tenant}.")
    with working(two_cells, "--cell", "1") as ask:
        until(lambda: ask("/readyz").status_code == 200, "readiness", pause=0.1)
        until(lambda: memories(ask("/metrics").text) == 1, "the figures of this cell", pause=0.1)
        assert "pgrecall_cell_up" not in ask("/metrics").text


def memories(metrics: str) -> float:
    """The live memories that metrics count."""
    return sum(float(value) for value in re.findall(r"^pgrecall_memories\{.*\} (.*)$", metrics, re.MULTILINE))


@contextmanager
def working(installation: Installation, *arguments: str) -> Iterator[Callable[[str], httpx.Response]]:
    """A worker on a free port; yields what asks it."""
    process = subprocess.Popen(
        command_line("worker", "--port", "0", *arguments),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(cells=installation.directory, connect_timeout="2"),
    )
    with process:
        assert process.stderr is not None
        said = re.compile(r"Metrics and probes: (http://127\.0\.0\.1:\d+)$")
        try:
            address = next(found[1] for line in process.stderr if (found := said.match(line)))
            Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop the worker
            yield lambda path: httpx.get(address + path, **PLAIN)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_tools_find_the_cell_too(two_cells: Installation) -> None:
    two_cells.fleet.place("acme", 1)

    async def body() -> str:
        async with connected(over_stdio("", cells=two_cells.directory, tenant="acme")) as client:
            await answer(client, "remember", body="The winch of acme.", key="winch")
            found = await answer(client, "search", query="winch")
            return str(found["hits"][0]["body"])

    assert asyncio.run(body()) == "The winch of acme."
    assert two_cells.ask(1, "SELECT key FROM recall.memory") == [{"key": "winch"}]
