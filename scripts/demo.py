"""`make demo`: the real command line on the example vault, in its own data directory.

Prints every command before it runs. The commands run in this process, so that the model is loaded once and
the embedded server is started once. In a shell, the same commands print the same output.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseUnavailable, RecallError
from pgrecall.faces.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
ROOT_DATA_DIR = Path("/var/lib/pgrecall-demo")
STORY_END = datetime(2026, 11, 1, tzinfo=UTC)

BY_USE = "how do I reset the gauge key"
BY_NAME = "Tomas Lindquist spare keys"
BY_MEANING = "moving the database over to the other machine"
SQL = "SELECT rank, round(score::numeric, 2) AS score, key FROM recall.search('gauge key', p_k => 3)"

console = Console(highlight=False, markup=False)


def main() -> None:
    """Imports the vault, searches three times, records an access, and shows what to try next."""
    try:
        with start() as server:
            story(Shell(server.data_dir), server.url)
    except RecallError as error:
        console.print(f"The demo cannot run: {error}")
        sys.exit(3)


def start() -> EmbeddedServer:
    """Starts the embedded server in ``.demo``; for root elsewhere, because its server has another account."""
    try:
        return EmbeddedServer.start(ROOT / ".demo")
    except DatabaseUnavailable:
        if os.geteuid() != 0:
            raise
        return EmbeddedServer.start(ROOT_DATA_DIR)


class Shell:
    """Runs `pgrecall` commands as a shell would."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run(self, *arguments: str) -> None:
        """Prints the command and its output; stops the demo if it fails."""
        console.print(f"\n$ pgrecall {shlex.join(arguments)}", style="bold green", soft_wrap=True)
        if (code := self._call(arguments)) != 0:
            sys.exit(code)

    def run_json(self, *arguments: str) -> dict[str, Any]:
        """Runs a command silently and returns its JSON."""
        with contextlib.redirect_stdout(io.StringIO()) as captured:
            code = self._call((*arguments, "--json"))
        if code != 0:
            sys.exit(code)
        document: dict[str, Any] = json.loads(captured.getvalue())
        return document

    def _call(self, arguments: tuple[str, ...]) -> int:
        try:
            app(["--data-dir", str(self.data_dir), *arguments], prog_name="pgrecall")
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0


def story(shell: Shell, url: str) -> None:
    """Runs the commands, with a remark before each."""
    say("Notes of an invented company (people, knowledge, episodes, activity), and a log of their accesses.")
    shell.run("init")
    shell.run("import", show(EXAMPLES / "vault"), "--now", day(STORY_END))
    accesses_before = _accesses(shell.run_json("status"))
    shell.run("access", "--from", show(EXAMPLES / "accesses.jsonl"), "--now", day(STORY_END))
    now = today(shell, accesses_before)
    at = ("--now", day(now))
    shell.run("status", *at)

    say(
        "1. The key page and its section on leaked keys are about equally relevant. "
        "The page is used often, so its score is higher and it ranks first."
    )
    shell.run("search", BY_USE, "-k", "3", "--explain", *at)
    say("2. Search by name, with the surname misspelt.")
    shell.run("search", BY_NAME, "-k", "2", "--explain", *at)
    say("3. Search by meaning: two runbooks for one job, an old one and the one in use.")
    shell.run("search", BY_MEANING, "-k", "2", "--explain", *at)

    record_use(shell, now)

    say("Search in plain SQL, by words and names, from any language with a Postgres driver:")
    console.print(f"\nSET recall.tenant = 'default';\n{SQL};", style="bold green", soft_wrap=True)
    with psycopg.connect(url) as connection:
        connection.execute("SET recall.tenant = 'default'")
        for rank, score, key in connection.execute(SQL):
            console.print(f" {rank}  {score}  {key}")
    print_next_steps(shell)


def today(shell: Shell, accesses_before: int) -> datetime:
    """Returns the time of the story: a day later each time the demo runs, since each run adds one access."""
    status = shell.run_json("status")
    lines = sum(1 for line in (EXAMPLES / "accesses.jsonl").open() if line.strip())
    extra = max(0, _accesses(status) - int(str(status["memories"])) - lines)
    return STORY_END + timedelta(days=extra if accesses_before else 0)


def _accesses(status: dict[str, Any]) -> int:
    return sum(status["access_counts"].values())


def record_use(shell: Shell, now: datetime) -> None:
    """Records an access of the lower of two notes, and searches again."""
    hits = shell.run_json("search", BY_MEANING, "-k", "2", "--now", day(now))["hits"]
    assert isinstance(hits, list)
    lower = hits[1]
    say(f"Now somebody works with the second note, “{lower['title']}”. It ranks first in the next search.")
    shell.run("access", lower["key"], "--kind", "used", "--at", day(now), "--now", day(now))
    shell.run("search", BY_MEANING, "-k", "2", "--now", day(now))
    later = now + timedelta(days=60)
    say("Two months later, without another access, its score has fallen back by itself.")
    shell.run("search", BY_MEANING, "-k", "2", "--now", day(later))


def print_next_steps(shell: Shell) -> None:
    """Prints commands to try, unwrapped, so that they can be copied."""
    pgrecall, folder = ".venv/bin/pgrecall", shlex.quote(str(shell.data_dir))
    lines = (
        f"export PGRECALL_DATA_DIR={folder}  # the demo's memories, separate from yours",
        f"{pgrecall} search 'who foresaw the clock mistake' --explain",
        f"{pgrecall} search 'what went live' --layer activity --since 2026-04-01 --until 2026-04-30",
        f"{pgrecall} show people-and-things/heron",
        f"{pgrecall} postgres  # keeps Postgres running and prints its URL, for psql in another terminal:",
        'psql "$URL" -c "SET recall.tenant = \'default\'" -c "SELECT title FROM recall.search(\'tide\')"',
        "",
        f"Your own notes:     unset PGRECALL_DATA_DIR; {pgrecall} import ~/notes",
        f"Your own Postgres:  export PGRECALL_DATABASE_URL=postgresql://…; {pgrecall} init",
    )
    say("Next steps")
    for line in lines:
        console.print(line, soft_wrap=True)


def day(moment: datetime) -> str:
    """Formats a date for an option."""
    return f"{moment:%Y-%m-%d}"


def say(text: str) -> None:
    """Prints a remark between commands."""
    console.print(f"\n{text}", style="bold", soft_wrap=not console.is_terminal)


def show(path: Path) -> str:
    """Returns the path as a user would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


if __name__ == "__main__":
    main()
