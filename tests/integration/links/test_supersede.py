"""supersede: the new fact wins, the old one stays and says why."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pgrecall import InvalidInput, Memory, MemoryNotFound
from tests.waiting import PATIENCE

pytestmark = pytest.mark.in_turns


@pytest.fixture
def offices(memory: Memory) -> Memory:
    memory.remember("The office is at Pier 4", key="old")
    memory.remember("The office is at the Ropeworks", key="new")
    return memory


def found(memory: Memory, *, include_superseded: bool = False) -> set[str | None]:
    return {hit.key for hit in memory.search("office", include_superseded=include_superseded).hits}


def test_the_old_one_leaves_default_search(offices: Memory) -> None:
    assert offices.supersede("old", "new") is True
    assert found(offices) == {"new"}
    assert found(offices, include_superseded=True) == {"old", "new"}


def test_both_say_so(offices: Memory) -> None:
    offices.supersede("old", "new")
    old, new = offices.get("old"), offices.get("new")
    assert old.superseded_by == new.id
    assert [(link.relation, link.other, link.outgoing) for link in new.links] == [
        ("supersedes", old.id, True)
    ]


def test_correction_is_no_reference(offices: Memory) -> None:
    before = offices.get("old").vitality.revival
    offices.supersede("old", "new")
    assert offices.get("old").vitality.revival == before == 0


def test_twice_is_known(offices: Memory) -> None:
    offices.supersede("old", "new")
    assert offices.supersede("old", "new") is False


def test_a_newer_one_takes_over(offices: Memory) -> None:
    offices.remember("The office is at the Lighthouse", key="newest")
    offices.supersede("old", "new")
    offices.supersede("new", "newest")
    assert offices.supersede("old", "newest") is True
    assert found(offices) == {"newest"}


def test_no_circle_at_any_remove(offices: Memory) -> None:
    offices.remember("The office is at the Lighthouse", key="newest")
    offices.supersede("old", "new")
    offices.supersede("new", "newest")
    with pytest.raises(InvalidInput, match="already supersedes it"):
        offices.supersede("newest", "old")
    assert found(offices) == {"newest"}


def test_concurrent_supersessions_close_no_circle(offices: Memory) -> None:
    barrier = threading.Barrier(2)

    def say(pair: tuple[str, str]) -> bool:
        barrier.wait(timeout=PATIENCE)
        try:
            return offices.supersede(*pair)
        except InvalidInput:
            return False

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(say, [("old", "new"), ("new", "old")]))
    assert sorted(outcomes) == [False, True]


def test_not_itself(offices: Memory) -> None:
    with pytest.raises(InvalidInput, match="cannot supersede itself"):
        offices.supersede("old", "old")


@pytest.mark.parametrize("pair", [("old", "nowhere"), ("nowhere", "new"), (10**30, "new")])
def test_both_must_be_there(offices: Memory, pair: tuple[int | str, int | str]) -> None:
    with pytest.raises(MemoryNotFound):
        offices.supersede(*pair)
    assert found(offices) == {"old", "new"}


def test_deleting_the_successor_brings_the_old_one_back(offices: Memory) -> None:
    offices.supersede("old", "new")
    offices.forget("new", hard=True)
    assert found(offices) == {"old"}
