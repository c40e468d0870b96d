"""A session of Claude Code as the web page saves it: one JSON object with a list `loglines`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.memories.models import Draft


def line(role: str, content: object, minute: int, **more: object) -> dict[str, object]:
    message = {"role": role, "content": content}
    return {"type": role, "timestamp": f"2026-05-01T10:{minute:02}:00Z", "message": message} | more


LINES: list[dict[str, object]] = [
    line("user", "Who mends the winch?", 0),
    line("assistant", [{"type": "thinking", "thinking": "..."}, {"type": "text", "text": "Mira does."}], 1),
    line("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}], 2),
    line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "yard"}], 3),
    line("user", "It was compacted.", 4, isCompactSummary=True),
]


def drafts(path: Path) -> list[Draft]:
    return [item for item in open_source(path) if isinstance(item, Draft)]


@pytest.mark.parametrize("named", [False, True])
def test_the_turns_of_a_session(tmp_path: Path, named: bool) -> None:
    lines = [one | ({"uuid": f"u{at}", "sessionId": "s"} if named else {}) for at, one in enumerate(LINES)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"loglines": lines}))
    assert known_kind(path) == "claude-code"
    found = drafts(path)
    assert [(draft.role, draft.body) for draft in found] == [
        ("user", "Who mends the winch?"), ("assistant", "Mira does."),
    ]  # fmt: skip
    assert {draft.session_id for draft in found} == {"claude-code/s" if named else "claude-code/export"}
    assert [draft.occurred_at.minute for draft in found if draft.occurred_at] == [0, 1]
    assert [draft.key for draft in drafts(path)] == [draft.key for draft in found]
    if named:
        assert found[0].key == "claude-code/s/u0"


def test_an_empty_session_and_other_keys(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"title": "Winch", "loglines": [None, 5, {"type": "system"}, *LINES]}))
    assert len(drafts(path)) == 2
