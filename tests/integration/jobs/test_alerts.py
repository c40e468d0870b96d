"""Alerts: each alarm is reported when it begins and ends, in bounded time; a failing hook stops nothing."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.errors import AlertError
from pgrecall.jobs.alerts import AlertHook, make_alert_hook
from pgrecall.jobs.runner import log_line
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.setting_types import Secret
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query
from tests.http_endpoint import Endpoint, Reply
from tests.integration.access.use_tools import note
from tests.integration.jobs.test_health import run_job

KEEP = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file in which the alert command keeps its alerts, a line each."""
    return tmp_path / "alerts"


@pytest.fixture
def alerting(settings: Settings, log: Path) -> Iterator[Memory]:
    """A client whose alert hook is a command that keeps its alerts."""
    command = shlex.join([sys.executable, "-c", KEEP, str(log)])
    with Memory(
        settings=replace(settings, alert_command=command), embedder=HashEmbedder(DIMENSIONS)
    ) as client:
        yield client


def alerts(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def run(memory: Memory) -> JobOutcome:
    [outcome] = memory.jobs.run("alerts", now=NOW)
    return outcome


def test_an_alarm_is_reported_when_it_begins_and_when_it_ends(
    alerting: Memory, query: Query, log: Path
) -> None:
    note(query, "n", at=NOW)
    assert (run(alerting).state, alerts(log)) == ("done", [])
    run_job(query, "embed", "failed", error="The model is gone.")
    first = run(alerting)
    assert (first.state, first.done, first.counts) == ("done", 1, {"embed failed": 1})
    assert " embed_failed=1" in log_line(first)
    [alert] = alerts(log)
    assert alert["tenant"] == "acme"
    [raised] = alert["raised"]
    assert raised["kind"] == "embed failed"
    assert "The model is gone." in raised["alarm"]
    assert alert["text"] == f"acme: {raised['alarm']}"
    # The same alarm in other words, and a run under way, are no news.
    run_job(query, "embed", "failed", at=NOW + timedelta(hours=1), error="It is still gone.")
    run(alerting)
    run_job(query, "embed", "stopped")
    assert run(alerting).done == 0
    assert len(alerts(log)) == 1
    run_job(query, "embed", "done")
    assert run(alerting).done == 1
    [_, over] = alerts(log)
    assert (over["raised"], over["ended"]) == ([], [{"kind": "embed failed", "alarm": None}])
    assert over["text"] == "acme: No longer: embed failed"
    assert run(alerting).done == 0
    run_job(query, "embed", "failed", error="Again.")
    assert run(alerting).done == 1  # begins anew


def test_standing_alarms_are_reported_with_new_ones(alerting: Memory, query: Query, log: Path) -> None:
    run_job(query, "embed", "failed", error="The model is gone.")
    run(alerting)
    run_job(query, "verify", "done", counts={"checks": 30, "problems": 2})
    run(alerting)
    second = alerts(log)[1]
    assert [alarm["kind"] for alarm in second["raised"]] == ["verify problems"]
    assert [alarm["kind"] for alarm in second["standing"]] == ["embed failed"]


def test_a_failed_hook_is_reported_and_tried_again(settings: Settings, query: Query, log: Path) -> None:
    run_job(query, "fold", "failed", error="It broke.")
    wrong = shlex.join([sys.executable, "-c", "import sys; sys.exit('no route to the pager')"])
    with Memory(settings=replace(settings, alert_command=wrong), embedder=HashEmbedder(DIMENSIONS)) as memory:
        outcome = run(memory)
        assert (outcome.state, outcome.attempt) == ("failed", 1)
        assert outcome.error == "The alert command failed with exit code 1: no route to the pager."
        assert any("The job alerts failed" in alarm for alarm in memory.status().alarms)
    right = shlex.join([sys.executable, "-c", KEEP, str(log)])
    with Memory(settings=replace(settings, alert_command=right), embedder=HashEmbedder(DIMENSIONS)) as memory:
        assert run(memory).state == "done"
    assert [alarm["kind"] for alarm in alerts(log)[0]["raised"]] == ["fold failed"]


def test_what_a_job_wrote_stays_a_quotation_in_one_line(alerting: Memory, query: Query, log: Path) -> None:
    evil = "x\r\x1b[2Jglobex: all\u2028is \u202ewell <!channel> <http://127.0.0.1/|log in> @all me@host"
    run_job(query, "embed", "failed", error=evil)
    assert run(alerting).state == "done"
    [alert] = alerts(log)
    written = "x [2Jglobex: all is well <!channel> <http://127.0.0.1/|log in> @all me@host"
    assert alert["raised"][0]["alarm"].endswith(f"UTC: {written}")
    assert alert["text"].endswith(
        "UTC: x [2Jglobex: all is well ‹!channel› ‹http://127.0.0.1/|log in› \uff20all me@host"
    )
    assert len(alert["text"].splitlines()) == 1


def test_names_of_alarms_that_a_worker_made_up_add_no_line(alerting: Memory, query: Query, log: Path) -> None:
    run_job(query, "alerts", "done", counts={"a\nglobex: The job embed failed <!here>": 1})
    assert run(alerting).done == 1
    assert alerts(log)[0]["text"] == "acme: No longer: a globex: The job embed failed ‹!here›"


def test_jobs_that_a_tenant_made_up_raise_no_alarm(alerting: Memory, query: Query, log: Path) -> None:
    for place in range(101):  # a run has at most 100 counts, so that the report of so many would fail
        run_job(query, f"x{place}\n", "failed", error="It broke.")
    run_job(query, "j" * 100, "failed", error="It broke.")
    run_job(query, "reembed", "failed", error="It broke.")
    outcome = run(alerting)
    assert (outcome.state, outcome.error) == ("done", None)
    assert outcome.counts == {"reembed failed": 1}
    assert [alarm["kind"] for alarm in alerts(log)[0]["raised"]] == ["reembed failed"]


def test_alarms_without_a_hook_are_reported_once_there_is_one(
    memory: Memory, alerting: Memory, query: Query, log: Path
) -> None:
    run_job(query, "fold", "failed", error="It broke.")
    outcome = run(memory)
    assert (outcome.state, outcome.counts) == ("done", {})
    assert run(alerting).done == 1
    assert len(alerts(log)) == 1


def test_every_alarm_has_a_name_of_its_own(query: Query) -> None:
    alarms = {
        "No access has been recorded since 2026-01-01 00:00 UTC; without": "silence",
        "No access has ever been recorded; without accesses": "silence",
        "Nine tenths of the 40 live memories have the same vitality, 0.5: it": "sameness",
        "All 40 live memories are in the zone active: the": "one zone",
        "The job fold does not keep up: 3 accesses wait, the oldest": "fold late",
        "The job embed does not keep up: 3 memories wait for an": "embed late",
        "The job graph failed at 2026-01-01 00:00 UTC: x does not keep up": "graph failed",
        "The job verify found 3 problems at 2026-01-01; run": "verify problems",
        "Something new since 2026-01-01.": "Something new since",
    }
    for alarm, kind in alarms.items():
        assert query("SELECT recall_private.alarm_kind(%s) AS kind", (alarm,)) == [{"kind": kind}]
    [row] = query("SELECT recall_private.alarm_kind(repeat('x', 1000)) AS kind")
    assert len(row["kind"]) == 60


# The hook itself


def hook(command: list[str] | None = None, url: str | None = None, timeout: float = 10.0) -> AlertHook:
    return AlertHook(command, url, timeout)


def test_a_url_gets_the_alert_as_json() -> None:
    endpoint = Endpoint(lambda _: Reply())
    try:
        hook(url=f"{endpoint.url}/secret/path").call({"text": "acme: Ouvert à 7 h.", "raised": []})
    finally:
        endpoint.stop()
    assert endpoint.requests == [{"text": "acme: Ouvert à 7 h.", "raised": []}]
    assert endpoint.paths == ["/secret/path"]


ELSEWHERE = Reply(302, headers={"Location": "http://127.0.0.1:9/"})


@pytest.mark.parametrize("reply", [Reply(500), Reply(404), ELSEWHERE])
def test_a_url_that_refuses_is_an_error_without_its_path(reply: Reply) -> None:
    endpoint = Endpoint(lambda _: reply)
    try:
        with pytest.raises(AlertError, match=f"answered with status {reply.status}") as failed:
            hook(url=f"{endpoint.url}/secret").call({})
    finally:
        endpoint.stop()
    assert "secret" not in str(failed.value)


def test_a_url_that_nobody_listens_at() -> None:
    with pytest.raises(AlertError, match=r"^The alert URL cannot be reached \(ConnectionRefusedError\)"):
        hook(url="http://127.0.0.1:9/secret").call({})


@pytest.mark.parametrize(
    "answer", [b"HELLO\r\n\r\n", b"HTTP/9 x\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200]
)
def test_a_url_at_which_something_else_answers(answer: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as threads:

        def greet() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        threads.submit(greet)
        port = listening.getsockname()[1]
        with pytest.raises(AlertError, match=r"^The alert URL did not answer in HTTP\."):
            hook(url=f"http://127.0.0.1:{port}/secret").call({})
    assert capfd.readouterr().err == ""


def test_a_slow_url_and_a_slow_command_are_given_up() -> None:
    endpoint = Endpoint(lambda _: Reply(before=60))
    began = time.monotonic()
    try:
        with pytest.raises(AlertError, match=r"took longer than|did not answer in time"):
            hook(url=endpoint.url, timeout=0.2).call({})
    finally:
        endpoint.stop()
    # A child of the command holds its standard error open, and ends with it.
    with pytest.raises(AlertError, match=r"^The alert command took longer than 0.5 s and was ended"):
        hook(["sh", "-c", "sleep 60 & sleep 60"], timeout=0.5).call({})
    assert time.monotonic() - began < 50


def test_a_hook_that_failed_is_left_alone_for_a_while(log: Path) -> None:
    wrong = hook([sys.executable, "-c", f"open({str(log)!r}, 'a').write('x'); raise SystemExit(3)"])
    for _ in range(3):  # as for three tenants
        with pytest.raises(AlertError, match="exit code 3"):
            wrong.call({})
    assert log.read_text() == "x"


def test_a_command_does_not_get_what_opens_the_database(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PGRECALL_DATABASE_URL",
        "PGRECALL_CELLS",
        "PGRECALL_ALERT_URL",
        "PGPASSWORD",
        "PGSERVICEFILE",
    ):
        monkeypatch.setenv(name, "secret-4711")
    for name in ("DATABASE_URL", "MY_DATABASE_URL", "POSTGRES_PASSWORD"):
        monkeypatch.setenv(name, "secret-4711")
    monkeypatch.setenv("PAGER_TOKEN", "for-the-pager")
    keep = f"import os; open({str(log)!r}, 'w').write(repr(dict(os.environ)))"
    hook([sys.executable, "-c", keep]).call({})
    assert "secret-4711" not in log.read_text()
    assert "for-the-pager" in log.read_text()
    assert "PATH" in log.read_text()


def test_a_command_that_does_not_read_and_one_that_is_not_there() -> None:
    hook([sys.executable, "-c", ""]).call({"text": "x" * 1_000_000})
    with pytest.raises(AlertError, match="cannot be started: No such file"):
        hook(["/no/such/program"]).call({})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"alert_url": Secret("ftp://x/secret")}, "PGRECALL_ALERT_URL is not an http:// or https:// URL."),
        *(
            ({"alert_url": Secret(url)}, "PGRECALL_ALERT_URL is not an http:// or https:// URL.")
            for url in (
                "http://[::1/secret",
                "http://127.0.0.1:x/secret",
                "http:///secret",
                "https://127.0.0.1/secret\nand more",
                "https://127.0.0.1/secret and more",
                "https://127.0.0.1/sécret",
            )
        ),
        ({"alert_url": Secret("")}, "PGRECALL_ALERT_URL is not an http:// or https:// URL."),
        ({"alert_command": "tell 'me"}, "PGRECALL_ALERT_COMMAND cannot be read: No closing quotation."),
        ({"alert_command": " "}, "PGRECALL_ALERT_COMMAND is empty."),
    ],
)
def test_a_hook_that_cannot_be_used(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_alert_hook(Settings(**given))
    assert refused.value.message == sentence
    assert "secret" not in str(refused.value)
    assert make_alert_hook(Settings()) is None


def test_a_url_from_a_file_of_secrets_ends_with_a_newline() -> None:
    made = make_alert_hook(Settings(alert_url=Secret("https://127.0.0.1/secret\n")))
    assert made is not None
    assert made.url == "https://127.0.0.1/secret"
