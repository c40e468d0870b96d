"""What a worker answers over HTTP: metrics of its runs, and whether it works."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.cli.command_tools import Command, started
from tests.databases import Query
from tests.waiting import PATIENCE, until


@pytest.fixture
def worker(database_url: str, query: Query) -> Iterator[subprocess.Popen[str]]:
    """A worker on a free port, in whose database the job `fold` fails at every run."""
    query("SELECT recall.remember('A note on the tide.')", tenant="acme")
    query("DROP FUNCTION recall.fold_accesses CASCADE")
    with started("worker", "--port", "0", database_url=database_url, tenant="acme") as process:
        yield process


def test_a_worker_reports_its_runs_and_itself(worker: subprocess.Popen[str]) -> None:
    assert worker.stderr is not None
    address = until(
        lambda: re.match(r"Metrics and probes: (http://127\.0\.0\.1:\d+)$", worker.stderr.readline()),
        "address",
    )[1]

    def ask(path: str) -> httpx.Response:
        return httpx.get(address + path, timeout=PATIENCE, trust_env=False)

    assert ask("/healthz").json() == {"alive": True}
    until(lambda: ask("/readyz").status_code == 200, "readiness", pause=0.1)
    assert ask("/readyz").json() == {"ready": True, "problems": []}
    failed = 'pgrecall_worker_run_seconds_count{job="fold",state="failed"}'
    until(lambda: failed in ask("/metrics").text, "the failed runs", pause=0.1)
    done = 'pgrecall_worker_run_timestamp_seconds{job="partitions",state="done"}'
    until(lambda: done in ask("/metrics").text, "a run that was done", pause=0.1)
    until(lambda: "pgrecall_archived 0.0" in ask("/metrics").text, "the census", pause=0.1)
    assert "acme" not in ask("/metrics").text
    assert ask("/readyz").status_code == 200  # a job that fails is not a worker that does not work
    assert ask("/v1/status").status_code == 404
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_one_sentence(pgrecall_process: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = pgrecall_process("worker", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Address already in use" in done.err


def test_one_round_has_no_port(bare_pgrecall: Command) -> None:
    done = bare_pgrecall("worker", "--once", "--port", "8767")
    assert done.code == 2
    assert done.err == "Error: --once ends too soon to serve --port. Leave one of them out.\n"
