"""What a failed job leaves in the database and the log quotes no memory: its readers are operators."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from pgrecall import Memory
from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.job import Job, JobContext
from pgrecall.jobs.runner import Runner
from tests.conftest import NOW
from tests.databases import Query

SECRET = "canary-of-a-diary"
FAILURES = {
    "a cast": ("PERFORM b::int", "22P02"),
    "a constraint": ("INSERT INTO recall.canary VALUES (b), (b)", "23505"),
    "a check": ("INSERT INTO recall.canary VALUES (b || '!')", "23514"),
    "a pattern": ("PERFORM 'x' ~ ('(' || b)", "2201B"),
    "a query": ("EXECUTE 'SELECT ' || quote_literal(b) || b", "42601"),
    "a name": ("EXECUTE format('SELECT %I', b)", "42703"),
    "a number": ("PERFORM to_number(b, repeat('9', 2) || b)", "22P02"),
}
"""Errors of which most quote the text `b` of a memory in their message, the others in a detail."""


@pytest.fixture
def runner(database_url: str) -> Iterator[Runner]:
    database = Database(database_url)
    database.open()
    yield Runner(database, pauses=(0.0, 0.0))
    database.close()


def failing(query: Query, doing: str) -> None:
    """Makes the job `verify` fail with a message that quotes a memory."""
    query("CREATE TABLE recall.canary (b text PRIMARY KEY CHECK (b NOT LIKE '%!'))")
    query("GRANT ALL ON recall.canary TO public")
    query(
        "CREATE OR REPLACE FUNCTION recall.verify(p_now timestamptz DEFAULT now()) RETURNS jsonb "
        "LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$ "
        f"DECLARE b text := (SELECT m.body FROM recall.memory m); BEGIN {doing}; RETURN '{{}}'; END $$"
    )


@pytest.mark.parametrize("kind", FAILURES)
def test_an_error_of_postgres_is_kept_without_values(
    memory: Memory, runner: Runner, query: Query, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    doing, state = FAILURES[kind]
    memory.remember(SECRET)
    failing(query, doing)
    with caplog.at_level(logging.DEBUG):
        [outcome] = runner.sweep(job_named("verify"), [memory.tenant], now=NOW)
        assert outcome.state == "failed"
        query("SELECT recall.run_due_job(ARRAY['verify'], %s)", (NOW.replace(year=2027),))
    kept = query("SELECT r.error FROM recall.job_run r WHERE r.state = 'failed' ORDER BY r.id")
    assert len(kept) in (2, 4)  # some kinds are tried three times
    assert all(f"(SQLSTATE {state})" in row["error"] for row in kept), kept
    told = [outcome, kept, memory.status(), memory.jobs.runs(), caplog.text]
    assert not [one for one in told if SECRET in str(one)]


def test_an_unexpected_error_is_kept_and_logged_without_its_message(
    memory: Memory, runner: Runner, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    def run(context: JobContext) -> None:
        json.loads(f"{{{SECRET}")
        raise ValueError(SECRET)

    with caplog.at_level(logging.DEBUG):
        [outcome] = runner.sweep(Job("verify", "Breaks.", run), [memory.tenant], now=NOW)
    assert outcome.error == "An unexpected JSONDecodeError; see the log."
    assert "json.loads(" in caplog.text
    assert SECRET not in caplog.text.replace('f"{{{SECRET}"', "")
