"""A query that refers to its conversation is completed by it; turns that are in the prompt are no hits."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import Draft
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.search.conversations import read_turns
from tests.databases import Query

ASKED = (
    ConversationTurn("user", "The leeks are in the ground and so is the cabbage."),
    ConversationTurn("assistant", "Good work. Did you harden off the tomatoes?"),
)
MEMORIES = (
    Draft("Harden off tomatoes for ten days, an hour longer outside each day.", key="tomatoes"),
    Draft("Oil the lathe every second month.", key="lathe"),
    *(Draft(f"Note {n} on the shed and its roof.", key=f"shed-{n}") for n in range(12)),
)


@pytest.mark.parametrize(
    ("asked", "turn", "refers"),
    [
        ("did that work?", "user: We tried the vinegar.", True),
        ("what did she say?", "user: I rang Carol.", True),
        ("No. How long was it to be?", "assistant: Did you harden them off?", True),
        ("No tomatoes are left on the roof.", "assistant: Good work.", False),
        ("I stopped after your second one.", "assistant: Good work.", True),
        ("what were you telling me to do there again", "user: I went out too fast.", True),
        ("Nein, das vergaß ich. Wie lange?", "assistant: Hast du sie abgehärtet?", True),
        ("No, lo olvidé. ¿Cuánto tiempo?", "assistant: ¿Las has endurecido?", True),
        ("what did they reply", "user: I wrote to the insurer.", True),
        ("is it far", "user: We go to the clinic on Elm Street.", True),
        ("erzähl mehr davon", "user: Wir fahren nach Rom.", True),
        ("give me another example", "assistant: Plums, for example.", True),
        ("has the sofa arrived", "user: We sit on the floor.", False),
        ("How long must tomatoes be hardened off?", "assistant: Anything else?", False),
        ("What did Carol say about the house?", "user: I rang her.", False),
        ("label printer settings", "assistant: Which printer is it?", False),
        ("no dairy recipes", "user: Let us cook.", False),
    ],
)
def test_which_queries_refer_to_the_turn_before(query: Query, asked: str, turn: str, refers: bool) -> None:
    role, _, text = turn.partition(": ")
    [row] = query("SELECT recall_private.refers_back(%s, %s, %s) AS refers", (asked, role, text))
    assert row["refers"] is refers


def test_a_query_that_refers_back_is_completed(memory: Memory) -> None:
    memory.remember_many(MEMORIES)
    asked = "no, how long was that?"
    alone = memory.search(asked)
    found = memory.search(asked, conversation=ASKED[1:])
    assert alone.completed_query is None
    assert found.completed_query == f"{ASKED[1].content}\n{asked}"
    assert found.hits[0].key == "tomatoes"
    assert found.answered


def test_a_query_that_makes_sense_alone_is_searched_as_it_is(memory: Memory) -> None:
    memory.remember_many(MEMORIES)
    alone = memory.search("How often must the lathe be oiled?", log=False)
    found = memory.search("How often must the lathe be oiled?", conversation=ASKED, log=False)
    assert found.completed_query is None
    assert [(hit.id, hit.relevance) for hit in found.hits] == [(hit.id, hit.relevance) for hit in alone.hits]


def test_turns_of_the_conversation_are_no_hits(memory: Memory) -> None:
    memory.remember_many([*MEMORIES, *(Draft(turn.content, role=turn.role) for turn in ASKED)])
    said = {turn.content for turn in ASKED}
    assert said & {hit.body for hit in memory.search("leeks, cabbage and tomatoes").hits}
    found = memory.search("leeks, cabbage and tomatoes", conversation=ASKED)
    assert not said & {hit.body for hit in found.hits}
    assert not said & {
        source.body for source in memory.context("leeks, cabbage and tomatoes", conversation=ASKED).hits
    }


def test_messages_of_a_chat_may_be_given_as_they_are(memory: Memory) -> None:
    memory.remember_many(MEMORIES)
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Did you harden off the tomatoes?", "refusal": None},
    ]
    assert memory.search("no, how long was that?", conversation=messages).hits[0].key == "tomatoes"


def notes_by_name(memory: Memory) -> dict[str, int]:
    """Somebody, a note that links to her, and others with like words that do not: the ids by key."""
    drafts = (
        Draft("Runs the bakery.", title="Anna Veld", aliases=("Anna",), layer="entity", key="anna"),
        Draft("The oven is too small, and should be bigger.", title="Oven of the house", key="oven"),
        Draft("The oven of the school is too small.", key="school"),
        *(Draft(f"The oven of house {n} is small.", key=f"house-{n}") for n in range(12)),
    )
    ids = {
        str(draft.key): stored.id for draft, stored in zip(drafts, memory.remember_many(drafts), strict=True)
    }
    memory.link(ids["oven"], ids["anna"])
    return ids


@pytest.mark.parametrize(
    "said", ["I met Anna today.", "Look at [[Anna Veld|her]].", "ANNA VELD rang.", "That oven is Anna's."]
)
def test_a_memory_that_a_turn_names_is_a_weak_cue(memory: Memory, said: str) -> None:
    ids = notes_by_name(memory)
    asked = "which oven is small?"
    alone = {hit.key: hit for hit in memory.search(asked, k=20, log=False).hits}
    told = memory.search(asked, k=20, log=False, conversation=[ConversationTurn("user", said)])
    assert told.completed_query is None
    [oven] = [hit for hit in told.hits if hit.key == "oven"]
    assert oven.explanation["arms"]["cue"] == {"strength": pytest.approx(0.125), "cue": ids["anna"]}
    assert "cue" not in alone["oven"].explanation["arms"]
    assert 1 < oven.relevance / alone["oven"].relevance < 2
    assert told.hits.index(oven) < list(alone).index("oven")


@pytest.mark.parametrize(
    "said", ["A house is not a home.", "[[Nobody]] rang.", "The oven, Oven of the", "", "\ufeff"]
)
def test_other_words_of_a_turn_are_no_cues(memory: Memory, said: str) -> None:
    ids = notes_by_name(memory)
    memory.link(memory.remember("Where we live.", title="House").id, ids["oven"])  # one word, and no entity
    found = memory.search("which oven is small?", conversation=[ConversationTurn("user", said)])
    assert not [hit for hit in found.hits if "cue" in hit.explanation["arms"]]


@pytest.mark.parametrize(
    "said", ["The weather is fine.", "Look at [[Yard crane]].", "The [[Mole]] and the [[Yard crane]]."]
)
def test_a_memory_that_a_turn_names_is_cued_by_its_session(memory: Memory, query: Query, said: str) -> None:
    mole, crane = memory.remember_many(
        [Draft("Where ships moor.", title="Mole"), Draft("It lifts a boat.", title="Yard crane", key="crane")]
    )
    memory.link(mole.id, crane.id)
    query("SELECT recall.record_access(%s, 'used', p_session_id => 's')", (mole.id,))
    turns = [ConversationTurn("user", said)]
    [hit] = memory.search("what lifts a boat?", session_id="s", conversation=turns, k=1).hits
    assert hit.key == "crane"
    assert hit.explanation["arms"]["cue"] == {"strength": pytest.approx(0.125), "cue": mole.id}


def test_of_many_memories_with_a_name_the_first_eight_are_cues(memory: Memory, query: Query) -> None:
    drafts = [Draft(f"Hull {n}.", title="North buoy", key=str(n)) for n in range(40)]
    ids = [stored.id for stored in memory.remember_many(drafts)]
    [row] = query(  # hashed, they come in any order
        "SELECT CASE set_config('enable_sort', 'off', true) "
        "WHEN 'off' THEN recall_private.named_in_turns('acme', ARRAY['The north buoy is lit.']) END AS named"
    )
    assert row["named"] == sorted(ids)[:8]


def test_cues_that_are_given_count_instead_of_those_in_the_conversation(memory: Memory) -> None:
    notes_by_name(memory)
    turns = [ConversationTurn("user", "I met Anna today.")]
    found = memory.search("which oven is small?", conversation=turns, cues=("school",))
    assert not [hit for hit in found.hits if "cue" in hit.explanation["arms"]]


@pytest.mark.parametrize(
    ("said", "at", "told"),
    [
        ("I rang the vet yesterday.", "2026-03-10T08:00:00Z", " (2026-03-09)"),
        ("We sowed it last week.", "2026-03-10", " (2026-03-02 - 2026-03-08)"),
        ("I rang the vet yesterday.", "2026-03-10T10:00:00", " (2026-03-09)"),
        ("It has hurt since last Monday.", "2026-03-10T08:00:00+01:00", " (since 2026-03-09)"),
        ("We sowed it on 3 May 2024.", "2026-03-10T08:00:00Z", ""),
        ("We sowed it.", "2026-03-10T08:00:00Z", ""),
        ("I rang the vet yesterday.", None, ""),
    ],
)
def test_words_of_time_in_a_turn_are_seen_from_when_it_was_said(
    memory: Memory, said: str, at: str | None, told: str
) -> None:
    turn: Any = {"role": "user", "content": said, "at": at}
    assert memory.search("what did she say?", conversation=[turn]).completed_query == (
        f"{said}{told}\nwhat did she say?"
    )


@pytest.mark.parametrize(
    "at", ["2026-11-29", "2026-11-29T10:00:00", "2026-11-29 10:00Z", "2026-11-29T10:00:00.5+0100"]
)
def test_a_time_without_a_zone_is_in_utc_whatever_the_zone_of_the_session(query: Query, at: str) -> None:
    turns = json.dumps([{"role": "user", "content": "I rang the vet yesterday.", "at": at}])
    for zone in ("Pacific/Kiritimati", "America/Adak"):
        query("SELECT set_config('timezone', %s, true)", (zone,))
        [row] = query("SELECT recall.completed_query('what did she say?', %s::jsonb) AS text", (turns,))
        assert "(2026-11-28)" in row["text"], zone


def test_yesterday_in_a_turn_is_the_day_before_it(memory: Memory) -> None:
    days = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in range(1, 29)]
    memory.remember_many(
        [Draft(f"The vet said {n}.", key=str(n), occurred_at=day) for n, day in enumerate(days, 1)]
    )
    turn = ConversationTurn("user", "I rang the vet yesterday.", at=datetime(2026, 3, 10, 8, tzinfo=UTC))
    found = memory.search("what did she say?", conversation=[turn], now=days[24])
    assert found.hits[0].key == "9"
    [hit] = memory.search("what did she say?", conversation=[replace(turn, at=None)], k=1, now=days[24]).hits
    assert hit.key == "24"


def test_what_was_searched_is_logged(memory: Memory, query: Query) -> None:
    memory.remember_many(MEMORIES)
    found = memory.search("No, I forgot. How long was it to be?", conversation=ASKED)
    block = memory.context("No, I forgot. How long was it to be?", conversation=ASKED)
    for search_id in (found.search_id, block.search_id):
        [row] = query("SELECT query FROM recall.logged_searches() WHERE id = %s", (search_id,))
        assert row["query"] == found.completed_query


def test_only_the_end_of_a_long_conversation_counts(query: Query) -> None:
    turns = [{"role": "user", "content": f"Turn {n}: " + "word " * 200} for n in range(100)]
    [row] = query("SELECT recall.completed_query('did that work?', %s::jsonb) AS text", (json.dumps(turns),))
    assert row["text"].startswith("Turn 97: ")
    assert len(row["text"]) < 700


def test_a_turn_without_ascii_letters_counts_whatever_the_locale(query: Query) -> None:
    turns = json.dumps([{"role": "user", "content": said} for said in ("Мы ели суп.", "👍🏽")])
    [row] = query("SELECT recall.completed_query('did that work?' COLLATE \"C\", %s) AS found", (turns,))
    assert row["found"] == "Мы ели суп.\ndid that work?"


def test_a_turn_at_a_time_without_a_zone_is_in_utc() -> None:
    moment = datetime(2026, 3, 10, 1, tzinfo=UTC)
    for at in (moment, moment.replace(tzinfo=None), "2026-03-10T01:00", "2026-03-10T02:00+01:00"):
        [turn] = read_turns([{"role": "user", "content": "Yes.", "at": at}])
        assert turn.at == moment


@pytest.mark.parametrize(
    ("conversation", "said"),
    [
        ([{"role": "user"}], "Turn 1 of the conversation has no role and content."),
        ([{"role": "robot", "content": "hello"}], "Turn 1 of the conversation has the role 'robot'."),
        (7, "The conversation is 7, not a list of turns."),
        (["hello"], "Turn 1 of the conversation has no role and content."),
        ([ASKED[0]] * 101, "The conversation has 101 turns, more than 100."),
        ([ConversationTurn("user", "a\0b")], "A turn of the conversation"),
        (
            [{"role": "user", "content": "x", "at": "soon"}],
            "Turn 1 of the conversation is of 'soon', which is no time.",
        ),
        (
            [{"role": "user", "content": "x", "at": 7}],
            "Turn 1 of the conversation is of 7, which is no time.",
        ),
    ],
)
def test_bad_conversations_are_refused(memory: Memory, conversation: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        memory.search("did that work?", conversation=conversation)


@pytest.mark.parametrize(
    "conversation",
    [
        "{}",
        "null",
        '[{"role": "user"}]',
        '["hello"]',
        '[{"role": "x", "content": "y"}]',
        '[{"role": "user", "content": "y", "at": "soon"}]',
        '[{"role": "user", "content": "y", "at": "infinity"}]',
        '[{"role": "user", "content": "y", "at": "now"}]',
        '[{"role": "user", "content": "y", "at": "yesterday"}]',
        '[{"role": "user", "content": "y", "at": "J2451187"}]',
        '[{"role": "user", "content": "y", "at": "2026-02-30"}]',
    ],
)
def test_bad_conversations_are_refused_in_sql(query: Query, conversation: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="conversation"):
        query("SELECT recall.completed_query('did that work?', %s::jsonb)", (conversation,))
