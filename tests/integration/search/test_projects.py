"""Searches in a project: its memories first, those of others only where they are clearly better, or never."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput
from pgrecall.search.explained_numbers import terms
from pgrecall.search.explanation import sentence
from pgrecall.search.projects import OTHER_PROJECT

pytestmark = pytest.mark.in_turns
QUESTION = "Which port does the service listen at?"


def tell(memory: Memory) -> None:
    for key, project, port in (("ours", "clock", 8080), ("theirs", "winch", 9090), ("nobodys", None, 7070)):
        memory.remember(
            f"The service listens at port {port}.", key=key, metadata={"project": project} if project else {}
        )


def keys(memory: Memory, query: str = QUESTION, **options: object) -> list[str | None]:
    return [hit.key for hit in memory.search(query, **options).hits]  # type: ignore[arg-type]


def test_memories_of_another_project_come_last(memory: Memory) -> None:
    tell(memory)
    assert keys(memory, project="clock")[-1] == "theirs"
    assert keys(memory, project="winch")[-1] == "ours"
    assert set(keys(memory, project="clock")) == set(keys(memory))


def test_what_is_of_another_project_is_explained_and_loses_a_fixed_share_of_its_odds(memory: Memory) -> None:
    tell(memory)
    alone = {hit.key: hit for hit in memory.search(QUESTION, log=False).hits}
    asked = {hit.key: hit for hit in memory.search(QUESTION, project="clock", log=False).hits}
    assert asked["ours"].relevance == pytest.approx(alone["ours"].relevance)
    assert asked["nobodys"].relevance == pytest.approx(alone["nobodys"].relevance)

    def log_odds(probability: float) -> float:
        return math.log(probability / (1 - probability))

    lost = log_odds(asked["theirs"].relevance) - log_odds(alone["theirs"].relevance)
    assert lost == pytest.approx(OTHER_PROJECT)
    explanation = asked["theirs"].explanation
    assert explanation["project"] == {"name": "winch", "log_odds": OTHER_PROJECT}
    assert "It is of another project, winch, which divides its odds by 8." in sentence(explanation)
    assert ("project", "winch; log-odds −2.08") in terms(explanation)
    assert "project" not in asked["ours"].explanation


def test_the_confidence_is_that_of_the_project(memory: Memory) -> None:
    memory.remember("The service listens at port 9090.", key="theirs", metadata={"project": "winch"})
    ours, theirs, alone = (
        memory.search(QUESTION, project=one).confidence for one in ("clock", "winch", None)
    )
    assert ours is not None
    assert theirs == pytest.approx(alone)
    assert theirs is not None
    assert ours < theirs
    assert memory.context(QUESTION, project="clock", min_confidence=(ours + theirs) / 2).hits == ()
    assert memory.context(QUESTION, project="winch", min_confidence=(ours + theirs) / 2).hits


def test_what_is_clearly_better_is_found_in_spite_of_its_project(memory: Memory) -> None:
    memory.remember("The mast is of spruce.", key="ours", metadata={"project": "clock"})
    memory.remember("The service listens at port 9090.", key="theirs", metadata={"project": "winch"})
    assert keys(memory, project="clock")[0] == "theirs"


def test_only_the_project(memory: Memory) -> None:
    tell(memory)
    assert keys(memory, project="clock", project_only=True) == ["ours"]
    assert keys(memory, project="clock", project_only=True, metadata={"project": "winch"}) == ["ours"]
    within = memory.for_project("clock", only=True)
    assert keys(within) == ["ours"]
    assert [hit.key for hit in within.context(QUESTION).hits] == ["ours"]
    assert keys(within, project=None, project_only=False)[0] is not None


def test_a_view_keeps_its_project_in_a_session_and_beside_others(memory: Memory) -> None:
    tell(memory)
    within = memory.for_project("clock").session("s1")
    assert keys(within)[-1] == "theirs"
    assert keys(within, project="winch")[-1] == "ours"
    assert set(keys(memory)) == {"ours", "theirs", "nobodys"}


def test_what_is_shown_is_logged_once(memory: Memory) -> None:
    tell(memory)
    result = memory.search(QUESTION, project="clock", k=1)
    assert memory.used(result.search_id, result.hits[0].id) == 1
    with pytest.raises(InvalidInput):
        memory.used(result.search_id, "theirs")


def test_a_project_that_is_no_text_is_nobodys(memory: Memory) -> None:
    memory.remember("The service listens at port 9090.", key="odd", metadata={"project": {"name": "winch"}})
    [hit] = memory.search(QUESTION, project="clock").hits
    assert "project" not in hit.explanation


def test_a_window_and_sub_queries(memory: Memory) -> None:
    tell(memory)
    since = memory.search(since=memory.list()[-1].happened_at, project="clock")
    assert len(since.hits) == 3
    assert keys(memory, "", queries=(QUESTION, "port"), project="clock")[-1] == "theirs"


@pytest.mark.parametrize("project", ["", "  ", "x" * 1001, "a\x00b"])
def test_what_is_no_project_is_refused(project: str, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"[Tt]he project"):
        memory.search(QUESTION, project=project)


def test_only_without_a_project_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="project_only needs a project"):
        memory.search(QUESTION, project_only=True)
    with pytest.raises(InvalidInput, match="The project has no name"):
        memory.for_project("")


def test_what_is_remembered_in_a_project_gets_it(memory: Memory) -> None:
    within = memory.for_project("clock")
    for number, fields in enumerate(({}, {"key": "new"}, {"metadata": {"shelf": 2}})):
        stored = within.remember(f"Lamp {number} hangs in the hall.", compare=False, **fields)  # type: ignore[arg-type]
        assert within.get(stored.id).metadata == {"project": "clock", **fields.get("metadata", {})}  # type: ignore[dict-item]
    stored = within.remember("The mast is of spruce.", metadata={"project": "winch"})
    assert memory.get(stored.id).metadata == {"project": "winch"}


def test_a_memory_that_exists_keeps_its_metadata_in_a_project(memory: Memory) -> None:
    memory.remember("The service listens at port 9090.", key="theirs", metadata={"project": "winch"})
    memory.remember("The service listens at port 7070.", key="nobodys")
    within = memory.for_project("clock")
    for key, metadata in (("theirs", {"project": "winch"}), ("nobodys", {})):
        assert within.remember("The service listens at port 6060.", key=key).outcome == "updated"
        assert memory.get(key).metadata == metadata


def test_many_and_imported_memories_get_the_project_too(memory: Memory) -> None:
    memory.remember("The winch is oiled.", key="old")
    within = memory.for_project("clock")
    drafts = [
        Draft("The lamp hangs in the hall.", key="new"),
        Draft("The mast is of spruce.", key="other", metadata={"project": "winch"}),
        Draft("The winch is oiled in spring.", key="old"),
        Draft("The hall is long."),
    ]
    stored = within.remember_many(drafts)
    found = [memory.get(one.id).metadata for one in stored]
    assert found == [{"project": "clock"}, {"project": "winch"}, {}, {"project": "clock"}]
    imported = [Draft("A note.", key="note"), Draft("Another.", key="more", metadata={"page": 3})]
    within.import_drafts(imported, source="notes")
    assert memory.get("note").metadata == {"project": "clock"}
    assert memory.get("more").metadata == {"project": "clock", "page": 3}


def test_two_that_remember_one_key_at_once_in_a_project_agree(memory: Memory) -> None:
    """The default is chosen in the transaction that stores: nobody asks first whether the key is new."""
    within = memory.for_project("clock")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda number: within.remember(f"Lamp {number}.", key="one"), range(8)))
    assert {one.key for one in done} == {"one"}
    assert memory.get("one").metadata == {"project": "clock"}
