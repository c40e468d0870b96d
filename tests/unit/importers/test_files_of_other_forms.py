"""Files in forms that other programs write, or people by hand; for each, what its owner would expect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pgrecall import InvalidInput
from pgrecall.importers.chat.turns import THINKING
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.importers.json_stream import DOUBLED
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft
from tests.unit.importers.chat_forms import gpt_conversation, gpt_message

SHAREGPT = [
    {
        "id": "a1",
        "conversations": [
            {"from": "human", "value": "Which key?"},
            {"from": "gpt", "value": "The brass one."},
        ],
    },
    {
        "id": "a2",
        "conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "Noon?"}],
    },
]
GEMINI = [
    {"role": "user", "parts": [{"text": "Which key?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}, {"text": "The brass one."}]},
]
VSCODE = {
    "requesterUsername": "ann", "responderUsername": "GitHub Copilot", "initialLocation": "panel",
    "requests": [{
        "requestId": "request_1", "timestamp": 1777629600000,
        "message": {"text": "Which key?", "parts": []},
        "response": [{"kind": "progressTaskSerialized"}, {"value": "The brass "}, {"value": "one."}],
    }],
}  # fmt: skip
SAID = [("user", "Which key?"), ("assistant", "The brass one.")]


def read(path: Path, text: str) -> tuple[list[Draft], list[Problem], list[Skipped]]:
    path.write_text(text, encoding="utf-8")
    items = list(open_source(path))
    return (
        [item for item in items if isinstance(item, Draft)],
        [item for item in items if isinstance(item, Problem)],
        [item for item in items if isinstance(item, Skipped)],
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [(SHAREGPT, [*SAID, ("system", "Be brief."), ("user", "Noon?")]), (GEMINI, SAID), (VSCODE, SAID)],
    ids=["ShareGPT", "Gemini CLI", "VS Code"],
)
def test_chats_of_other_programs(tmp_path: Path, value: Any, said: list[tuple[str, str]]) -> None:
    drafts, problems, _ = read(tmp_path / "chat.json", json.dumps(value, indent=1))
    assert problems == []
    assert [(draft.role, draft.body) for draft in drafts] == said


@pytest.mark.parametrize("name", ["conversations", "conversation", "contents", "history", "dialogue"])
@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_messages_under_another_name(tmp_path: Path, name: str, ending: str) -> None:
    said = GEMINI if name == "contents" else [{"role": role, "content": text} for role, text in SAID]
    drafts, problems, _ = read(tmp_path / f"chat{ending}", json.dumps({"id": "a", name: said}))
    assert problems == []
    assert [(draft.role, draft.body, draft.session_id) for draft in drafts] == [
        (role, text, "chat/a") for role, text in SAID
    ]


@pytest.mark.parametrize(
    "record", [{"prompt": "Which key?", "completion": "Brass."}, {"choices": [], "text_": 1}]
)
def test_lines_that_are_neither_records_nor_chats_are_told_once(tmp_path: Path, record: Any) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps(record))
    with pytest.raises(InvalidInput, match=f"no body, but {sorted(record)[0]!r}") as refused:
        known_kind(path)
    assert '{"body":' in refused.value.hint


def test_a_picture_in_the_text_of_a_turn_is_left_out(tmp_path: Path) -> None:
    picture = f"![key](data:image/png;base64,{'iVBORw0KGgo/+A' * 100_000}==)"
    said = [{"role": "user", "content": text} for text in (f"See {picture} here.", picture[7:-1], "Brass.")]
    drafts, problems, notices = read(tmp_path / "chat.json", json.dumps(said))
    assert [draft.body for draft in drafts] == ["See ![key]() here.", "Brass."]
    assert (problems, {notice.what: notice.count for notice in notices}["images"]) == ([], 2)


def test_conversations_of_sharegpt_line_by_line(tmp_path: Path) -> None:
    drafts, problems, _ = read(tmp_path / "chat.jsonl", "\n".join(map(json.dumps, SHAREGPT)))
    assert problems == []
    assert [draft.session_id for draft in drafts] == ["chat/a1", "chat/a1", "chat/a2", "chat/a2"]


@pytest.mark.parametrize("name", ["records.json", "records.jsonl"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_records(tmp_path: Path, name: str, indent: int | None) -> None:
    records = [{"body": "The brass key.", "key": "a"}, {"body": "The iron key.", "tags": ["gate"]}]
    drafts, problems, _ = read(tmp_path / name, json.dumps(records, indent=indent))
    assert problems == []
    assert [(draft.body, draft.key, draft.tags) for draft in drafts] == [
        ("The brass key.", "a", ()), ("The iron key.", None, ("gate",)),
    ]  # fmt: skip


def test_records_over_several_lines(tmp_path: Path) -> None:
    written = "\n".join(json.dumps({"body": body}, indent=2) for body in ("One.", "Two."))
    drafts, problems, _ = read(tmp_path / "records.jsonl", written)
    assert ([draft.body for draft in drafts], problems) == (["One.", "Two."], [])


def test_what_is_wrong_in_a_list_has_its_line(tmp_path: Path) -> None:
    drafts, problems, _ = read(
        tmp_path / "records.jsonl", '[\n{"body": "One."},\n"lost",\n{"body": "Two."},\n{"body": ]'
    )
    assert [draft.body for draft in drafts] == ["One.", "Two."]
    assert ["line 3" in problem.reason for problem in problems] == [True, False]
    assert "line 5" in problems[1].reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("records.jsonl", '{"body": "One.", "body": "Two."}\n{"body": "Three."}'),
        (
            "chat.jsonl",
            '{"role": "user", "content": "One.", "content": "Two."}\n{"role": "user", "content": "Three."}',
        ),
        (
            "chat.json",
            '[{"role": "user", "content": "One.", "content": "Two."}, {"role": "user", "content": "Three."}]',
        ),
        (
            "mem0.json",
            '[{"id": "a", "memory": "One.", "memory": "Two."}, {"id": "b", "memory": "Three."}]',
        ),
    ],
)
def test_of_a_field_given_twice_the_first_counts(tmp_path: Path, name: str, text: str) -> None:
    drafts, problems, skipped = read(tmp_path / name, text)
    assert ([draft.body for draft in drafts], problems) == (["One.", "Three."], [])
    skipped = [one for one in skipped if "without a time" not in one.what]
    [notice] = skipped
    assert (notice.what, notice.count) == (DOUBLED, 1)
    assert name != "records.jsonl" or notice.places[0].endswith("line 1")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Oil it. #lock keepers# #gate", ("lock keepers", "gate")),
        ("#pumps/north shore#.", ("pumps/north shore",)),
        ("Written in #lock and C#.", ("lock",)),
        ("See #12 and #gate, #key.", ("gate", "key")),
        ("# Heading with words #\n\nOil it.", ()),
    ],
)
def test_tags_of_several_words(tmp_path: Path, text: str, tags: tuple[str, ...]) -> None:
    [draft], problems, _ = read(tmp_path / "note.md", text)
    assert (draft.tags, problems) == (tags, [])


@pytest.mark.parametrize("name", ["records.jsonl", "records.json"])
def test_a_number_of_too_many_digits_is_a_text(tmp_path: Path, name: str) -> None:
    digits = "9" * 5_000
    written = '[{"body": "Noon."},\n{"body": "One.", "n": ' + digits + '},\n{"body": "Two."}]'
    drafts, problems, _ = read(tmp_path / name, written)
    assert ([draft.body for draft in drafts], problems) == (["Noon.", "One.", "Two."], [])
    assert drafts[1].metadata == {"n": digits}


THREAD = [
    {"object": "thread.message", "role": role, "content": [{"type": "text", "text": {"value": text}}]}
    for role, text in SAID
]


@pytest.mark.parametrize("name", ["messages.jsonl", "messages.json"])
def test_a_thread_of_openai_one_message_a_line(tmp_path: Path, name: str) -> None:
    drafts, problems, _ = read(tmp_path / name, "\n".join(map(json.dumps, THREAD)))
    assert ([(draft.role, draft.body) for draft in drafts], problems) == (SAID, [])


@pytest.mark.parametrize(
    ("answer", "body", "thoughts"),
    [
        ("<think>\nHm.\n</think>\n\nThe brass one.", "The brass one.", 1),
        ('<details type="reasoning" done="true">\n<summary>x</summary>\n> Hm.\n</details>\nThe brass one.',
         "The brass one.", 1),
        ("<think>a</think> <think>b</think>The brass one.", "The brass one.", 1),
        ("Write <think>so</think> before it.", "Write <think>so</think> before it.", 0),
        ("<think>" * 50_000, "<think>" * 50_000, 0),
    ],
)  # fmt: skip
def test_thoughts_in_the_text_of_an_answer(tmp_path: Path, answer: str, body: str, thoughts: int) -> None:
    chat = [{"role": role, "content": answer} for role in ("user", "assistant")]
    (asked, answered), problems, skipped = read(tmp_path / "chat.json", json.dumps(chat))
    assert (asked.body, answered.body, problems) == (answer, body, [])
    assert sum(one.count for one in skipped if one.what == THINKING) == thoughts


@pytest.mark.parametrize("name", ["conversations.jsonl", "conversations.json"])
def test_an_export_one_conversation_a_line(tmp_path: Path, name: str) -> None:
    one, two = (gpt_conversation(own, [gpt_message(f"{own}-a", "user", own)]) for own in ("c1", "c2"))
    drafts, problems, _ = read(tmp_path / name, f"{json.dumps(one)}\n{json.dumps(two)}\n")
    assert ([draft.body for draft in drafts], problems) == (["c1", "c2"], [])


def test_memories_of_mem0_one_a_line(tmp_path: Path) -> None:
    memories = [{"id": own, "memory": "Brass.", "user_id": "ann", "created_at": 1777629600.5} for own in "ab"]
    drafts, problems, _ = read(tmp_path / "mem0.jsonl", "\n".join(map(json.dumps, memories)))
    assert ([draft.key for draft in drafts], problems) == (["mem0/a", "mem0/b"], [])
    assert str(drafts[0].occurred_at) == "2026-05-01 10:00:00.500000+00:00"


def test_a_list_of_records_whose_text_has_another_name(tmp_path: Path) -> None:
    records = [{"text": "Brass.", "created_at": "1777629600.25"}, {"content": "Iron.", "tags": "gate"}]
    drafts, problems, _ = read(tmp_path / "records.json", json.dumps(records, indent=1))
    assert ([draft.body for draft in drafts], problems) == (["Brass.", "Iron."], [])
    assert str(drafts[0].occurred_at) == "2026-05-01 10:00:00.250000+00:00"


@pytest.mark.parametrize(
    "content", [{"text": "Brass."}, {"parts": ["Brass."]}, [{"text": "Brass."}], ["Brass."]]
)
def test_a_content_without_a_type_is_its_text(tmp_path: Path, content: Any) -> None:
    drafts, problems, _ = read(tmp_path / "chat.json", json.dumps([{"role": "bot", "content": content}]))
    assert ([(draft.role, draft.body) for draft in drafts], problems) == ([("assistant", "Brass.")], [])


@pytest.mark.parametrize("field", ["session_id", "conversation_id", "threadId", "chat_id"])
def test_messages_of_several_sessions_in_one_file(tmp_path: Path, field: str) -> None:
    messages = [
        {"role": "user", "content": text, field: own} for own, text in (("a", "1"), (2, "2"), ("a", "3"))
    ]
    drafts, problems, skipped = read(tmp_path / "chat.jsonl", "\n".join(map(json.dumps, messages)))
    found = [(draft.session_id, draft.body, [link.target for link in draft.links]) for draft in drafts]
    assert found == [("chat/a", "1", ["chat/a/2"]), ("chat/a", "3", []), ("chat/2", "2", [])]
    assert not problems
    assert not any(one.what.startswith("fields") for one in skipped)
