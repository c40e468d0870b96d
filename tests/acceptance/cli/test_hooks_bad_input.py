"""Hooks in bad surroundings: a locked database or none, a half-written transcript, hostile project files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from pgrecall import Memory
from pgrecall.nouns.memories.models import PROJECT
from tests.acceptance.cli.editor_tools import FERRY, Editor, warm
from tests.acceptance.cli.test_session_hooks import TURNS, captured, hook, told, transcript
from tests.databases import Query
from tests.unit.importers.test_projects import repository
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows")
CONNECTED = ("--capture",)
PASSWORD = "h0rse" + "-battery"


def test_a_locked_database_holds_no_hook_up_and_all_goes_on_after_it(
    claude: Editor, memory: Memory, database_url: str
) -> None:
    memory.remember(FERRY)
    warm(claude)
    with psycopg.connect(database_url) as locking:
        tables = locking.execute(
            "SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_class c "
            "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p')"
        )
        [names] = tables.fetchone() or [""]
        locking.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.SQL(names))
        )  # as an upgrade
        begun = hook(claude, "SessionStart", source="startup")
        assert (begun.code, begun.out) == (1, "")
        assert begun.err.startswith("Error: ")
        assert len(begun.err.splitlines()) <= 2
        asked = claude.ask("Where does the ferry berth?", session_id="locked")
        assert asked.out == ""
        locking.rollback()
    assert FERRY in told(claude, source="startup")
    assert FERRY in claude.gets("Where does the ferry berth?", session_id="after")


def test_without_a_database_a_session_begins_with_a_sentence(claude: Editor) -> None:
    claude.variables = {**claude.variables, "PGRECALL_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    begun = hook(claude, "SessionStart", source="startup")
    assert (begun.code, begun.out) == (1, "")
    assert "127.0.0.1" in begun.err
    assert "Traceback" not in begun.err


def test_a_capture_without_a_database_ends_at_once_and_says_why_in_its_log(
    claude: Editor, tmp_path: Path
) -> None:
    claude.variables = {**claude.variables, "PGRECALL_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    file = transcript(tmp_path, "one", TURNS)
    assert hook(claude, "SessionEnd", transcript_path=str(file), cwd=str(tmp_path)).code == 0
    log = claude.home / "data" / "capture.log"
    assert "127.0.0.1" in until(lambda: log.read_text() if log.exists() else "", "the log")


def test_a_transcript_in_the_making_is_captured_up_to_its_last_whole_line(
    claude: Editor, memory: Memory, tmp_path: Path
) -> None:
    whole = transcript(tmp_path, "one", TURNS).read_text().splitlines(keepends=True)
    file = tmp_path / "one.jsonl"
    file.write_text("".join(whole[:2]) + whole[2][:40])
    captured(memory, claude, "PreCompact", file, 2)
    assert TURNS[1][1] in told(claude, source="compact", transcript_path=str(file))
    file.write_text("".join(whole[:3]) + whole[3][:-3])
    captured(memory, claude, "PreCompact", file, 3)
    file.write_text("".join(whole))
    captured(memory, claude, "SessionEnd", file, 4)
    bodies = [one.body for one in memory.list(sources=("claude-code",), limit=10)]
    assert sorted(bodies) == sorted(text for _, text in TURNS)


@pytest.mark.parametrize(
    "config",
    [
        f'[remote "origin"]\n\turl = https://mira:{PASSWORD}@example.org/clock.git\n',
        f'[remote "origin"]\n\turl = https://mira:{PASSWORD}@example.org/a\x07b\x1b[31m.git\n',
        f'[remote "origin"]\n\turl = "{PASSWORD}\\n{PASSWORD}"\n',
        f'# {"x" * 5_000_000}\n[remote "origin"]\n\turl = https://example.org/{PASSWORD * 200_000}\n',
    ],
    ids=["password", "control characters", "several lines", "huge"],
)
def test_a_hostile_config_of_a_project_is_named_without_its_password(
    config: str, claude: Editor, memory: Memory, query: Query, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "clock")
    with (folder / ".git" / "config").open("a") as file:
        file.write(config)
    begun = hook(claude, "SessionStart", source="startup", cwd=str(folder))
    assert (begun.code, begun.err) == (0, "")
    captured(memory, claude, "SessionEnd", transcript(folder, "one", TURNS), 4)
    projects = {one.metadata.get(PROJECT) for one in memory.list(sources=("claude-code",))}
    assert projects in ({"example.org/clock"}, {str(folder.resolve())})
    assert query("SELECT FROM recall.memory m WHERE strpos(m::text, %s) > 0", (PASSWORD,)) == []


def test_links_in_a_circle_stop_no_hook(claude: Editor, tmp_path: Path) -> None:
    folder = tmp_path / "ring"
    folder.mkdir()
    (folder / ".git").symlink_to(folder / ".git")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for strange in (folder, tmp_path / "loop", tmp_path / "loop" / "in"):
        assert told(claude, source="startup", cwd=str(strange)) == ""
        end = hook(claude, "SessionEnd", transcript_path=str(tmp_path / "loop"), cwd=str(strange))
        assert (end.code, end.out, end.err) == (0, "", "")


@pytest.mark.parametrize("old", ["capture start", "capture end", "capture start --editor claude"])
def test_every_old_entry_goes_with_undo_and_those_of_others_stay(claude: Editor, old: str) -> None:
    file = claude.home / ".claude/settings.json"
    other = {"hooks": [{"type": "command", "command": "/usr/bin/notify done"}]}
    ours = {"hooks": [{"type": "command", "command": f"/old/venv/bin/pgrecall --tenant acme {old}"}]}
    event = "SessionEnd" if "end" in old else "SessionStart"
    file.write_text(json.dumps({"model": "opus", "hooks": {event: [ours, other]}}))
    assert claude.run("connect", "claude", "--capture", "--yes").code == 0
    groups = json.loads(file.read_text())["hooks"][event]
    assert ours not in groups
    assert other in groups
    assert len(groups) == 2
    assert claude.run("connect", "claude", "--undo", "--yes").code == 0
    assert json.loads(file.read_text()) == {"model": "opus", "hooks": {event: [other]}}
