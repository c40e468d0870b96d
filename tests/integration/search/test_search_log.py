"""What a search shows is logged: when, as what, and that search does not depend on it."""

from __future__ import annotations

from datetime import datetime

import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Access, InvalidInput, Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query

pytestmark = pytest.mark.in_turns

SHOWN = "SELECT memory_id, weight, session_id FROM recall.access WHERE kind = 'retrieval' ORDER BY memory_id"


@pytest.fixture
def harbour(memory: Memory) -> list[int]:
    return [memory.remember(f"The harbour contract, part {part}", key=f"k{part}").id for part in range(3)]


def test_each_hit_is_logged_as_shown(memory: Memory, query: Query, harbour: list[int]) -> None:
    shown = memory.search("harbour contract", k=2, session_id="s-1").hits
    assert query(SHOWN) == [
        {"memory_id": hit, "weight": 0.1, "session_id": "s-1"} for hit in sorted(hit.id for hit in shown)
    ]
    [waiting] = query("SELECT memory_ids FROM recall.access_queue")
    assert sorted(waiting["memory_ids"]) == sorted(hit.id for hit in shown)


def test_a_search_that_finds_nothing_logs_nothing(memory: Memory, query: Query, harbour: list[int]) -> None:
    assert memory.search("zebra crossing", layers=("entity",)).no_match
    assert query(SHOWN) == []
    assert query("SELECT FROM recall.access_queue") == []


def test_a_question_about_another_moment_is_not_logged(
    memory: Memory, query: Query, harbour: list[int], now: datetime
) -> None:
    memory.search("harbour", now=now)
    memory.search("harbour", log=False)
    assert query(SHOWN) == []


def test_ten_times_shown_is_one_use_once_folded(memory: Memory, query: Query, harbour: list[int]) -> None:
    for turn in range(10):
        memory.search("harbour", session_id=f"s-{turn}")
    before = memory.get("k0").vitality.accesses
    query("SELECT recall.fold_accesses()")
    assert (before, memory.get("k0").vitality.accesses) == (1, 2)


def test_repeating_a_question_in_a_session_shows_it_once(
    memory: Memory, query: Query, harbour: list[int]
) -> None:
    for _ in range(30):
        memory.search("harbour", session_id="s")
    query("SELECT recall.fold_accesses()")
    assert query("SELECT DISTINCT credit FROM recall.activation") == [{"credit": 0.1}]


def test_a_database_that_can_only_be_read_still_answers(
    database_url: str, memory: Memory, query: Query, harbour: list[int]
) -> None:
    url = make_conninfo(database_url, options="-c default_transaction_read_only=on")
    settings = Settings(tenant="acme", embedder="hash", embedder_dimensions=DIMENSIONS)
    with Memory(url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as standby:
        result = standby.search("harbour contract")
        assert {hit.id for hit in result.hits} == set(harbour)
        assert result.skipped == ("log: the database is read-only, so hits were not logged",)
        assert standby.search("harbour contract", log=False).skipped == ()
    assert query(SHOWN) == []


def test_shown_and_used_are_distinguished(memory: Memory, query: Query, harbour: list[int]) -> None:
    memory.search("harbour", session_id="s")
    memory.record_accesses([Access("k0", "used", session_id="s")])
    kinds = query("SELECT kind, count(*) FROM recall.access WHERE session_id = 's' GROUP BY kind ORDER BY 1")
    assert kinds == [{"kind": "retrieval", "count": 3}, {"kind": "used", "count": 1}]


def test_a_session_that_cannot_be_found_again_is_refused(memory: Memory, harbour: list[int]) -> None:
    with pytest.raises(InvalidInput, match=r"The session id has 1,?001 bytes; the limit is 1,000"):
        memory.search("harbour", session_id="x" * 1001)
    with pytest.raises(InvalidInput, match="session id"):
        memory.search("harbour", session_id="\0")
