"""What a service tells of itself: figures, spans, and what became of the models. In this process."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pgrecall import AsyncMemory, EmbedderError
from pgrecall.faces.http.access_policy import AccessPolicy
from pgrecall.faces.http.app import create_app
from pgrecall.faces.http.logs import service_log
from pgrecall.faces.http.service import Service
from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings


class BrokenEmbedder(HashEmbedder):
    """One whose model cannot be loaded."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EmbedderError(f"The model for {len(texts)} texts is not there.")


@asynccontextmanager
async def service(
    settings: Settings, tracing: Tracing, embedder: HashEmbedder | None = None, log: io.StringIO | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
    async with AsyncMemory(settings=settings, embedder=embedder or HashEmbedder(64)) as memory:
        made = Service(
            memory, AccessPolicy(needs_key=False), service_log("json", log or io.StringIO()), tracing
        )
        app = create_app(made)

        @app.get("/broken")
        async def broken() -> None:
            raise ValueError("what somebody remembered")

        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            yield client, made


def test_metrics_have_requests_searches_jobs_and_zones(settings: Settings) -> None:
    async def course() -> str:
        async with service(settings, Tracing()) as (client, made):
            await client.post("/v1/memories", json={"body": "The tide turns at noon."})
            await client.post("/v1/search", json={"query": "when does the tide turn?"})
            await client.post("/v1/search", json={"query": "xylophone"})
            await client.get("/v1/memories/4711")
            await client.get("/mcp")
            await made.memory.jobs.run("vitality")
            while "pgrecall_memories{" not in (told := (await client.get("/metrics")).text):
                await asyncio.sleep(0.01)  # a busy database is not waited for long
            return told

    figures = asyncio.run(course())
    for line in (
        'pgrecall_http_request_seconds_count{method="POST",route="/v1/search",status="200"} 2.0',
        'seconds_count{method="GET",route="/v1/memories/{memory:path}",status="404"} 1.0',
        'seconds_count{method="GET",route="/mcp",status="400"} 1.0',
        'pgrecall_search_phase_seconds_count{phase="database"} 2.0',
        'pgrecall_searches_total{found="yes"}',
        "pgrecall_http_running 0.0",
        "pgrecall_http_refused_total 0.0",
        'pgrecall_pool{figure="pool_max"} 8.0',
        'pgrecall_memories{layer="knowledge",zone="active"} 1.0',
        'pgrecall_job_failed{job="vitality"} 0.0',
        'pgrecall_job_done_timestamp_seconds{job="vitality"}',
    ):
        assert line in figures, figures
    assert "4711" not in figures


def test_a_request_is_a_span_with_the_phases_of_its_search_beneath(settings: Settings) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async def course() -> None:
        async with service(settings, Tracing(provider)) as (client, _):
            await client.post("/v1/memories", json={"body": "The tide turns at noon."})
            question = {"query": "when does the tide turn?"}
            await client.post("/v1/search", json=question, headers={"traceparent": parent})
            await client.get("/broken")

    asyncio.run(course())
    spans = exporter.get_finished_spans()
    [search] = [span for span in spans if span.name == "POST /v1/search"]
    assert search.context.trace_id == 0x0AF7651916CD43DD8448EB211C80319C
    assert dict(search.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/search",
        "http.response.status_code": 200,
    }
    phases = [span for span in spans if span.parent and span.parent.span_id == search.context.span_id]
    assert {"search embedding", "search database"} <= {span.name for span in phases}
    assert all(length(phase) <= length(search) for phase in phases)
    [broken] = [span for span in spans if span.name == "GET /broken"]
    assert not broken.status.is_ok
    assert "remembered" not in "".join(span.to_json() for span in spans)


def length(span: ReadableSpan) -> int:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.end_time - span.start_time


def test_an_unexpected_error_is_a_problem_that_says_no_more_than_its_kind(settings: Settings) -> None:
    log = io.StringIO()

    async def course() -> httpx.Response:
        async with service(settings, Tracing(), log=log) as (client, _):
            return await client.get("/broken")

    answer = asyncio.run(course())
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:pgrecall:problem:internal-error")
    assert "ValueError" in answer.json()["detail"]
    assert answer.headers["connection"] == "close", "the server closes it"
    assert "remembered" not in answer.text + log.getvalue()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    [line] = [line for line in lines if line.get("route") == "/broken"]
    assert (line["level"], line["status"]) == ("error", 500)


def test_a_model_that_cannot_be_loaded_is_why_it_is_not_ready(settings: Settings) -> None:
    async def course() -> httpx.Response:
        async with service(settings, Tracing(), BrokenEmbedder(64)) as (client, _):
            # Until it has been tried to load them; a busy database may be a second problem for a while.
            while "cannot be loaded" not in one_problem(answer := await client.get("/readyz")):
                await asyncio.sleep(0.01)
            searched = await client.post("/v1/search", json={"query": "a tide"})
            assert searched.status_code == 200  # words answer where meaning cannot
            return answer

    def one_problem(answer: httpx.Response) -> str:
        problems = answer.json()["problems"]
        return str(problems[0]) if len(problems) == 1 else ""

    answer = asyncio.run(course())
    assert answer.status_code == 503
    assert answer.json()["problems"] == ["The models cannot be loaded: The model for 1 texts is not there."]
