"""Transcripts: one draft a turn, in order, with who and when; broken parts are named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat import read_transcript
from pgrecall.importers.dates import in_words, parse_spoken
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Draft, DraftLink

Write = Callable[[object], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(value: object) -> Path:
        path = tmp_path / "talk.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return write


def turn(
    number: int, text: str = "words", speaker: str = "Ann", session: int = 1, **more: object
) -> dict[str, object]:
    return {"speaker": speaker, "dia_id": f"D{session}:{number}", "text": text, **more}


def sample(**conversation: object) -> dict[str, object]:
    dated = {"session_1_date_time": "1:56 pm on 8 May, 2023"}
    return {"sample_id": "s-1", "conversation": dated | conversation, "qa": []}


def reasons(path: Path) -> list[str]:
    return [item.reason for item in read_transcript(path, source="s") if isinstance(item, Problem)]


def bodies(path: Path) -> list[str]:
    return [item.body for item in read_transcript(path, source="s") if isinstance(item, Draft)]


def test_turns_become_drafts(write: Write) -> None:
    path = write(
        [
            sample(
                speaker_a="Ann",
                session_1=[turn(1, "Hello there"), turn(2, "Look", "assistant", blip_caption="a red kite")],
                session_10=[turn(1, "tenth", session=10)],
                session_10_date_time="12:05 am on 1 January, 2024",
                session_2=[turn(1, "second", session=2)],
                session_2_date_time="2023-06-01T10:00:00+02:00",
                session_3_date_time="1:00 pm on 2 June, 2023",
            )
        ]
    )
    first, second, third, fourth = read_transcript(path, source="src", prefix="p/")
    assert first == Draft(
        body="Hello there",
        key="p/s-1/D1:1",
        layer="episodic",
        role="user",  # the only speaker beside an assistant
        author="Ann",
        context="8 May 2023, Monday",
        source="src",
        session_id="s-1/session_1",
        metadata={"sample_id": "s-1", "dia_id": "D1:1", "session": 1},
        occurred_at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        links=(DraftLink("p/s-1/D1:2", "next"),),
    )
    assert isinstance(second, Draft)
    assert second.body == "Look [image: a red kite]"
    assert second.role == "assistant"
    assert second.context == "8 May 2023, Monday\nAnn: Hello there"
    assert second.occurred_at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert second.links == ()
    assert isinstance(third, Draft)
    assert (third.body, third.occurred_at) == ("second", datetime(2023, 6, 1, 8, tzinfo=UTC))
    assert third.context == "1 June 2023, Thursday"
    assert isinstance(fourth, Draft)
    assert (fourth.body, fourth.occurred_at) == ("tenth", datetime(2024, 1, 1, 0, 5, tzinfo=UTC))


def test_one_packed_sample(tmp_path: Path) -> None:
    path = tmp_path / "one.json.gz"
    path.write_bytes(gzip.compress(json.dumps(sample(session_1=[turn(1)])).encode()))
    assert bodies(path) == ["words"]
    path.write_bytes(b"not packed")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_transcript(path, source="s")


def test_an_invalid_date_is_reported_once_and_costs_only_the_time(write: Write) -> None:
    path = write(
        sample(session_1=[turn(1), turn(2)], session_1_date_time="some day", session_2=[turn(1, session=2)])
    )
    found = list(read_transcript(path, source="s"))
    assert reasons(path) == [
        "sample s-1, session 1: 'some day' is not a date; "
        "write it as 2026-09-30 or 2026-09-30T08:12:00+00:00; its turns have no time.",
        "sample s-1, session 2: the session's date is missing; its turns have no time.",
    ]
    drafts = [item for item in found if isinstance(item, Draft)]
    assert [draft.occurred_at for draft in drafts] == [None, None, None]
    assert drafts[1].context == "Ann: words"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("words", "sample s-1, session 1, turn 2: must be an object."),
        ({"dia_id": "D1:2", "text": "x"}, "sample s-1, session 1, turn 2: speaker is missing."),
        ({"speaker": "Ann", "text": "x"}, "sample s-1, session 1, turn 2: dia_id is missing."),
        (turn(2, ""), "sample s-1, session 1, turn 2: text is empty."),
        (turn(2, text=7), "sample s-1, session 1, turn 2: text must be a string."),  # type: ignore[arg-type]
        (turn(2, text=[1], blip_caption="x"), "sample s-1, session 1, turn 2: text must be a string."),  # type: ignore[arg-type]
        (turn(1), "sample s-1, session 1, turn 2: key 's-1/D1:1' is already used."),
    ],
)  # fmt: skip
def test_a_broken_turn_is_named_and_the_others_stay(write: Write, broken: object, reason: str) -> None:
    path = write(sample(session_1=[turn(1, "first"), broken, turn(3, "third")]))
    assert reasons(path) == [reason]
    assert bodies(path) == ["first", "third"]


def test_a_turn_of_a_picture_alone(write: Write) -> None:
    assert bodies(write(sample(session_1=[turn(1, "", blip_caption="a kite")]))) == ["[image: a kite]"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([{"conversation": {}}], "sample 1: sample_id must be a string."),
        ([{"sample_id": "a", "conversation": []}], "sample a: conversation must be an object."),
        (
            [{"sample_id": "a", "conversation": {"session_1": "x"}}],
            "sample a, session 1: must be a list of turns.",
        ),
        ([sample(session_1=[turn(1, "x")]), 7], "sample 2: sample_id must be a string."),
    ],
)
def test_a_broken_structure_is_named(write: Write, value: object, reason: str) -> None:
    assert reasons(write(value)) == [reason]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n  nope", r"not JSON: line 2, column 3"),
        ("", "line 1, column 1"),
        ("7", "contains no conversation"),
        ("[]", "contains no conversation"),
        ('{"a": 1}', "contains no conversation"),
        ("[" * 200_000, "nested too deep"),
        (f"[{'9' * 5000}]", "contains no conversation"),
        ('"\x00"', "contains no conversation"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused_at_once(write: Write, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_transcript(write(text), source="s")


def test_bytes_and_paths_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(InvalidInput, match="There is no file"):
        read_transcript(path, source="s")
    path.write_bytes(b'"\xff\xff"')
    with pytest.raises(InvalidInput, match=r"byte 1 \(0xff\) is not UTF-8"):
        read_transcript(path, source="s")


def test_plain_chat(write: Write) -> None:
    messages = [
        {"role": "user", "content": "How?"},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, {"type": "image_url"}]},
        {"role": "assistant"},
    ]
    for value in (messages, {"messages": messages}):
        first, second, third = sorted(
            read_transcript(write(value), source="s", layer="activity"),
            key=lambda item: isinstance(item, Problem),
        )
        assert first == Draft(
            body="How?",
            key="talk/1",
            layer="activity",
            role="user",
            author="user",
            source="s",
            session_id="talk",
            links=(DraftLink("talk/2", "next"),),
        )
        assert isinstance(second, Draft)
        assert (second.body, second.role, second.context) == ("So.", "assistant", "user: How?")
        assert isinstance(third, Problem)
        assert third.reason == "message 3: content is missing."


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12:00 am on 8 May, 2023", datetime(2023, 5, 8, 0, 0, tzinfo=UTC)),
        ("12:30 PM on 29 Feb, 2024", datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
    ],
)
def test_spoken_dates(text: str, moment: datetime) -> None:
    assert parse_spoken(text) == moment


@pytest.mark.parametrize(
    "text", ["13:00 pm on 8 May, 2023", "1:00 pm on 30 February, 2023", "1:00 pm on 8 Mai, 0000"]
)
def test_impossible_spoken_dates(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        parse_spoken(text)


def test_dates_in_words() -> None:
    assert in_words(datetime(2024, 2, 29, tzinfo=UTC)) == "29 February 2024, Thursday"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["sample_id", "conversation", "session_1", "session_1_date_time", "dia_id", "text", "speaker",
                 "role", "content", "messages", "blip_caption"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=st.one_of(JSON, JSON.map(lambda turns: sample(session_1=[turn(1), turns]))))
def test_any_json_gives_drafts_problems_or_a_refusal(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    try:
        found = list(read_transcript(path, source="s"))
    except InvalidInput:
        return
    assert all(isinstance(item, Draft | Problem) for item in found)
