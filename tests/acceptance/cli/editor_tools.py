"""An editor whose hooks run as it would run them, and the process behind its recall."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from pgrecall.faces.editors.hooks import HOOKS
from tests.acceptance.cli.command_tools import Ended, command_line, environment, without_progress
from tests.waiting import PATIENCE, until

PROGRAM = Path(sys.executable).with_name("pgrecall-recall")
FERRY = "The ferry to Inishmore berths at the north quay since the storm."


@dataclass
class Editor:
    """An editor whose hooks run in a home of their own."""

    name: str
    home: Path
    variables: Mapping[str, str]
    command: list[str] = field(default_factory=list)

    @property
    def runtime(self) -> Path:
        return Path(self.variables["XDG_RUNTIME_DIR"])

    def run(self, *arguments: str) -> Ended:
        return self._run(command_line(*arguments))

    def ask(self, prompt: object, **event: object) -> Ended:
        return self._run(self.command, json.dumps({"prompt": prompt, "session_id": "s1", **event}))

    def recalled(self, prompt: str, **event: object) -> str:
        """The context that a prompt gets."""
        done = self.ask(prompt, **event)
        assert (done.code, done.err) == (0, "")
        if not done.out:
            return ""
        found = json.loads(done.out)
        own = found.get("hookSpecificOutput", found)
        assert own.get("hookEventName", HOOKS[self.name].prompt) == HOOKS[self.name].prompt  # type: ignore[index]
        text = own.get("additionalContext", own.get("additional_context"))
        assert isinstance(text, str)
        return text

    def hook(self, event: str, **fields: object) -> Ended:
        """Runs the last hook of an event with what the editor sends."""
        form = HOOKS[self.name]  # type: ignore[index]
        entry = json.loads((self.home / form.user).read_text())["hooks"][event][-1]
        words = shlex.split((entry["hooks"][0] if form.grouped else entry)["command"])
        assert Path(words[0]) == Path(sys.executable).with_name("pgrecall")
        return self._run(command_line(*words[1:]), json.dumps({"hook_event_name": event, **fields}))

    def gets(self, prompt: str, **event: object) -> str:
        """The context that a prompt gets, asked again where the answer came too late."""
        return until(lambda: self.recalled(prompt, **event), "the answer")

    def _run(self, command: list[str], stdin: str = "") -> Ended:
        done = subprocess.run(
            command, input=stdin.encode(), capture_output=True, env=self.variables, cwd=self.home,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout.decode(), without_progress(done.stderr.decode()))


def editor(name: str, folder: Path, url: str | None, *options: str, **settings: str) -> Editor:
    """An editor that is connected with recall, and with these options; ``url`` is None with cells."""
    home = folder / "home"
    runtime = Path(mkdtemp(prefix="recall-"))  # the path of a socket is short
    home.mkdir()
    settings = {"database_url": url, **settings} if url else settings
    variables = environment(**settings, data_dir=str(home / "data"), tenant="acme")
    made = Editor(name, home, {**variables, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)})
    assert made.run("connect", name, "--recall", *options, "--yes").code == 0
    form = HOOKS[name]  # type: ignore[index]
    entry = json.loads((home / form.user).read_text())["hooks"][form.prompt][0]
    made.command = shlex.split((entry["hooks"][0] if form.grouped else entry)["command"])
    assert made.command[0] == str(PROGRAM)
    return made


def stop(made: Editor) -> None:
    """Ends the process behind the hook."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(part.startswith(made.variables["XDG_RUNTIME_DIR"].encode()) for part in line):
            os.kill(int(process.name), signal.SIGTERM)
    shutil.rmtree(made.runtime)


def warm(made: Editor) -> None:
    """Waits for the process behind the hook: a prompt does not."""
    made.gets("Where does the ferry berth?", session_id="warm")
