"""Sessions of agents: what the person typed and was answered, not what the program wrote beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pgrecall.importers.chat.turns import ADDED, OTHER_FILES
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft
from tests.unit.importers.chat_forms import write_json, write_lines

Lines = list[dict[str, Any]]
SAID = [("user", "Which key?"), ("assistant", "The brass one.")]
REMINDER = "<system-reminder>\nTwo skills.\n</system-reminder>"
ANSWER = {"type": "text", "text": "The brass one."}
SESSIONS: dict[str, Lines] = {
    "Grok": [
        {"type": "user", "content": [{"type": "text", "text": "<user_info>\nlinux\n</user_info>"}]},
        {"type": "user", "content": [{"type": "text", "text": REMINDER}]},
        {"type": "user", "content": "<user_query>\nWhich key?\n</user_query>", "prompt_index": 0},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "assistant", "content": "The brass one.", "model_id": "g"},
    ],
    "Cline": [
        {"role": "user", "content": [
            {"type": "text", "text": "Which key?"},
            {"type": "text", "text": "<environment_details>\n# Files\n</environment_details>"},
        ]},
        {"role": "assistant", "content": [ANSWER, {"type": "tool_use", "name": "read", "input": {}}]},
    ],
    "Pi": [
        {"type": "custom_message", "id": "c", "customType": "injected", "content": "From an extension."},
        {"type": "message", "id": "u", "message": {"role": "user", "content": "Which key?"}},
        {"type": "message", "id": "b", "message": {"role": "bashExecution", "command": "ls"}},
        {"type": "message", "id": "s", "message": {"role": "branchSummary", "summary": "Keys."}},
        {"type": "message", "id": "a", "message": {"role": "assistant", "content": [ANSWER]}},
    ],
    "claude -p": [
        {"type": "system", "subtype": "init", "cwd": "/clock", "session_id": "s"},
        {"type": "user", "session_id": "s", "message": {"role": "user", "content": "Which key?"}},
        {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [ANSWER]}},
        {"type": "result", "subtype": "success", "result": "The brass one.", "session_id": "s"},
    ],
}  # fmt: skip


def read(path: Path) -> tuple[list[tuple[str | None, str]], list[Problem], dict[str, Skipped]]:
    items = list(open_source(path))
    return (
        [(item.role, item.body) for item in items if isinstance(item, Draft)],
        [item for item in items if isinstance(item, Problem)],
        {item.what: item for item in items if isinstance(item, Skipped)},
    )


@pytest.mark.parametrize("program", SESSIONS)
def test_only_what_was_said(program: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "s.jsonl", SESSIONS[program])
    said, problems, notices = read(tmp_path)
    assert (said, problems) == (SAID, [])
    assert (ADDED in notices) == (program in ("Grok", "Cline"))


@pytest.mark.parametrize("program", ["Grok", "claude -p"])
def test_an_answer_about_such_tags_stays_whole(program: str, tmp_path: Path) -> None:
    text = f"Cursor writes <user_query>Which key?</user_query> and {REMINDER}"
    *asked, answer = SESSIONS[program][:-1] if program == "claude -p" else SESSIONS[program]
    told = {"content": text} if program == "Grok" else {"message": {"role": "assistant", "content": text}}
    write_lines(tmp_path / "s.jsonl", [*asked, answer | told])
    assert read(tmp_path)[0] == [SAID[0], ("assistant", text)]


def test_what_opencode_prints_has_the_answers(tmp_path: Path) -> None:
    parts = [{"type": "step-start", "id": "p"}, {**ANSWER, "id": "q"}, {"type": "tool", "id": "r"}]
    kinds = ("step_start", "text", "tool_use")
    events = [
        {"type": kind, "timestamp": 1_777_629_600_000, "sessionID": "s", "part": part}
        for kind, part in zip(kinds, parts, strict=True)
    ]
    write_lines(tmp_path / "s.jsonl", events)
    said, problems, notices = read(tmp_path / "s.jsonl")
    assert (said, problems) == (SAID[1:], [])
    assert {"lines of type 'step_start'", "lines of type 'tool_use'"} <= notices.keys()


def test_settings_beside_sessions_are_named(tmp_path: Path) -> None:
    write_json(tmp_path / "1" / "api_conversation_history.json", SESSIONS["Cline"])
    settings = write_json(tmp_path / "1" / "task_metadata.json", {"files_in_context": []})
    said, problems, notices = read(tmp_path)
    assert (known_kind(tmp_path), said, problems) == ("chat", SAID, [])
    assert notices[OTHER_FILES].places == (str(settings),)


@pytest.mark.parametrize("tag", ["<system-reminder>", "<user_query>", "<user_info><git_status>"])
def test_tags_that_never_end_keep_nobody_waiting(tag: str, tmp_path: Path) -> None:
    """A text full of them took minutes, for each was looked for to the end of the text."""
    text = f"{tag * 40_000} Which key?"
    write_lines(
        tmp_path / "s.jsonl", [{"role": "user", "content": text}, {"role": "assistant", "content": "Brass."}]
    )
    said, problems, _ = read(tmp_path)
    assert (said, problems) == ([("user", text), ("assistant", "Brass.")], [])
