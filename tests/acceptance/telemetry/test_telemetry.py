"""What commands, the worker and MCP tell of themselves: spans and figures, as the service does."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys

import httpx
import pytest
from mcp import Client, StdioServerParameters
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pgrecall.errors import DatabaseUnavailable, InvalidInput
from pgrecall.faces.telemetry.metrics import Metrics, RunMetrics
from pgrecall.faces.telemetry.telemetry import Telemetry, runs_observed
from pgrecall.faces.telemetry.tracing import Tracing
from tests.acceptance.cli.command_tools import Command, environment
from tests.acceptance.mcp.mcp_tools import answer, command, connected, refusal, run, served_over_http
from tests.conftest import Memory
from tests.waiting import PATIENCE

SPANS_TO_STDERR = (
    "import sys; from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider; "
    "from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor; "
    "shown = lambda span: f'span {span.name} {span.status.status_code.name} "
    "{(span.parent.trace_id if span.parent else 0):x} {dict(span.attributes)}\\n'; "
    "provider = TracerProvider(); provider.add_span_processor(SimpleSpanProcessor("
    "ConsoleSpanExporter(out=sys.stderr, formatter=shown))); trace.set_tracer_provider(provider); "
    "from pgrecall.faces.cli.main import main; main()"
)
"""A command under a launcher that prints its spans."""


SPANS_TO_NOBODY = (
    "import threading; from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider; "
    "from opentelemetry.sdk.trace.export import BatchSpanProcessor\n"
    "class Silent:\n"
    "    def export(self, spans): threading.Event().wait()\n"
    "    def shutdown(self): threading.Event().wait()\n"
    "provider = TracerProvider(); provider.add_span_processor(BatchSpanProcessor(Silent()))\n"
    "trace.set_tracer_provider(provider)\n"
    "from pgrecall.faces.cli.main import main; main()"
)
"""The same where the endpoint for spans never answers."""


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Tracing:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider)


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def traced(
    *arguments: str, launcher: str = SPANS_TO_STDERR, **variables: str
) -> subprocess.CompletedProcess[str]:
    database_url = variables.pop("database_url")
    return subprocess.run(
        [sys.executable, "-c", launcher, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(database_url=database_url, tenant="acme") | variables,
        check=False,
    )


def test_a_command_is_a_span_with_the_phases_of_its_search_beneath(database_url: str, memory: Memory) -> None:
    memory.remember("The tide turns at noon.")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    done = traced("search", "when does the tide turn?", database_url=database_url, TRACEPARENT=parent)
    spans = re.findall(r"^span (.*)$", done.stderr, re.M)
    assert spans[-1] == "pgrecall search UNSET af7651916cd43dd8448eb211c80319c {'process.exit.code': 0}"
    assert {"search embedding", "search database"} <= {" ".join(span.split()[:2]) for span in spans}
    assert "tide" not in done.stderr
    jobs = traced("jobs", "run", "fold", database_url=database_url)
    fold = r"span job fold UNSET \w+ \{'pgrecall.job': 'fold', 'pgrecall.job.state': 'done'"
    assert re.search(fold, jobs.stderr), jobs.stderr
    assert "span pgrecall jobs run UNSET" in jobs.stderr
    wrong = traced("plan", "show", "4711", database_url=database_url)
    assert "span pgrecall plan show ERROR 0 {'process.exit.code': 2}" in wrong.stderr


def test_an_endpoint_that_never_answers_keeps_no_process(database_url: str) -> None:
    done = traced("list", launcher=SPANS_TO_NOBODY, database_url=database_url)
    assert (done.returncode, done.stderr) == (1, "Nothing was found.\n")


def test_what_leaves_a_call_decides_how_it_ended(tracing: Tracing, exporter: InMemorySpanExporter) -> None:
    metrics = Metrics()
    telemetry = Telemetry(tracing, metrics)
    with telemetry.call("search"):
        pass
    for error in (InvalidInput("It is empty."), DatabaseUnavailable("It is down."), KeyError("secret")):
        with pytest.raises(type(error)), telemetry.call("search"):
            raise error
    figures = metrics.exposition().decode()
    for outcome, calls in (("done", 1), ("refused", 1), ("failed", 2)):
        assert f'call_seconds_count{{outcome="{outcome}",tool="search"}} {calls}.0' in figures
    spans = exporter.get_finished_spans()
    assert [span.status.status_code.name for span in spans] == ["UNSET", "UNSET", "ERROR", "ERROR"]
    assert "secret" not in "".join(span.to_json() for span in spans)


def test_runs_of_jobs_are_counted_and_traced(
    memory: Memory, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    memory.remember("The tide turns at noon.")
    metrics = RunMetrics()
    with runs_observed(tracing.record_run), runs_observed(metrics.observe_run):
        memory.jobs.run("vitality")
    memory.jobs.run("vitality")
    [span] = exporter.get_finished_spans()
    assert span.name == "job vitality"
    assert span.attributes is not None
    assert span.attributes["pgrecall.job.state"] == "done"
    assert 'run_seconds_count{job="vitality",state="done"} 1.0' in metrics.exposition().decode()
    assert "acme" not in metrics.exposition().decode() + span.to_json()


def test_a_search_outside_of_the_block_is_not_observed(memory: Memory) -> None:
    metrics = Metrics()
    memory.remember("The tide turns at noon.")
    with Telemetry(metrics=metrics).searches():
        memory.search("tide")
        memory.context("tide")  # searches too
    memory.search("tide")
    assert 'pgrecall_searches_total{found="yes"} 2.0' in metrics.exposition().decode()


def test_mcp_over_http_answers_metrics_beside_it(database_url: str) -> None:
    async def scenario(address: str) -> None:
        async with connected(address) as client:
            await answer(client, "remember", body="The gate code is 4711.")
            await answer(client, "search", query="gate code")
            await refusal(client, "get", memory="nothing")

    with served_over_http(database_url, tenant="acme") as address:
        run(scenario(address))
        metrics_address = address.removesuffix("/mcp") + "/metrics"
        figures = httpx.get(metrics_address, timeout=PATIENCE, trust_env=False).text
        rebound = httpx.get(metrics_address, headers={"host": "rebound.example"}, timeout=PATIENCE)
    for line in (
        'pgrecall_mcp_call_seconds_count{outcome="done",tool="search"} 1.0',
        'pgrecall_mcp_call_seconds_count{outcome="refused",tool="get"} 1.0',
        'pgrecall_searches_total{found="yes"} 1.0',
        'pgrecall_search_phase_seconds_count{phase="database"} 1.0',
        'pgrecall_pool{figure="pool_max"}',
    ):
        assert line in figures, figures
    assert "4711" not in figures
    assert rebound.status_code == 421


def test_mcp_over_stdio_answers_metrics_at_a_port_of_its_own(database_url: str, free_port: int) -> None:
    async def scenario() -> str:
        head, *rest = command("--metrics-port", str(free_port))
        env = environment(database_url=database_url, tenant="acme")
        async with connected(StdioServerParameters(command=head, args=rest, env=env, cwd="/")) as client:
            assert isinstance(client, Client)
            await answer(client, "search", query="gate code")
            address = f"http://127.0.0.1:{free_port}/metrics"
            found = await asyncio.to_thread(httpx.get, address, timeout=PATIENCE, trust_env=False)
            return found.text

    assert 'pgrecall_mcp_call_seconds_count{outcome="done",tool="search"} 1.0' in run(scenario())


def test_metrics_of_the_database_on_the_command_line(pgrecall: Command, memory: Memory) -> None:
    memory.remember("The tide turns at noon.")
    memory.jobs.run("vitality")
    done = pgrecall("metrics", tenant="acme")
    assert (done.code, done.err) == (0, "")
    assert 'pgrecall_memories{layer="knowledge",zone="active"} 1.0' in done.out
    assert 'pgrecall_job_failed{job="vitality"} 0.0' in done.out


def test_one_port_for_metrics(bare_pgrecall: Command) -> None:
    done = bare_pgrecall("mcp", "--http", "--metrics-port", "0")
    assert done.code == 2
    assert done.err.startswith("Error: With --http, /metrics is at the port of the server.")
