"""The blocks of a context: directives, what changed lately, and memories, each within its share."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from pgrecall import ContextBlock, Draft, InvalidInput, Memory, Settings
from pgrecall.search.context.rendering import DIRECTIVES_HEADING, HEADING, STATE_HEADING

pytestmark = pytest.mark.in_turns

HOUR = timedelta(hours=1)


@pytest.fixture
def harbour(memory: Memory, now: datetime) -> Memory:
    """What answers, an instruction, and what happened since."""
    memory.remember_many(
        [
            Draft("The harbour crane lifts forty tonnes", key="crane", occurred_at=now - 9000 * HOUR),
            Draft("Always call the harbour crane Hilda", key="rule", role="user", speech_act="instruction"),
            Draft("Mira is on leave", key="leave", occurred_at=now - HOUR),
            Draft("The office moved to the Ropeworks", key="office", occurred_at=now - 2 * HOUR),
            Draft("When does she come back?", key="asked", role="user", occurred_at=now - HOUR / 2),
            Draft("The tide gauge was painted", key="gauge", occurred_at=now - 9600 * HOUR),
        ],
        now=now,
    )
    return memory


def context(memory: Memory, now: datetime, query: str = "harbour crane", **options: object) -> ContextBlock:
    return memory.context(query, now=now, **options)  # type: ignore[arg-type]


def keys(block: ContextBlock) -> list[str | None]:
    return [hit.key for hit in block.hits]


def test_without_a_share_there_is_no_block_of_what_changed(harbour: Memory, now: datetime) -> None:
    block = context(harbour, now)
    assert "leave" not in keys(block)
    assert STATE_HEADING not in block.text


def test_the_blocks_are_in_their_order(harbour: Memory, now: datetime) -> None:
    block = context(harbour, now, state_share=0.3)
    assert keys(block)[:3] == ["rule", "leave", "office"], "newest first, without questions"
    assert "crane" in keys(block)
    assert [block.text.index(one) for one in (DIRECTIVES_HEADING, STATE_HEADING, HEADING)] == sorted(
        block.text.index(one) for one in (DIRECTIVES_HEADING, STATE_HEADING, HEADING)
    )
    assert [source.number for source in block.sources] == list(range(1, len(block.sources) + 1))


def test_no_block_takes_more_than_its_share(harbour: Memory, now: datetime) -> None:
    alone = context(harbour, now, directive_share=0, state_share=0)
    assert keys(alone) == ["crane"]
    assert [(one.key, one.reason) for one in alone.left_out if one.key == "rule"] == [("rule", "over_budget")]
    narrow = context(harbour, now, budget_tokens=alone.tokens, directive_share=0.1, state_share=0.1)
    assert keys(narrow) == ["crane"], "the answer is not cut for what changed lately"


def test_what_changed_is_shown_where_nothing_answers(harbour: Memory, now: datetime) -> None:
    block = context(harbour, now, "quantum chromodynamics", state_share=0.3)
    assert "crane" not in keys(block)
    assert "leave" in keys(block)


def test_what_was_found_and_changed_lately_is_shown_once(harbour: Memory, now: datetime) -> None:
    block = context(harbour, now, "Mira is on leave", state_share=0.5)
    assert keys(block).count("leave") == 1
    assert block.text.count("> Mira is on leave") == 1


def test_turns_and_filters_keep_memories_out(harbour: Memory, now: datetime) -> None:
    said = [{"role": "assistant", "content": "Mira is on leave"}]
    assert "leave" not in keys(context(harbour, now, state_share=0.3, conversation=said))
    elsewhere = context(harbour, now, state_share=0.3, until=now - timedelta(days=30))
    assert "office" not in keys(elsewhere)


def test_settings_give_the_shares(harbour: Memory, settings: Settings, now: datetime) -> None:
    del harbour  # its memories are there
    with Memory(settings=replace(settings, context_state=0.3, context_directives=0.0)) as memory:
        block = context(memory, now)
        assert "leave" in keys(block)
        assert "rule" not in keys(block)
        assert "leave" not in keys(context(memory, now, state_share=0))


@pytest.mark.parametrize("name", ["directive_share", "state_share"])
def test_a_share_lies_between_0_and_1(memory: Memory, now: datetime, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} is 1.5"):
        context(memory, now, **{name: 1.5})
