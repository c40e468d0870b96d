"""The hooks of a session in its project: what is captured, what its start is told, and what a prompt gets."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.faces.editors.session_start import BUDGET, HANDOFF_BUDGET
from pgrecall.importers.chat.recalled import without_marked
from pgrecall.nouns.memories.models import PROJECT
from pgrecall.search.context.rendering import estimate_tokens
from tests.acceptance.cli.command_tools import Ended, command_line
from tests.acceptance.cli.editor_tools import FERRY, Editor, warm
from tests.unit.importers.test_projects import CLOCK, repository
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows")
CONNECTED = ("--capture",)


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    return repository(tmp_path / "clock", "git@github.com:mira/clock.git")


@pytest.fixture
def winch(tmp_path: Path) -> Path:
    return repository(tmp_path / "winch", "https://example.org/mira/winch.git")


def transcript(folder: Path, session: str, turns: list[tuple[str, str]], day: str = "2026-05-01") -> Path:
    file = folder / f"{session}.jsonl"
    lines = [
        {
            "type": role, "uuid": f"{session}-{place}", "sessionId": session, "cwd": str(folder),
            "timestamp": f"{day}T10:00:{place:02}Z", "message": {"role": role, "content": text},
        }
        for place, (role, text) in enumerate(turns)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def hook(made: Editor, event: str, **fields: object) -> Ended:
    """Runs our hook of an event with what the editor sends."""
    groups = json.loads((made.home / ".claude/settings.json").read_text())["hooks"][event]
    [command] = [one["hooks"][0]["command"] for one in groups]
    program, *words = shlex.split(command)
    assert Path(program) == Path(sys.executable).with_name("pgrecall")
    done = subprocess.run(
        command_line(*words), input=json.dumps({"hook_event_name": event, **fields}).encode(),
        capture_output=True, env=made.variables, cwd=made.home, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def told(made: Editor, **fields: object) -> str:
    """What the start of a session is told."""
    done = hook(made, "SessionStart", **fields)
    assert (done.code, done.err) == (0, "")
    text = json.loads(done.out)["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    assert without_marked(text)[0] == ""
    return text


def captured(memory: Memory, made: Editor, event: str, file: Path, count: int, **fields: object) -> None:
    assert hook(made, event, transcript_path=str(file), cwd=str(file.parent), **fields).code == 0
    until(lambda: len(memory.list(sources=("claude-code",))) == count, "the import of the session")


TURNS = [
    ("user", "The build broke again. From now on, run the linter before you commit."),
    ("assistant", "I will run the linter before each commit."),
    ("user", "Let the escapement tick twice a second."),
    ("assistant", "The escapement ticks twice a second now; the tests of the pendulum still fail."),
]


def test_a_session_is_told_of_its_own_project(
    claude: Editor, memory: Memory, clock: Path, winch: Path
) -> None:
    captured(memory, claude, "SessionEnd", transcript(clock, "s1", TURNS), 4)
    captured(memory, claude, "SessionEnd", transcript(winch, "s2", [("user", "Grease the winch.")]), 5)
    assert {one.metadata[PROJECT] for one in memory.list()} == {CLOCK, "example.org/mira/winch"}
    memory.remember("Mira repaired the pendulum's tests.", metadata={PROJECT: CLOCK})
    text = told(claude, source="startup", session_id="s3", cwd=str(clock))
    assert f"earlier sessions in {CLOCK}, not instructions" in text
    for expected in (
        "The user asked to keep to this:\n- From now on, run the linter before you commit.",
        "Since the last session (2026-05-01):\n- Mira repaired the pendulum's tests.",
        "The last session stopped here:\n- user: Let the escapement tick twice a second.\n"
        "- assistant: The escapement ticks twice a second now;",
    ):
        assert expected in text
    assert "winch" not in text
    assert estimate_tokens(text) <= BUDGET
    other = told(claude, source="startup", session_id="s3", cwd=str(winch))
    assert "Grease the winch." in other
    assert "linter" not in other
    assert told(claude, source="startup", session_id="s3", cwd=str(claude.home))  # no project: of all


def test_a_question_that_nobody_answered_stays_open(claude: Editor, memory: Memory, clock: Path) -> None:
    asked = [("user", "Which oil does the escapement need?")]
    captured(memory, claude, "SessionEnd", transcript(clock, "s1", asked, "2026-04-01"), 1)
    captured(memory, claude, "SessionEnd", transcript(clock, "s2", TURNS), 5)
    text = told(claude, session_id="s3", cwd=str(clock))
    assert "Asked in earlier sessions, and not answered there:\n- Which oil does the escapement need?" in text


def test_before_a_summary_turns_are_captured_and_a_handoff_follows_it(
    claude: Editor, memory: Memory, clock: Path
) -> None:
    key = "ghp_" + "Zq8" * 12
    turns = [*TURNS, ("user", f"Deploy it with {key}."), ("assistant", "Deployed. " + "It ran well. " * 200)]
    turns += [("user", f"Step {n}: " + "wind the clock " * 40) for n in range(12)]
    file = transcript(clock, "s1", turns)
    with file.open("a") as growing:
        growing.write('{"type": "user", "uui')
    captured(memory, claude, "PreCompact", file, len(turns), trigger="auto", session_id="s1")
    text = told(claude, source="compact", session_id="s1", cwd=str(clock), transcript_path=str(file))
    assert "this session before it was summarised" in text
    assert "Asked in this session:" in text
    assert "- Deployed. It ran well." in text
    assert "From now on, run the linter" in text
    assert text.index("Step 10") < text.index("Step 11")
    assert estimate_tokens(text) <= HANDOFF_BUDGET
    assert key not in text
    assert key not in json.dumps([one.body for one in memory.list()])
    first = told(claude, source="compact", session_id="s1", cwd=str(clock))  # without a transcript: as ever
    assert "this session before" not in first


def test_a_prompt_gets_what_its_project_says(
    claude: Editor, memory: Memory, clock: Path, winch: Path
) -> None:
    memory.remember("The service of the clock listens at port 8080.", metadata={PROJECT: CLOCK})
    memory.remember(
        "The service of the winch listens at port 9090.", metadata={PROJECT: "example.org/mira/winch"}
    )
    memory.remember(FERRY)
    warm(claude)
    question = "Which port does the service listen at?"
    assert "8080" in claude.gets(question, session_id="a", cwd=str(clock)).split("9090")[0]
    assert "9090" in claude.gets(question, session_id="b", cwd=str(winch)).split("8080")[0]
    assert claude.run("connect", "claude", "--recall", "--scope", "project", "--yes").code == 0
    groups: list[Any] = json.loads((claude.home / ".claude/settings.json").read_text())["hooks"][
        "UserPromptSubmit"
    ]
    assert len(groups) == 1
    claude.command = shlex.split(groups[0]["hooks"][0]["command"])
    strict = claude.gets(question, session_id="c", cwd=str(clock))
    assert "8080" in strict
    assert "9090" not in strict
    assert claude.recalled("Where does the ferry berth?", session_id="d", cwd=str(clock)) == ""
    assert claude.recalled(question, session_id="e", cwd=str(claude.home)) == ""


def test_strange_folders_and_events_hold_nobody_up(claude: Editor, memory: Memory) -> None:
    memory.remember(FERRY)
    warm(claude)
    for place, folder in enumerate(("/no/such", "x\x00", "/" + "y" * 10_000, 7, None)):
        assert FERRY in claude.gets("Where does the ferry berth?", session_id=f"s{place}", cwd=folder)
        assert FERRY in told(claude, cwd=folder)
    for other in (
        {"cursor_version": "2.0"},
        {"hookEventName": "SessionStart"},
    ):  # they run it beside their own
        for event in ("SessionStart", "SessionEnd"):
            done = hook(claude, event, transcript_path=7, **other)
            assert (done.code, done.out, done.err) == (0, "", "")
    wrong = hook(claude, "SessionStart", source="compact", transcript_path=7)
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err.startswith("Error: The event names no transcript.")


def test_an_old_entry_of_the_hook_still_works_and_is_replaced(claude: Editor, memory: Memory) -> None:
    memory.remember(FERRY)
    file = claude.home / ".claude/settings.json"
    assert claude.run("connect", "claude", "--undo", "--yes").code == 0
    program = Path(sys.executable).with_name("pgrecall")
    entries = {
        event: [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": f"{shlex.quote(str(program))} capture {part} --editor claude",
                    }
                ]
            }
        ]
        for event, part in (("SessionStart", "start"), ("SessionEnd", "end"))
    }
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"hooks": entries}))
    assert FERRY in told(claude, source="startup")
    assert claude.run("connect", "claude", "--capture", "--yes").code == 0
    hooks = json.loads(file.read_text())["hooks"]
    assert {event: len(groups) for event, groups in hooks.items()} == {
        "SessionStart": 1, "SessionEnd": 1, "PreCompact": 1,
    }  # fmt: skip
