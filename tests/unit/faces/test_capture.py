"""What the hooks of an editor make of events."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors.capture import import_later
from pgrecall.faces.editors.hooks import folder_of, read_event


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


@pytest.mark.parametrize(
    "event",
    [
        {}, {"cwd": None}, {"cwd": 7}, {"cwd": ""}, {"cwd": "relative"}, {"cwd": "/no/such"},
        {"cwd": "/a\x00b"}, {"cwd": "/" + "x" * 10_000},
        {"workspace_roots": []}, {"workspace_roots": [7]}, {"workspace_roots": "/"},
    ],
)  # fmt: skip
def test_what_names_no_folder_is_no_fault(event: Any) -> None:
    assert folder_of(event) is None


def test_the_folder_of_a_session_names_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("{}")
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    monkeypatch.setattr("pgrecall.faces.editors.capture.project_of", str)
    for event in ({"cwd": str(tmp_path)}, {"workspace_roots": [str(tmp_path)]}):
        assert folder_of(event) == tmp_path
        import_later("cursor", {"transcript_path": str(transcript), **event}, ("pgrecall",), tmp_path / "log")
        assert f"--project={tmp_path}" in started[-1]
        assert started[-1][-2:] == ["--", str(transcript)]
