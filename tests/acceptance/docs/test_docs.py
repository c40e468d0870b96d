"""What the documentation shows, runs: each page is read from top to bottom, in a database of its own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.cli.command_tools import Command, environment
from tests.acceptance.docs.doc_blocks import (
    COMMANDS,
    ELSEWHERE,
    LANGUAGES,
    PAGES,
    PROGRAMS,
    Block,
    blocks_of,
    not_run,
)
from tests.acceptance.http.http_tools import serving
from tests.unit.importers.chat_forms import (
    claude_code_session,
    gpt_conversation,
    gpt_message,
    write_lines,
    write_zip,
)
from tests.waiting import PATIENCE, until


class Reader:
    """Somebody who types what a page says. ``words`` are put in place of words of the page."""

    def __init__(
        self,
        command: Command,
        database_url: str,
        empty_database: Callable[[], str],
        folder: Path,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.pgrecall = command
        self.empty_database = empty_database
        self.settings = {"database_url": database_url}
        self.folder = folder
        self.patch = patch
        self.words: dict[str, str] = {}
        self.open = ExitStack()
        self._served: str | None = None

    def read(self, block: Block) -> None:
        match block.language:
            case "sql" if not block.elsewhere:
                with psycopg.connect(self.settings["database_url"]) as connection:
                    connection.execute(block.text.encode())
            case "python":
                self._python(block)
            case "console" if not block.elsewhere:
                for command in block.commands:
                    self._type(command, str(block))

    def _python(self, block: Block) -> None:
        with self.patch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("default")  # of libraries: only our own warnings are ours
            for name, value in environment(database_url=self.settings["database_url"]).items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            exec(compile("\n" * block.line + block.text, block.page, "exec"), {"__name__": "__main__"})

    def _type(self, command: str, where: str) -> None:
        for word, other in self.words.items():
            command = re.sub(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])", other, command)
        if not_run(command):
            return
        program, *arguments = shlex.split(command)
        if program == "export":
            self.settings |= {
                name.removeprefix("PGRECALL_").lower(): value for name, value in map(_pair, arguments)
            }
        elif program == "curl":
            said = self._curl(arguments)
            assert said.returncode == 0, f"{where}: {command}\n{said.stdout}{said.stderr}"
        else:
            assert program == "pgrecall", f"{where}: {program} is not run, and not in PROGRAMS"
            if arguments[:1] == ["changes"]:  # readable once the transactions of other tests have ended
                until(lambda: self.pgrecall("changes", **self.settings).code == 0, "reading the changes")
            done = self.pgrecall(*arguments, **self.settings)
            assert done.code == 0, f"{where}: {command}\n{done.out}{done.err}"
            if key := re.match(r"pgr_\S+", done.out):
                self.words["pgr_..."] = key[0]

    def _curl(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        """Asks a service of the page's database, started when the first page's line needs it."""
        if shutil.which("curl") is None:
            pytest.skip("there is no curl on this machine: the rest of the page was not run")
        if self._served is None:
            url = self.settings["database_url"]
            self._served = self.open.enter_context(serving(url, tenant="default")).url.removeprefix("http://")
        asked = [part.replace("localhost:8766", self._served) for part in arguments]
        line = ["curl", "--fail-with-body", "--noproxy", "*", *asked]
        return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False)


def _pair(assignment: str) -> tuple[str, str]:
    name, _, value = assignment.partition("=")
    return name, value


def _notes(reader: Reader, *keys: str) -> list[int]:
    """Memories of these keys, and their ids."""
    lines = [
        json.dumps({"key": key, "body": f"The harbour contract: {key}.", "occurred_at": "2026-01-01"})
        for key in keys
    ]
    (reader.folder / "made.jsonl").write_text("\n".join(lines))
    assert reader.pgrecall("import", "made.jsonl", **reader.settings).code == 0
    return [reader.pgrecall("show", key, "--json", **reader.settings).json["id"] for key in keys]


def _for_pruning(reader: Reader) -> None:
    """Memories of nine years ago: a plan may take a tenth of them."""
    with psycopg.connect(reader.settings["database_url"]) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'default', true)")
        old = "SELECT recall.remember('Old news ' || n, p_now => now() - interval '9 years')"
        connection.execute(old + " FROM generate_series(1, 20) n")


def _for_feedback(reader: Reader) -> None:
    reader.words["41"] = str(_notes(reader, "harbour-contract", "old-contract", "x")[2])
    asked = reader.pgrecall("context", "the harbour contract", "--json", **reader.settings)
    reader.words["12"] = str(asked.json["search_id"])


def _for_forget(reader: Reader) -> None:
    _notes(reader, "old-contract")
    (reader.folder / "ann.jsonl").write_text(json.dumps({"key": "ann", "body": "Mine.", "author": "Ann"}))
    assert reader.pgrecall("import", "ann.jsonl", **reader.settings).code == 0


def _for_mcp(reader: Reader) -> None:
    (reader.folder / "turns.jsonl").write_text(json.dumps({"key": "u1", "body": "Where is it?"}))
    options = ("import", "turns.jsonl", "--source", "claude-code")
    assert reader.pgrecall(*options, **reader.settings).code == 0


def _for_import(reader: Reader) -> None:
    message = gpt_message("m", "user", "Which oil does the harbour clock take?")
    export = {"conversations.json": [gpt_conversation("c", [message])]}
    write_zip(reader.folder / "chatgpt-export.zip", export)
    sessions = reader.folder / "projects" / "-yard"
    sessions.mkdir(parents=True)
    write_lines(sessions / "s.jsonl", claude_code_session())
    reader.words["~/.claude/projects"] = str(sessions.parent)


def _for_empty(reader: Reader, url: str) -> None:
    """Your own Postgres, in which nothing is yet, and no model that would have to be downloaded."""
    reader.words[url] = shlex.quote(reader.empty_database())
    reader.settings["embedder"] = "none"
    (reader.folder / "notes").mkdir()
    (reader.folder / "notes" / "a.md").write_text("Mira signs on Friday.")


def _for_quickstart(reader: Reader) -> None:
    notes = reader.folder / "notes"
    notes.mkdir()
    (notes / "Winch.md").write_text("Tom mends the winch of quay 7. See [[Ferry]].")
    reader.words["~/notes"] = str(notes)


def _for_readme(reader: Reader) -> None:
    _notes(reader, "knowledge/failing-over-the-primary", "knowledge/switchover-playbook")
    _for_pruning(reader)
    _twins(reader)


def _twins(reader: Reader) -> list[int]:
    """Five pairs of memories that say the same, and their ids."""
    with psycopg.connect(reader.settings["database_url"]) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'default', true)")
        twins = connection.execute(
            "SELECT recall.remember(x.body || x.mark, p_key => x.body || x.mark) FROM ("
            "SELECT format('The key of shed %s hangs behind the clock', n) AS body, m.mark "
            "FROM generate_series(1, 5) n, unnest(ARRAY['.', '!']) m(mark)) x"
        )
        return [row[0] for row in twins.fetchall()]


def _for_plans(reader: Reader) -> None:
    """Memories that a prune plan takes, and those that a dedupe plan merges."""
    first, *_, last = _twins(reader)
    _for_pruning(reader)
    chosen = _notes(reader, "contract", "old-contract", "an older contract")[2]
    reader.words |= {"12": str(first), "40": str(last), "41": str(chosen)}


PREPARED: dict[str, Callable[[Reader], object]] = {
    "README.md": _for_readme,
    "context.md": lambda reader: _notes(reader, "Tomas keeps the gauges at Skarvik running"),
    "forget.md": _for_forget,
    "import.md": _for_import,
    "install.md": lambda reader: _for_empty(reader, "postgresql://you@host:5432/app"),
    "mcp.md": _for_mcp,
    "measure.md": _for_feedback,
    "postgres.md": lambda reader: _for_empty(reader, "postgresql://you@host:5432/app"),
    "plans.md": _for_plans,
    "quickstart.md": _for_quickstart,
}


@pytest.fixture
def reader(
    request: pytest.FixtureRequest,
    bare_pgrecall: Command,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Reader]:
    empty = partial(request.getfixturevalue, "empty_database")
    reader = Reader(bare_pgrecall, database_url, empty, tmp_path, monkeypatch)
    with reader.open:
        yield reader


def _is_run(block: Block) -> bool:
    shown = block.language == "console" and not block.elsewhere and not all(map(not_run, block.commands))
    return shown or block.language in ("python", "sql")


READ = ("console", "json", "mermaid", "python", "sql", "text")
"""What reading a page runs or looks at; the rest is for other tests."""

RUN = [page for page in PAGES if any(map(_is_run, blocks_of(page)))]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_what_a_page_shows_runs(page: Path, reader: Reader) -> None:
    PREPARED.get(page.name, lambda _: None)(reader)
    for block in blocks_of(page):
        reader.read(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_known_kinds(page: Path) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"{block}: say which language it is"
        if block.language == "json":
            assert [json.loads(line) for line in _values(block.text)]
        if block.language not in READ:
            assert block.elsewhere, f"{block}: nothing runs it"


def _values(text: str) -> list[str]:
    """One JSON value, or one a line."""
    lines = text.strip().splitlines()
    return (
        lines
        if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines)
        else [text]
    )


def test_what_is_not_run_is_still_shown() -> None:
    """An exception that no page needs any more is taken out."""
    shown = [block for page in PAGES for block in blocks_of(page)]
    typed = [command for block in shown if block.language in ("console", "sh") for command in block.commands]
    assert PROGRAMS.keys() <= {command.split()[0] for command in typed}
    assert all(any(command.startswith(words) for command in typed) for words in COMMANDS)
    assert len({str(block) for block in shown if block.elsewhere}) == len(ELSEWHERE)
    assert not [name for name in PREPARED if name not in {page.name for page in RUN}]


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target, anchor in re.findall(
            r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")
        ):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            if anchor:
                assert anchor in _anchors(there), f"{page.name} links to {target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """The addresses of the headings of a page, as forges make them, and those it names itself."""
    text = page.read_text(encoding="utf-8")
    seen = dict.fromkeys(re.findall(r'<a id="([^"]+)">', text), 0)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        if seen[name]:
            seen[f"{name}-{seen[name]}"] = 0
    return set(seen)
