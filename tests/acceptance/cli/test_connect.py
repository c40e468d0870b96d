"""Connecting an editor: its settings in a home of their own, a real session of MCP, and captured sessions."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pgrecall.faces.editors.hooks import HOOKS
from tests.acceptance.cli.command_tools import Ended, command_line, environment, without_progress
from tests.unit.importers.chat_forms import write_form
from tests.waiting import PATIENCE, until

PROGRAM = Path(sys.executable).with_name("pgrecall")


class Home:
    """A user's home and a project in it; commands run there as processes.

    The installed ``PROGRAM`` itself starts where an editor's entry or a shell starts it.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.url = url

    def run(self, *arguments: str, stdin: str = "") -> Ended:
        variables = environment(database_url=self.url, data_dir=str(self.home / "data"))
        variables["HOME"] = str(self.home)
        done = subprocess.run(
            command_line(*arguments), input=stdin.encode(), capture_output=True, env=variables,
            cwd=self.project, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout.decode(), without_progress(done.stderr.decode()))

    def read(self, name: str) -> Any:
        return json.loads((self.home / name).read_text())


@pytest.fixture
def home(tmp_path: Path, database_url: str) -> Home:
    return Home(tmp_path, database_url)


def test_an_entry_starts_the_server_and_goes_again(home: Home) -> None:
    home.home.joinpath(".cursor").mkdir()
    home.home.joinpath(".cursor/mcp.json").write_text('{\n    "mcpServers": {"other": {"command": "o"}}\n}\n')
    refused = home.run("connect", "cursor")
    assert (refused.code, refused.out) == (2, "")
    assert '+        "pgrecall": {' in refused.err
    assert "Nothing was changed. Confirm, or give --yes." in refused.err
    assert list(home.read(".cursor/mcp.json")["mcpServers"]) == ["other"]

    done = home.run("--tenant", "me", "connect", "cursor", "--env", "PGRECALL_DATABASE_URL", "--yes")
    assert done.code == 0
    assert "the copy from before is mcp.json.before-pgrecall" in done.out
    entry = home.read(".cursor/mcp.json")["mcpServers"]["pgrecall"]
    assert entry["args"] == ["--tenant", "me", "mcp", "--tools", "core"]
    assert entry["env"] == {"PGRECALL_DATABASE_URL": home.url}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    server = subprocess.run(
        [entry["command"], *entry["args"]], input=line.encode() + b"\n", capture_output=True,
        env=environment() | entry["env"], timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert json.loads(server.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "pgrecall"

    assert home.run("--tenant", "me", "connect", "cursor", "--env", "PGRECALL_DATABASE_URL").out == (
        "Cursor is already connected.\n"
    )
    assert home.run("connect", "cursor", "--undo", "--yes").code == 0
    assert home.read(".cursor/mcp.json") == {"mcpServers": {"other": {"command": "o"}}}
    assert home.run("connect", "cursor", "--undo").out == "Cursor is not connected.\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("connect", "emacs"), "'emacs' is not one of"),
        (("connect", "claude-desktop", "--capture"), "--capture cannot be used with claude-desktop"),
        (("connect", "claude-desktop", "--project"), "Claude Desktop has no settings for a project."),
        (("connect", "codex", "--env", "NO_SUCH"), "The environment variable NO_SUCH is not set."),
        (("connect", "codex", "--undo", "--print"), "--print and --undo cannot be combined."),
        (("--database-url", "postgresql://x", "connect", "claude", "--capture"), "may hold a password"),
    ],
)
def test_bad_input_changes_nothing(home: Home, arguments: tuple[str, ...], part: str) -> None:
    done = home.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert part in done.err
    assert [file for file in home.home.rglob("*") if file.is_file()] == []


def test_a_project_that_was_deleted_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f'rmdir "$PWD" && exec "{PROGRAM}" connect claude --project'
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path / "gone",
        env=environment(data_dir=str(tmp_path)), timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    # pip starts a program in a folder with spaces by a shell, which complains too.
    assert done.stderr.strip().splitlines()[-1] == (
        "Error: The current folder no longer exists. Change to the folder of the project."
    )


def test_print_changes_nothing(home: Home) -> None:
    done = home.run("connect", "codex", "--print")
    assert done.out.startswith("[mcp_servers.pgrecall]\ncommand = ")
    assert not (home.home / ".codex").exists()


def test_a_session_is_captured_and_offered_and_all_of_it_can_be_listed(home: Home) -> None:
    assert home.run("connect", "claude", "--capture", "--yes").code == 0
    hooks = home.read(".claude/settings.json")["hooks"]
    begins, ends = (
        shlex.split(hooks[one][0]["hooks"][0]["command"]) for one in ("SessionStart", "SessionEnd")
    )
    times = ("2026-05-01T10:00:00Z", "2026-05-01T10:00:05Z")
    turns = (("user", "Where is the ferry berth?"), ("assistant", "The ferry berths at the north quay."))
    transcript = home.project / "session.jsonl"
    transcript.write_text(
        "".join(
            json.dumps({
                "type": who, "uuid": f"u{place}", "sessionId": "s1", "timestamp": times[place],
                "message": {"role": who, "content": text},
            }) + "\n"
            for place, (who, text) in enumerate(turns)
        )
    )  # fmt: skip
    event = json.dumps({"transcript_path": str(transcript), "hook_event_name": "SessionEnd"})
    assert home.run(*ends[1:], stdin=event).code == 0

    def captured() -> bool:
        listed = home.run("list", "--source", "claude-code", "--json")
        return listed.code == 0 and len(json.loads(listed.out)) == len(turns)

    until(captured, "the import of the session")
    offered = json.loads(home.run(*begins[1:], stdin='{"hook_event_name": "SessionStart"}').out)
    assert "The ferry berths at the north quay." in offered["hookSpecificOutput"]["additionalContext"]
    empty = home.run(*ends[1:], stdin='{"transcript_path": "/no/such"}')  # a session without a turn
    assert (empty.code, empty.out, empty.err) == (0, "", "")
    wrong = home.run(*ends[1:], stdin='{"transcript_path": 7}')
    assert (wrong.code, "The event names no transcript" in wrong.err) == (1, True)
    nothing = home.run("capture", "end")
    assert (nothing.code, "This is not an editor event." in nothing.err) == (1, True)


FORMS = {"codex": "codex", "cursor": "cursor", "gemini": "gemini", "vscode": "vscode"}


@pytest.mark.parametrize("editor", FORMS)
def test_every_editor_with_hooks_captures_once_and_lets_go(editor: str, home: Home, tmp_path: Path) -> None:
    hooks = HOOKS[editor]  # type: ignore[index]
    file = home.home / hooks.user
    file.parent.mkdir(parents=True, exist_ok=True)
    theirs = {"type": "command", "command": "their-own"}
    kept = {"hooks": {hooks.start: [{"hooks": [theirs]} if hooks.grouped else theirs]}}
    kept = {"version": hooks.version, **kept} if hooks.version else kept
    file.write_text(json.dumps(kept))
    assert home.run("connect", editor, "--yes").code == 0
    assert json.loads(file.read_text()).get("hooks") == kept["hooks"]  # off unless asked for
    for said in ("Changed ", "is already connected."):
        done = home.run("connect", editor, "--capture", "--yes")
        assert (done.code, said in done.out) == (0, True), done.err
    written = json.loads(file.read_text())["hooks"]
    assert (len(written[hooks.start]), len(written[hooks.end])) == (2, 1)
    begins, ends = (
        shlex.split((one[-1]["hooks"][0] if hooks.grouped else one[-1])["command"])
        for one in (written[hooks.start], written[hooks.end])
    )
    path = write_form(FORMS[editor], tmp_path / "form")
    transcript = path if path.is_file() else next(one for one in path.rglob("*.jsonl"))
    event = json.dumps({"transcript_path": str(transcript), "hook_event_name": hooks.end})
    for _ in range(2):
        done = home.run(*ends[1:], stdin=event)
        assert (done.code, done.out) == (0, "")

        def captured() -> bool:
            listed = home.run("list", "--source", hooks.source, "--json")
            return listed.code == 0 and len(json.loads(listed.out)) == 2

        until(captured, "the import of the session")
    offered = json.loads(home.run(*begins[1:], stdin="{}").out)
    text = offered.get("additional_context") or offered["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("<pgrecall-memories>\nNotes of pgrecall from earlier sessions")
    assert home.run("connect", editor, "--undo", "--yes").code == 0
    assert json.loads(file.read_text()) == kept
    assert home.run("connect", editor, "--undo").out.endswith("is not connected.\n")
