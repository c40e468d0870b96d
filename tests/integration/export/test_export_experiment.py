"""An experiment that runs is exported and goes on after the import: its settings, arms and outcomes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta

import pytest

from pgrecall import Draft, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.nouns.quality.models import Experiment
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query, new_database

SESSIONS = [f"talk {number}" for number in range(12)]


@pytest.fixture
def elsewhere(server: EmbeddedServer, template: str) -> Iterator[Memory]:
    """A tenant of the same name in another database."""
    for url in new_database(server, template):
        settings = Settings(database_url=url, tenant="acme", embedder="hash")
        with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            yield memory


@pytest.fixture
def exported(memory: Memory) -> bytes:
    """Twelve sessions, of which some report what they used and some use it without saying so."""
    memory.remember_many([Draft("The harbour report of the winter")], now=NOW - timedelta(days=5))
    memory.settings.set("search.experiment", 7)
    memory.settings.set("search.experiment_weight", 2)
    for place, session in enumerate(SESSIONS):
        found = memory.search("harbour report", session_id=session)
        if place % 3 == 0:
            memory.used(found.search_id, [found.hits[0].id])
        elif place % 3 == 1:
            memory.record_access(found.hits[0].id, "used", session_id=session)
    memory.search("harbour report")
    memory.search("harbour report", session_id=SESSIONS[0], vitality_weight=1)
    file = io.BytesIO()
    memory.export.write(file, now=NOW)
    return file.getvalue()


def arms(report: Experiment) -> dict[str, tuple[int, int, int]]:
    return {arm.arm: (arm.sessions, arm.searches, arm.used) for arm in report.arms}


def test_it_goes_on_in_a_tenant_of_the_same_name(memory: Memory, exported: bytes, elsewhere: Memory) -> None:
    before = memory.quality.experiment()
    assert all(sessions > 0 for sessions, _, _ in arms(before).values())
    assert sum(used for _, _, used in arms(before).values()) == 8
    elsewhere.export.read(io.BytesIO(exported))
    assert elsewhere.quality.experiment() == before
    for each in (memory, elsewhere):
        for session in [*SESSIONS, "a new talk"]:
            each.search("harbour report", session_id=session)
    after = elsewhere.quality.experiment()
    assert arms(after) == arms(memory.quality.experiment())
    assert sum(searches for _, searches, _ in arms(after).values()) == 25
    assert (after.without_session, after.not_assigned) == (1, 1)


def test_sessions_that_change_their_arm_under_another_name_are_not_counted(
    memory: Memory, query: Query, exported: bytes
) -> None:
    """Their searches would count for both arms."""
    other = memory.for_tenant("other")
    other.export.read(io.BytesIO(exported))
    assert other.quality.experiment() == memory.quality.experiment()
    for session in SESSIONS:
        other.search("harbour report", session_id=session)
    rows = query(
        "SELECT recall_private.experiment_arm('acme', 7, s) <> recall_private.experiment_arm('other', "
        "7, s) AS changed "
        "FROM unnest(%s::text[]) s",
        (SESSIONS,),
    )
    changed = sum(row["changed"] for row in rows)
    assert 0 < changed < len(SESSIONS)
    report = other.quality.experiment()
    kept = len(SESSIONS) - changed
    assert sum(sessions for sessions, _, _ in arms(report).values()) == kept
    assert sum(searches for _, searches, _ in arms(report).values()) == 2 * kept
    assert (report.without_session, report.not_assigned) == (1, 1 + 2 * changed)
