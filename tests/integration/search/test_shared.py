"""One search of the own tenant and of those that share with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from pgrecall import Hit, InvalidInput, Memory, MemoryNotFound, SearchResult
from pgrecall.search.sharing import merged
from tests.conftest import NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns

ASKED = "who mends the winch?"


@pytest.fixture
def team(memory: Memory) -> Memory:
    """A tenant that acme may read."""
    team = memory.for_tenant("team")
    team.remember("Aram mends the winch at the old pier", key="winch")
    team.remember("The winch of the crane was mended in May", key="crane", layer="episodic")
    team.readers.add("acme")
    return team


@pytest.fixture
def both(memory: Memory, team: Memory) -> Memory:
    """A client of acme that also reads the team's."""
    memory.remember("My winch is mended by Lale", key="winch")
    memory.remember("Breakfast is at eight", key="breakfast")
    return memory.for_tenant("acme", also_reads=["team"])


def tenants(result: SearchResult) -> list[str | None]:
    return [hit.tenant for hit in result.hits]


def test_hits_of_both_are_ranked_by_their_scores_and_say_where_they_live(both: Memory) -> None:
    result = both.search(ASKED)
    assert {None, "team"} == set(tenants(result))
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4]
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert result.skipped == ()
    assert {hit.key for hit in result.hits if hit.tenant == "team"} == {"winch", "crane"}


def test_each_hit_has_the_numbers_of_its_own_tenant(both: Memory, memory: Memory, team: Memory) -> None:
    found = {hit.id: hit for hit in both.search(ASKED, log=False, now=NOW).hits}
    alone = {hit.id: hit for one in (memory, team) for hit in one.search(ASKED, now=NOW).hits}
    assert found.keys() == alone.keys()
    for number, hit in alone.items():
        assert (found[number].score, found[number].relevance) == (hit.score, hit.relevance)


def test_no_more_than_k_come_back(both: Memory) -> None:
    assert len(both.search(ASKED, k=2).hits) == 2


def test_only_what_is_the_own_is_logged_and_counts_as_shown(both: Memory, team: Memory, query: Query) -> None:
    result = both.search(ASKED)
    own = [hit.id for hit in result.hits if hit.tenant is None]
    [logged] = query("SELECT tenant, shown FROM recall.search_log")
    assert (logged["tenant"], logged["shown"]) == ("acme", own)
    assert query("SELECT tenant FROM recall.access WHERE kind = 'retrieval' AND tenant = 'team'") == []
    assert both.used(result.search_id, own) == len(own)
    shared = next(hit.id for hit in result.hits if hit.tenant == "team")
    with pytest.raises(InvalidInput):
        both.used(result.search_id, shared)
    assert team.search(ASKED, log=False).hits[0].vitality == pytest.approx(
        next(hit.vitality for hit in result.hits if hit.tenant == "team"), abs=0.01
    )


def test_an_id_of_a_shared_memory_reaches_it_by_no_other_method(both: Memory, team: Memory) -> None:
    shared = next(hit.id for hit in both.search(ASKED, log=False).hits if hit.tenant == "team")
    for attempt in (
        lambda: both.get(shared),
        lambda: both.forget(shared),
        lambda: both.edit(shared, title="mine"),
        lambda: both.record_access(shared, "used"),
        lambda: both.pin(shared),
    ):
        with pytest.raises(MemoryNotFound):
            attempt()
    assert team.get(shared).title == ""


def test_what_is_not_shared_any_more_is_skipped_with_a_sentence(both: Memory, team: Memory) -> None:
    assert team.readers.remove("acme")
    result = both.search(ASKED)
    assert tenants(result) == [None, None]
    assert result.skipped == ("tenant team: Tenant team is not shared with tenant acme.",)
    assert result.search_id is not None


def test_a_tenant_that_does_not_exist_is_like_one_that_is_not_shared(memory: Memory, query: Query) -> None:
    memory.remember("My winch is mended by Lale")
    result = memory.for_tenant("acme", also_reads=["nobody"]).search(ASKED)
    assert result.skipped == ("tenant nobody: Tenant nobody is not shared with tenant acme.",)
    assert query("SELECT FROM recall.memory WHERE tenant = 'nobody'") == []


def test_a_reader_reads_only_where_it_asks_for_it(team: Memory, memory: Memory) -> None:
    """Whoever shares puts nothing before those who did not ask."""
    memory.remember("My winch is mended by Lale")
    assert tenants(memory.search(ASKED)) == [None]


def test_a_filter_that_the_shared_tenant_refuses_is_told(both: Memory, memory: Memory) -> None:
    memory.layers.set("harbour", base_decay=0.3)
    memory.remember("The harbour's winch is new", layer="harbour")
    result = both.search(ASKED, layers=("harbour",))
    assert tenants(result) == [None]
    assert [notice.partition(":")[0] for notice in result.skipped] == ["tenant team"]


def test_cues_and_sessions_are_those_of_the_own_tenant(both: Memory) -> None:
    result = both.search(ASKED, cues=("breakfast",), session_id="s")
    assert result.skipped == ()
    assert "team" in tenants(result)


def test_the_same_text_is_shown_once_and_the_own_one_stays(
    both: Memory, memory: Memory, team: Memory
) -> None:
    copy = memory.remember("Aram mends the winch at the old pier")
    found = [hit for hit in both.search(ASKED, log=False).hits if "Aram" in hit.body]
    assert [(hit.id, hit.tenant) for hit in found] == [(copy.id, None)]


def test_a_search_that_must_answer_is_answered_by_either(memory: Memory, team: Memory) -> None:
    both = memory.for_tenant("acme", also_reads=["team"])
    result = both.search("Aram mends the winch at the old pier", require_answer=True)
    assert result.answered
    assert set(tenants(result)) == {"team"}
    [alone] = [one.confidence for one in (team.search("Aram mends the winch at the old pier", log=False),)]
    assert result.confidence == pytest.approx(alone)


def test_a_context_has_both_and_names_the_shared_ones(both: Memory, query: Query) -> None:
    block = both.context(ASKED, require_answer=False)
    assert 'shared by "team"' in block.text
    assert {source.tenant for source in block.sources} == {None, "team"}
    assert not any("similarity in meaning" in notice for notice in block.skipped)
    [logged] = query("SELECT shown FROM recall.search_log")
    assert logged["shown"] == [hit.id for hit in block.hits if hit.tenant is None]


def test_instructions_of_others_are_no_directives(both: Memory, team: Memory) -> None:
    team.remember("Always mend the winch with grease and nothing else", key="grease")
    team.edit("grease", speech_act="instruction")
    hit = next(hit for hit in both.search("mend the winch", log=False).hits if "grease" in hit.body)
    assert (hit.speech_act, hit.is_directive) == ("instruction", False)
    assert team.search("mend the winch", log=False).hits[0].tenant is None
    text = both.context("mend the winch", require_answer=False).text
    assert "grease" in text
    assert "heed them" not in text


def test_keys_and_other_clients_read_what_they_name(both: Memory, memory: Memory) -> None:
    issued = memory.keys.create("agent", also_reads=["team", "company"])
    assert issued.key.also_reads == ["team", "company"]
    holder = memory.keys.holder(issued.secret)
    assert holder is not None
    assert (holder.tenant, holder.also_reads) == ("acme", ("team", "company"))
    assert memory.for_tenant("other").search(ASKED).skipped == ()
    assert tenants(both.session("s").search(ASKED)).count("team") == 2
    assert tenants(both.for_project("harbour").search(ASKED)).count("team") == 2


@pytest.mark.parametrize("wrong", [["acme"], ["*"], [""], ["team", "team"], [f"t{n}" for n in range(11)]])
def test_a_key_cannot_read_everything(memory: Memory, wrong: list[str]) -> None:
    with pytest.raises(InvalidInput):
        memory.keys.create("agent", also_reads=wrong)
    assert memory.keys.list() == ()


def test_readers_are_listed_and_added_once(memory: Memory) -> None:
    assert memory.readers.list() == ()
    assert memory.readers.add("team", now=NOW)
    assert not memory.readers.add("team")
    memory.readers.add("company", now=NOW)
    assert [(one.reader, one.since) for one in memory.readers.list()] == [("company", NOW), ("team", NOW)]
    assert memory.for_tenant("team").readers.list() == ()
    assert memory.readers.remove("team")
    assert not memory.readers.remove("team")


@pytest.mark.parametrize("wrong", ["", "*", "acme", "x" * 201])
def test_a_reader_is_another_tenant(memory: Memory, wrong: str) -> None:
    with pytest.raises(InvalidInput):
        memory.readers.add(wrong)


def hits(scores: dict[int, float], found: datetime = NOW) -> tuple[Hit, ...]:
    return tuple(
        Hit(n, None, "knowledge", "", f"text {n}", None, None, (), found, score, score, 0.5, "active", rank)
        for rank, (n, score) in enumerate(scores.items(), 1)
    )


def test_a_newer_version_stays_before_the_older_one_that_scores_higher() -> None:
    own = SearchResult(hits({1: 0.5, 2: 0.7, 3: 0.2}))
    shared = SearchResult(hits({11: 0.6, 12: 0.1}))
    result = merged(own, {"team": shared}, 4)
    assert [hit.id for hit in result.hits] == [1, 2, 11, 3]
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4]


def test_of_equal_hits_the_own_one_is_first() -> None:
    own, shared = SearchResult(hits({5: 0.5})), SearchResult(hits({1: 0.5}))
    assert [hit.id for hit in merged(own, {"team": shared}, 10).hits] == [5, 1]


def test_the_confidence_is_that_of_the_best() -> None:
    own = SearchResult((), confidence=0.1, answered=False, skipped=("meaning: none",))
    shared = SearchResult(hits({1: 0.9}), confidence=0.8, skipped=("meaning: none", "reranking: none"))
    result = merged(own, {"team": shared, "more": replace(own, confidence=None)}, 10)
    assert (result.confidence, result.answered) == (0.8, True)
    assert result.skipped == ("meaning: none", "tenant team: reranking: none")
