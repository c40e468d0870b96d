"""Chats of every program: turns with roles, times, sessions and links, and a count of what is left out."""

# ruff: noqa: E501, PT017  # counts of a form in one place; a refusal is one of two outcomes
from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.reader import read_chats
from pgrecall.importers.chat.turns import Tally
from pgrecall.importers.detect import known_kind, open_source, source_name
from pgrecall.importers.fields import Keep
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink
from tests.unit.importers import chat_forms
from tests.unit.importers.chat_forms import KINDS, write_form, write_json, write_lines, write_zip

DETECTED = {"openai": "chat", "lines": "chat", "list": "chat"}


def read(path: Path, *, tools: bool = False) -> tuple[list[Draft], list[str], dict[str, int]]:
    """Drafts, problems and counts of a path whose format is detected."""
    items = list(open_source(path, keep=Keep(tools=tools)))
    drafts = [item for item in items if isinstance(item, Draft)]
    problems = [item.reason for item in items if isinstance(item, Problem)]
    return drafts, problems, {item.what: item.count for item in items if isinstance(item, Skipped)}


def shown(drafts: list[Draft]) -> list[tuple[str | None, str, str, str | None]]:
    return [
        (
            draft.role,
            draft.body,
            f"{draft.occurred_at:%d %H:%M:%S.%f}" if draft.occurred_at else "",
            draft.session_id,
        )
        for draft in drafts
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_format_is_detected_by_content(kind: str, tmp_path: Path) -> None:
    assert known_kind(write_form(kind, tmp_path)) == DETECTED.get(kind, kind)


def test_chatgpt(tmp_path: Path) -> None:
    path = write_form("chatgpt", tmp_path)
    drafts, problems, skipped = read(path)
    assert problems == []
    assert shown(drafts) == [
        ("user", "How do I free a seized escapement?", "03 09:34:00.250000", "chatgpt/c-1"),
        ("assistant", "Clean it first, then oil it.", "03 09:34:04.250000", "chatgpt/c-1"),
        ("user", "This one?", "03 09:34:50.250000", "chatgpt/c-1"),
        ("assistant", "Yes.", "03 09:34:50.251000", "chatgpt/c-1"),
        ("user", "Name three stars", "04 08:00:00.000000", "chatgpt/c-2"),
    ]
    assert skipped == {
        "system messages": 1, "tool calls and results, which the option tools keeps": 2, "thoughts of the model": 1,
        "turns of other branches": 1, "images": 1, "attached files": 1, "turns without text": 1,
        "turns without a time, dated by the turn before": 1, "times without a zone, read as UTC": 1,
        "files without conversations": 2,
    }  # fmt: skip
    second = drafts[1]
    assert second.key == "chatgpt/c-1/m5"
    assert second.links == (DraftLink("chatgpt/c-1/m6", "next"),)
    assert second.metadata == {"conversation": "Clock repair", "model": "gpt-4o"}
    assert second.source == "chatgpt"
    assert second.layer == "episodic"
    assert second.context == ("3 March 2026, Tuesday\nClock repair\nuser: How do I free a seized escapement?")
    assert drafts[3].links == ()
    kept, _, _ = read(path, tools=True)
    assert [(draft.role, draft.author) for draft in kept[1:3]] == [
        ("assistant", "assistant"),
        ("tool", "web"),
    ]
    assert kept[1].body == "```\nsearch('escapement')\n```"
    assert kept[1].metadata["tool"] == "web"


def test_claude(tmp_path: Path) -> None:
    path = write_form("claude", tmp_path)
    drafts, problems, skipped = read(path)
    assert problems == []
    assert shown(drafts) == [
        ("user", "What is one and one?", "05 10:00:00.000000", "claude/conv-9"),
        ("assistant", "Two.", "05 10:00:02.500000", "claude/conv-9"),
        ("user", "my ledger", "05 10:01:00.000000", "claude/conv-9"),
    ]
    assert skipped == {
        "tool calls and results, which the option tools keeps": 2, "attached files": 2, "thoughts of the model": 1,
        "turns without text": 1, "files without conversations": 2,
    }  # fmt: skip
    assert [draft.key for draft in drafts] == ["claude/conv-9/a1", "claude/conv-9/a2", "claude/conv-9/a3"]
    assert read(path, tools=True)[0][1].body == '[repl] {"code": "1+1"}\n\n2\n\nTwo.'


def test_the_branch_of_claude_that_was_shown_last(tmp_path: Path) -> None:
    [conversation] = chat_forms.claude_export()
    none = "00000000-0000-4000-8000-000000000000"
    turns = [
        ("q", "human", none),
        ("old", "assistant", "q"),
        ("new", "assistant", "q"),
        ("more", "human", "new"),
    ]
    conversation["chat_messages"] = [
        chat_forms.claude_message(name, sender, name, f"2026-03-05T10:0{at}:00Z", parent_message_uuid=parent)
        for at, (name, sender, parent) in enumerate(turns)
    ]
    drafts, _, skipped = read(write_form("claude", tmp_path, [conversation]))
    assert [draft.body for draft in drafts] == ["q", "new", "more"]
    assert skipped == {"turns of other branches": 1, "files without conversations": 2}
    conversation["current_leaf_message_uuid"] = "old"
    assert [draft.body for draft in read(write_form("claude", tmp_path, [conversation]))[0]] == ["q", "old"]


def test_claude_code(tmp_path: Path) -> None:
    path = write_form("claude-code", tmp_path)
    drafts, problems, skipped = read(path)
    assert problems == []
    assert shown(drafts) == [
        ("user", "Why does the test fail?", "06 07:00:01.000000", "claude-code/s-77"),
        ("assistant", "I look.", "06 07:00:03.000000", "claude-code/s-77"),
        ("assistant", "A missing import.", "06 07:00:05.000000", "claude-code/s-77"),
    ]
    assert skipped == {
        "lines of bookkeeping": 3, "tool calls and results, which the option tools keeps": 2, "hidden messages": 1,
        "notes that the program added": 1, "thoughts of the model": 1, "commands and their output": 1,
        "turns of sub-agents, which the option tools keeps": 1,
    }  # fmt: skip
    assert drafts[2].key == "claude-code/s-77/u5"
    assert drafts[2].metadata == {
        "conversation": "Missing import found", "model": "claude-opus", "project": "/home/mira/clock", "branch": "main",
    }  # fmt: skip
    kept = read(path, tools=True)[0]
    assert [(draft.role, draft.body, draft.session_id) for draft in kept[2:]] == [
        ("tool", "a.py", "claude-code/s-77"),
        ("assistant", "A missing import.", "claude-code/s-77"),
        ("user", "look for imports", "claude-code/s-77/ag1"),
    ]


def test_codex(tmp_path: Path) -> None:
    path = write_form("codex", tmp_path)
    drafts, problems, skipped = read(path)
    assert problems == []
    assert shown(drafts) == [
        ("user", "Add a chime at noon", "07 07:00:02.000000", "codex/r-5"),
        ("assistant", "It chimes at noon now.", "07 07:00:06.000000", "codex/r-5"),
    ]
    assert [draft.key for draft in drafts] == ["codex/r-5/4", "codex/r-5/10"]
    assert drafts[0].metadata == {"project": "/home/mira/clock", "branch": "dev"}
    assert skipped == {
        "lines of bookkeeping": 3, "tool calls and results, which the option tools keeps": 2, "system messages": 1,
        "hidden messages": 1, "thoughts of the model": 1,
    }  # fmt: skip
    assert [draft.role for draft in read(path, tools=True)[0]] == ["user", "assistant", "tool", "assistant"]


def test_codex_of_2025_without_payloads(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "old-1", "timestamp": "2025-06-01T08:00:00Z", "instructions": None, "git": None},
        {"record_type": "state"},
        {
            "type": "message",
            "id": None,
            "role": "user",
            "content": [{"type": "input_text", "text": "Oil it"}],
        },
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oiled."}]},
    ]
    drafts, problems, skipped = read(write_form("codex", tmp_path, lines))
    assert (problems, known_kind(tmp_path / "sessions")) == ([], "codex")
    assert [(draft.key, draft.body) for draft in drafts] == [
        ("codex/old-1/3", "Oil it"),
        ("codex/old-1/5", "Oiled."),
    ]
    assert drafts[0].occurred_at == datetime(2025, 6, 1, 8, 0, 0, 1000, tzinfo=UTC)
    assert skipped["lines of bookkeeping"] == 2


GEMINI = [
    ("user", "Why is it slow?", "08 07:00:01.000000", "gemini/g-3"),
    ("assistant", "The mainspring is worn.", "08 07:00:04.000000", "gemini/g-3"),
]


def test_gemini_what_hooks_and_the_program_add_is_no_turn(tmp_path: Path) -> None:
    added = "<session_context>This is the Gemini CLI.</session_context>"
    head, *_ = chat_forms.gemini_session()
    said = [
        chat_forms.gemini_message("a1", "user", [{"text": added}], "2026-03-08T07:00:00Z"),
        chat_forms.gemini_message(
            "a2", "user", [{"text": "Why?\n<hook_context>a memory</hook_context>"}], "2026-03-08T07:00:01Z"
        ),
    ]
    drafts, problems, skipped = read(write_form("gemini", tmp_path, [head, *said]))
    assert ([draft.body for draft in drafts], problems) == (["Why?"], [])
    assert skipped["notes that the program added"] == 2


def test_gemini(tmp_path: Path) -> None:
    path = write_form("gemini", tmp_path)
    drafts, problems, skipped = read(path)
    assert (problems, known_kind(path)) == ([], "gemini")
    assert shown(drafts) == GEMINI
    assert [draft.key for draft in drafts] == ["gemini/g-3/g1", "gemini/g-3/g2"]
    assert drafts[1].metadata == {"model": "gemini-pro", "conversation": "A slow clock"}
    assert skipped == {
        "turns of other branches": 1, "notices of the program": 1, "thoughts of the model": 1,
        "tool calls and results, which the option tools keeps": 1,
    }  # fmt: skip
    kept = read(path, tools=True)[0]
    assert kept[1].body == 'The mainspring is worn.\n\n[read_file] {"path": "a.py"}\n[{"text": "x"}]'


def test_gemini_before_it_wrote_lines(tmp_path: Path) -> None:
    chat_forms.write_json(tmp_path / "chats" / "session-2026-03-08T07-00-g3.json", chat_forms.gemini_record())
    drafts, problems, _ = read(tmp_path / "chats")
    assert (problems, known_kind(tmp_path / "chats")) == ([], "gemini")
    assert shown(drafts) == GEMINI


def test_cursor(tmp_path: Path) -> None:
    path = write_form("cursor", tmp_path)
    drafts, problems, skipped = read(path)
    assert (problems, known_kind(path)) == ([], "cursor")
    assert [(draft.role, draft.body, draft.key, draft.session_id) for draft in drafts] == [
        ("user", "Rename the dial", "cursor/k-1/1", "cursor/k-1"),
        ("assistant", "It is called face now.", "cursor/k-1/2", "cursor/k-1"),
    ]
    assert skipped == {
        "notes that the program added": 1, "tool calls and results, which the option tools keeps": 1,
        "turns without a time, dated by the import": 2,
    }  # fmt: skip


def test_vscode(tmp_path: Path) -> None:
    path = write_form("vscode", tmp_path)
    drafts, problems, skipped = read(path)
    assert (problems, known_kind(path)) == ([], "vscode")
    assert shown(drafts) == [
        ("user", "Which oil for the pivots?", "09 07:00:01.000000", "vscode/v-4"),
        ("assistant", "A drop of synthetic oil.", "09 07:00:06.000000", "vscode/v-4"),
    ]
    assert drafts[0].metadata == {"project": "/home/mira/clock"}
    assert skipped == {
        "lines of bookkeeping": 4, "tool calls and results, which the option tools keeps": 2,
        "attached files": 1, "thoughts of the model": 1,
    }  # fmt: skip
    assert [draft.role for draft in read(path, tools=True)[0]] == ["user", "assistant", "tool", "assistant"]


def test_messages_of_openai(tmp_path: Path) -> None:
    path = write_form("openai", tmp_path)
    drafts, problems, skipped = read(path)
    assert problems == []
    assert [(draft.role, draft.body, draft.key) for draft in drafts] == [
        ("system", "You repair clocks.", "clock/1"),
        ("user", "What is this?", "clock/2"),
        ("assistant", "A chronometer.", "clock/5"),
    ]
    assert skipped == {
        "turns without a time, dated by the import": 3, "tool calls and results, which the option tools keeps": 2,
        "images": 1, "fields 'mood' of a message": 1,
    }  # fmt: skip
    kept = read(path, tools=True)[0]
    assert [draft.role for draft in kept] == ["system", "user", "assistant", "tool", "assistant"]
    assert '"look"' in kept[2].body


@pytest.mark.parametrize("nothing", [None, "", " ", []])
def test_a_refusal_is_what_was_said_and_a_message_without_text_is_counted(
    nothing: object, tmp_path: Path
) -> None:
    messages = [
        {"role": "user", "content": nothing},
        {"role": "assistant", "content": nothing if nothing != " " else None, "refusal": "Not that."},
    ]
    drafts, problems, skipped = read(write_json(tmp_path / "talk.json", messages))
    assert [draft.body for draft in drafts] == ["Not that."]
    assert (problems, skipped["turns without text"]) == ([], 1)


def test_the_other_files_of_an_export_are_counted(tmp_path: Path) -> None:
    entries = {
        "a/conversations.json": chat_forms.chatgpt_export(),
        "a/dall-e/one.webp": "x",
        "__MACOSX/a/._x": "x",
    }
    assert read(write_zip(tmp_path / "export.zip", entries))[2]["files without conversations"] == 1
    write_json(tmp_path / "export" / "conversations.json", chat_forms.chatgpt_export())
    (tmp_path / "export" / "chat.html").write_text("<html>")
    assert read(tmp_path / "export")[2]["files without conversations"] == 1


@pytest.mark.parametrize("kind", ["list", "lines"])
def test_messages_with_times(kind: str, tmp_path: Path) -> None:
    drafts, problems, skipped = read(write_form(kind, tmp_path))
    assert problems == []
    assert shown(drafts) == [
        ("user", "Wind it daily?", "08 06:00:00.000000", "talk"),
        ("assistant", "Weekly.", "08 06:15:00.000000", "talk"),
        ("user", "And the chime?", "08 07:00:00.000000", "talk"),
        ("assistant", "Monthly.", "08 07:00:00.001000", "talk"),
    ]
    assert skipped == {
        "times without a zone, read as UTC": 1, "times that are not understood": 1,
        "turns without a time, dated by the turn before": 1,
    }  # fmt: skip


def test_a_file_of_several_conversations(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "tune.jsonl", [chat_forms.openai_messages()] * 2 + [{"messages": [{"role": "x"}, 7]}]
    )
    drafts, problems, _ = read(path)
    assert [draft.key for draft in drafts if draft.role == "user"] == ["tune/2", "tune#2/2"]
    assert problems == ["line 3, message 1: content is missing.", "line 3, message 2: must be an object."]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_772_530_440, "2026-03-03T09:34:00+00:00"),
        (1_772_530_440_000, "2026-03-03T09:34:00+00:00"),
        (1_772_530_440_000_000, "2026-03-03T09:34:00+00:00"),
        ({"$date": {"$numberLong": "1772530440000"}}, "2026-03-03T09:34:00+00:00"),
        ({"seconds": 1_772_530_440, "nanoseconds": 0}, "2026-03-03T09:34:00+00:00"),
        ("1772530440.5", "2026-03-03T09:34:00.500000+00:00"),
        ("2026-03-03T10:34:00+01:00", "2026-03-03T09:34:00+00:00"),
    ],
)
def test_times(value: object, expected: str) -> None:
    tally = Tally()
    found = tally.time(value)
    assert found is not None
    assert found.isoformat() == expected
    assert list(tally.skipped()) == []


@pytest.mark.parametrize(
    "value", [True, -1, 0, 46_143.5, 1e300, float("nan"), float("inf"), [1], {}, "soon", "9" * 20]
)
def test_times_that_are_none_are_counted(value: object) -> None:
    tally = Tally()
    assert tally.time(value) is None
    assert list(tally.skipped()) == [Skipped("times that are not understood", 1)]


def test_parts_of_an_export_and_their_order(tmp_path: Path) -> None:
    first, second = chat_forms.chatgpt_export()
    entries = {
        "x/conversations-001.json": [second, first],
        "x/conversations-000.json": [first],
        "__MACOSX/x/conversations-000.json": "junk",
    }
    drafts, problems, skipped = read(write_zip(tmp_path / "parts.zip", entries))
    assert problems == []
    assert [draft.key for draft in drafts][:2] == ["chatgpt/c-1/m1", "chatgpt/c-1/m5"]
    assert (len(drafts), skipped["turns that occur twice"]) == (5, 4)


def test_an_unpacked_export(tmp_path: Path) -> None:
    write_json(tmp_path / "export" / "conversations.json", chat_forms.chatgpt_export())
    (tmp_path / "export" / "chat.html").write_text("<html>")
    assert len(read(tmp_path / "export")[0]) == 5


def test_a_folder_with_notes_is_markdown(tmp_path: Path) -> None:
    write_form("claude-code", tmp_path)
    assert known_kind(tmp_path) == "claude-code"
    (tmp_path / "note.md").write_text("# Note")
    assert known_kind(tmp_path) == "markdown"


def test_the_source_does_not_depend_on_the_file_name(tmp_path: Path) -> None:
    assert source_name(write_form("chatgpt", tmp_path)) == "chatgpt"
    assert source_name(write_form("list", tmp_path)).endswith("/talk.json")


def test_without_current_node_the_newest_branch_is_read(tmp_path: Path) -> None:
    messages = [chat_forms.gpt_message("q", "user", "q"), chat_forms.gpt_message("a", "assistant", "a", 9e8)]
    other = chat_forms.gpt_message("b", "assistant", "b", 1e9)
    conversation = chat_forms.gpt_conversation("c", messages, branches=[other])
    for leaf in (None, "gone", 7):
        conversation["current_node"] = leaf
        assert [d.body for d in read(write_form("chatgpt", tmp_path, [conversation]))[0]] == ["q", "b"]


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    conversation = chat_forms.gpt_conversation("c", [chat_forms.gpt_message("q", "user", "q")])
    conversation["mapping"]["root"]["parent"] = "q"
    assert [draft.body for draft in read(write_form("chatgpt", tmp_path, [conversation]))[0]] == ["q"]


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("chatgpt", [*chat_forms.chatgpt_export(), 7], "conversation 3: it has no mapping of messages."),
        ("claude", [*chat_forms.claude_export(), {}], "conversation 2: it has no chat_messages."),
    ],
)
def test_a_broken_conversation_is_named(kind: str, value: Any, reason: str, tmp_path: Path) -> None:
    drafts, problems, _ = read(write_form(kind, tmp_path, value))
    assert problems == [reason]
    assert drafts


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write_lines(path, chat_forms.claude_code_session())
    path.write_text(path.read_text() + '{"type": "user", "mess')
    assert read(path)[1] == ["line 12: is not JSON: Unterminated string starting at: column 18 (char 17)."]


def zip_of(path: Path, change: Any) -> Path:
    data = bytearray(write_form("chatgpt", path.parent).read_bytes())
    change(data)
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"../conversations.json": "[]"}, r"'\.\./conversations\.json', which leads out of the archive"),
        (
            {"conversations.json": '[{"mapping": {}, x'},
            r"conversations\.json is not JSON: line 1, column 1[0-9]",
        ),
        ({"conversations.json": "[\n\n{]"}, "is not JSON: line 3, column 2"),
        ({"conversations.json": "[] x"}, "unexpected text after the end"),
        ({"conversations.json": "[" * 100_000}, "nested too deep"),
    ],
)
def test_an_archive_that_cannot_be_used_is_refused_in_a_sentence(
    entries: dict[str, object], words: str, tmp_path: Path
) -> None:
    path = write_zip(tmp_path / "bad.zip", entries)
    with pytest.raises(InvalidInput, match=words):
        list(read_chats(path, "chatgpt", source="s"))


def test_a_damaged_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def damage(data: bytearray) -> None:
        data[200:230] = b"\xff" * 30

    def cut(data: bytearray) -> None:
        del data[len(data) // 2 :]

    for change in (damage, cut):
        with pytest.raises(InvalidInput, match="cannot be read"):
            list(read_chats(zip_of(tmp_path / "broken.zip", change), "chatgpt", source="s"))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as entry,
    ):
        for _ in range(210):
            entry.write(b" " * 1_000_000)
    with pytest.raises(InvalidInput, match=r"would unpack to 210,000,000 bytes"):
        read_chats(path, "chatgpt", source="s")


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = write_form("chatgpt", tmp_path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"))
    with pytest.raises(InvalidInput, match="is encrypted"):
        read_chats(path, "chatgpt", source="s")


def test_an_empty_export(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "empty.zip", {"conversations.json": []})
    items = list(read_chats(path, "chatgpt", source="s"))
    assert items == [Skipped("files without a conversation", 1)]
    with pytest.raises(InvalidInput, match="contains no conversations"):
        read_chats(write_zip(tmp_path / "none.zip", {"a.txt": "x"}), "chatgpt", source="s")


FORMS: dict[str, Any] = {
    "chatgpt": chat_forms.chatgpt_export(),
    "claude": chat_forms.claude_export(),
    "claude-code": chat_forms.claude_code_session(),
    "codex": chat_forms.codex_session(),
    "cursor": chat_forms.cursor_transcript(),
    "gemini": chat_forms.gemini_session(),
    "vscode": chat_forms.vscode_transcript(),
    "openai": chat_forms.openai_messages(),
    "lines": chat_forms.dated_messages(),
}
LINES = ("claude-code", "codex", "cursor", "gemini", "vscode", "lines")
ANY = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({}) | st.just([{}])  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, value: Any) -> Any:
    """The value with some of its parts replaced by anything."""
    if draw(st.integers(0, 24)) == 0:
        return draw(ANY)
    if isinstance(value, dict):
        return {key: draw(mutated(one)) for key, one in value.items() if draw(st.integers(0, 24))}
    return [draw(mutated(one)) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", sorted(FORMS))
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=25, phases=[Phase.generate])
@given(data=st.data())
def test_a_mutated_file_gives_drafts_and_sentences(kind: str, tmp_path: Path, data: st.DataObject) -> None:
    value = data.draw(mutated(FORMS[kind]))
    path = tmp_path / ("a.jsonl" if kind in LINES else "a.json")
    if path.suffix == ".jsonl":
        write_lines(path, value if isinstance(value, list) else [value])
    else:
        write_json(path, value)
    try:
        items = list(
            read_chats(path, DETECTED.get(kind, kind), source="s", keep=Keep(data.draw(st.booleans())))
        )  # type: ignore[arg-type]
    except InvalidInput as refused:
        assert refused.message.endswith(".")
        return
    for item in items:
        assert isinstance(item, Draft | Problem | Skipped)
        if isinstance(item, Problem):
            assert item.reason.endswith(".")
            assert "\n" not in item.reason
        json.dumps(item.metadata if isinstance(item, Draft) else None)


@pytest.mark.parametrize("kind", sorted(FORMS))
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=25, phases=[Phase.generate])
@given(at=st.integers(0, 10**6), bytes_=st.binary(max_size=6))
def test_a_damaged_file_gives_drafts_and_sentences(kind: str, tmp_path: Path, at: int, bytes_: bytes) -> None:
    lines = kind in LINES
    path = tmp_path / ("a.jsonl" if lines else "a.json")
    (write_lines if lines else write_json)(path, FORMS[kind])
    whole = path.read_bytes()
    place = at % len(whole)
    path.write_bytes(whole[:place] + bytes_ + whole[place + len(bytes_) :] if bytes_ else whole[:place])
    try:
        list(read_chats(path, DETECTED.get(kind, kind), source="s"))  # type: ignore[arg-type]
    except InvalidInput as refused:
        assert refused.message.endswith(".")
