"""Requests that are made to be counted, logged and traced: none of their words is kept."""

from __future__ import annotations

import asyncio
import io

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pgrecall.faces.telemetry.tracing import Tracing
from pgrecall.settings import Settings
from tests.acceptance.http.test_http_figures import service

pytestmark = pytest.mark.attack

COUNTED = "pgrecall_http_request_seconds_count"
MARK = "quetzal"
"""In everything that the attacker can choose."""

REQUESTS = (
    *((f"{MARK}{number}", "/v1/status") for number in range(40)),
    *(("GET", f"/{MARK}{number}") for number in range(40)),
    *(("GET", f"/v1/memories/{MARK}{number}?{MARK}={number}") for number in range(40)),
    *(("POST", f"/mcp/{MARK}{number}") for number in range(20)),
    (MARK * 4_000, f"/{MARK * 1_000}"),
)

HEADERS = {
    "X-Request-Id": (f"{MARK} with blanks", MARK * 1_000),
    "User-Agent": (MARK,),
    "Host": (MARK,),
    "traceparent": (f"00-{'f' * 32}-{MARK}-01", MARK * 1_000),
    "tracestate": (f"{MARK}={MARK}",),
    "baggage": (f"{MARK}={MARK * 500}",),
    "Forwarded": (f"for={MARK}",),
    "Authorization": (f"Bearer pgr_{MARK * 4}", MARK),
    "Content-Type": (f"{MARK}/{MARK}; charset={MARK}",),
}


def test_no_word_of_a_request_is_counted_logged_or_traced(settings: Settings) -> None:
    exporter, log = InMemorySpanExporter(), io.StringIO()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def attack() -> list[str]:
        async with service(settings, Tracing(provider), log=log) as (client, _):
            for method, path in REQUESTS:
                assert (await client.request(method, path)).status_code >= 400
            for name, values in HEADERS.items():
                for value in values:
                    await client.post("/v1/search", json={"query": MARK}, headers={name: value})
            text = (await client.get("/metrics")).text
            assert MARK not in text
            return [line for line in text.splitlines() if line.startswith(COUNTED)]

    series = asyncio.run(attack())
    assert 0 < len(series) < 15, series
    assert log.getvalue().count('"request"') > len(REQUESTS)
    assert MARK not in log.getvalue()
    spans = exporter.get_finished_spans()
    assert len(spans) > len(REQUESTS)
    for span in spans:
        assert MARK not in f"{span.name} {span.attributes} {span.events} {span.status.description}"
    assert len({span.name for span in spans}) < 20
