"""`make demo`: the real command line on the example vault, in a data directory of its own.

Every command is printed before it runs. It runs in this process, so that the model is loaded once and
the embedded server is started once; typed into a shell, the same commands print the same.
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

import psycopg
from rich.console import Console

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseUnavailable, RecallError
from pgrecall.faces.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
DATA_OF_ROOT = Path("/var/lib/pgrecall-demo")
THE_STORY_ENDS = datetime(2026, 11, 1, tzinfo=UTC)

BY_USE = "how do I reset the gauge key"
BY_NAME = "Tomas Lindquist spare keys"
BY_MEANING = "moving the database over to the other machine"
SQL = "SELECT rank, round(score::numeric, 2) AS score, key FROM recall.search('gauge key', p_k => 3)"

console = Console(highlight=False, markup=False)


def main() -> None:
    """Fill, ask three questions, close the loop, say what is next."""
    try:
        with start() as server:
            story(Shell(server.data_dir), server.url)
    except RecallError as error:
        console.print(f"The demo cannot run: {error}")
        sys.exit(3)


def start() -> EmbeddedServer:
    """The embedded server in ``.demo``; for root elsewhere, where its account may not enter this folder."""
    try:
        return EmbeddedServer.start(ROOT / ".demo")
    except DatabaseUnavailable:
        if os.geteuid() != 0:
            raise
        return EmbeddedServer.start(DATA_OF_ROOT)


class Shell:
    """Runs `pgrecall` commands as a shell would."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run(self, *arguments: str) -> None:
        """Prints the command and what it prints; stops the demo when it fails."""
        console.print(f"\n$ pgrecall {shlex.join(arguments)}", style="bold green", soft_wrap=True)
        if (code := self._call(arguments)) != 0:
            sys.exit(code)

    def answer(self, *arguments: str) -> dict[str, object]:
        """The JSON that a command prints."""
        with contextlib.redirect_stdout(io.StringIO()) as captured:
            code = self._call((*arguments, "--json"))
        if code != 0:
            sys.exit(code)
        document: dict[str, object] = json.loads(captured.getvalue())
        return document

    def _call(self, arguments: tuple[str, ...]) -> int:
        try:
            app(["--data-dir", str(self.data_dir), *arguments], prog_name="pgrecall")
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0


def story(shell: Shell, url: str) -> None:
    """The commands, and what to look at in their answers."""
    say("A company's notes: people, knowledge, episodes and activity; and who used which note when.")
    shell.run("init")
    shell.run("import", show(EXAMPLES / "vault"))
    uses_at_first = int(str(shell.answer("status")["accesses"]))
    shell.run("access", "--from", show(EXAMPLES / "accesses.jsonl"), "--now", day(THE_STORY_ENDS))
    now = today(shell, uses_at_first)
    at = ("--now", day(now))
    shell.run("status", *at)

    say(
        "1. The key page and its section on leaked keys answer about equally well (relevance). "
        "The page is used again and again, so it comes first (score)."
    )
    shell.run("search", BY_USE, "-k", "3", "--explain", *at)
    say("2. By name, surname misspelt; whoever is asked for by name needs no vitality.")
    shell.run("search", BY_NAME, "-k", "2", "--explain", *at)
    say("3. By meaning: two runbooks for one job, an old one and the one in use.")
    shell.run("search", BY_MEANING, "-k", "2", "--explain", *at)

    close_the_loop(shell, now)

    say("The same search from plain SQL, by words and names alone, in any language that speaks to Postgres:")
    console.print(f"\nSET recall.tenant = 'default';\n{SQL};", style="bold green", soft_wrap=True)
    with psycopg.connect(url) as connection:
        connection.execute("SET recall.tenant = 'default'")
        for rank, score, key in connection.execute(SQL):
            console.print(f" {rank}  {score}  {key}")
    what_next(shell)


def today(shell: Shell, uses_at_first: int) -> datetime:
    """The story's present: a day later each time the demo runs, since each run adds one use."""
    status = shell.answer("status")
    lines = sum(1 for line in (EXAMPLES / "accesses.jsonl").open() if line.strip())
    extra = max(0, int(str(status["accesses"])) - int(str(status["memories"])) - lines)
    return THE_STORY_ENDS + timedelta(days=extra if uses_at_first else 0)


def close_the_loop(shell: Shell, now: datetime) -> None:
    """One use of the lower of two notes, and what becomes of it."""
    hits = shell.answer("search", BY_MEANING, "-k", "2", "--now", day(now))["hits"]
    assert isinstance(hits, list)
    lower = hits[1]
    say(f"The loop closes: somebody works with the lower note, “{lower['title']}”. Now it comes first.")
    shell.run("access", lower["key"], "--kind", "used", "--at", day(now), "--now", day(now))
    shell.run("search", BY_MEANING, "-k", "2", "--now", day(now))
    later = now + timedelta(days=60)
    say("Two months later, not used again, its score has fallen back. Nobody had to tidy up.")
    shell.run("search", BY_MEANING, "-k", "2", "--now", day(later))


def what_next(shell: Shell) -> None:
    """Commands to type oneself; unwrapped, so that they can be copied."""
    pgrecall = ".venv/bin/pgrecall"
    lines = (
        f"export PGRECALL_DATA_DIR={shell.data_dir}  # the demo's memories; yours live elsewhere",
        f"{pgrecall} search 'who foresaw the clock mistake' --explain",
        f"{pgrecall} search 'what went live' --layer activity --since 2026-04-01 --until 2026-04-30",
        f"{pgrecall} show people-and-things/heron",
        f"{pgrecall} postgres  # keeps Postgres up and prints its URL, for psql in another terminal:",
        'psql "$URL" -c "SET recall.tenant = \'default\'" -c "SELECT title FROM recall.search(\'tide\')"',
        "",
        f"Your own notes:     unset PGRECALL_DATA_DIR; {pgrecall} import ~/notes",
        f"Your own Postgres:  export PGRECALL_DATABASE_URL=postgresql://…; {pgrecall} init",
    )
    say("What to try next")
    for line in lines:
        console.print(line, soft_wrap=True)


def day(moment: datetime) -> str:
    """Midnight of a day, as an option takes it."""
    return f"{moment:%Y-%m-%d}"


def say(text: str) -> None:
    """A remark between commands."""
    console.print(f"\n{text}", style="bold", soft_wrap=not console.is_terminal)


def show(path: Path) -> str:
    """The path as one would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


if __name__ == "__main__":
    main()
