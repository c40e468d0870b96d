"""What the hooks of an editor make of events, and of memories that they offer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors.capture import import_later, start_answer
from pgrecall.faces.editors.hooks import read_event


@pytest.mark.parametrize(
    "named", [None, "no/such", "~nobody-of-this-name/x", "a\x00b", "\ud800", "x" * 5000, "/", "~"]
)
def test_a_session_without_a_transcript_starts_nothing_and_is_no_fault(named: Any, tmp_path: Path) -> None:
    """Editors write no file for a session that was closed without a turn."""
    log = tmp_path / "logs" / "capture.log"
    import_later("claude", {"transcript_path": named}, ("no-program",), log)
    assert not log.parent.exists()


@pytest.mark.parametrize(
    "event", [{}, {"transcript_path": 7}, {"transcript_path": []}, {"transcript_path": ""}]
)
def test_an_event_that_names_no_transcript_is_refused(event: Any, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "capture.log"
    with pytest.raises(InvalidInput, match=r"^The event names no transcript\."):
        import_later("claude", event, ("no-program",), log)
    assert not log.parent.exists()


@pytest.mark.parametrize("name", ["a session.jsonl", "--strict", "-k", "$(touch x)"])
def test_the_name_of_a_transcript_is_no_option(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("{}")
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    import_later("claude", {"transcript_path": name}, ("pgrecall",), tmp_path / "log")
    assert started == [["pgrecall", "import", "--kind", "claude-code", "--source", "claude-code", "--", name]]


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "null", "{", '{"a": ' * 100_000, "{}" + " " * 2_000_000 + "x"]
)
def test_what_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not an editor event"):
        read_event(text)


@given(st.lists(st.tuples(st.text(max_size=400), st.text(min_size=1, max_size=800)), max_size=12))
def test_each_memory_is_offered_on_one_line(memories: list[tuple[str, str]]) -> None:
    document = json.loads(start_answer("claude", memories))
    lines = document["hookSpecificOutput"]["additionalContext"].split("\n")
    assert (lines[0], lines[-1]) == (
        ("<pgrecall-memories>", "</pgrecall-memories>") if memories else ("", "")
    )
    lines = lines[1:-1] if memories else lines
    assert len(lines) == len(memories) + 1
    assert all(line.startswith("- ") and len(line) < 700 for line in lines[1:])
    assert lines[0].startswith("Memories of earlier sessions") or not memories
