"""The TypeScript client: made from the service's own document, and tested by node against the service."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from filelock import FileLock

import pgrecall
from scripts import openapi
from tests.acceptance.cli.command_tools import DIMENSIONS
from tests.acceptance.deploy.compose_tools import ROOT
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.typescript.node_tools import CLIENT, install, node, npm
from tests.conftest import Server
from tests.databases import new_database

RENEW = "run python -m scripts.openapi"
PAGE = (ROOT / "docs" / "howto" / "clients.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("\n## TypeScript")[2].partition("\n## ")[0]
README = (CLIENT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed() -> None:
    install()


@pytest.fixture(scope="module")
def compiled(installed: None, run_folder: Path) -> Path:
    """The client, its tests and its example as JavaScript; the tests of types are that it compiles.

    What the how-to shows is compiled with them. Once in a run: another process may be using it.
    """
    build = CLIENT / "build"
    mark = run_folder / "typescript.compiled"
    with FileLock(str(run_folder / "typescript.lock")):
        if not mark.exists():
            _compile(build, CLIENT / "page")
            mark.touch()
    return build


def _compile(build: Path, shown: Path) -> None:
    for folder in (build, shown):
        shutil.rmtree(folder, ignore_errors=True)
    shown.mkdir()
    for number, code in enumerate(blocks("ts", PAGE)):
        (shown / f"{number}.ts").write_text(code.replace("./agent.js", "../examples/agent.js"))
    node("node_modules/typescript/bin/tsc")


@pytest.fixture(scope="module")
def keyed(server: Server, template: str) -> Iterator[tuple[Served, dict[str, str], str]]:
    """A service that wants keys, what the client reads of the environment, and the URL of the database."""
    for url in new_database(server, template):
        with member(url) as memory:
            writing = memory.keys.create("node").secret
            reading = memory.keys.create("page", read_only=True).secret
        with serving(url) as served:
            variables = {"PGRECALL_SERVICE_URL": served.url, "PGRECALL_KEY": writing}
            yield served, variables | {"PGRECALL_TEST_READING_KEY": reading}, url


@contextmanager
def another_embedder(url: str) -> Iterator[None]:
    """Meanwhile the database has vectors of another embedder."""
    name = """UPDATE recall.setting SET value = to_jsonb(%s::text)
              WHERE tenant = '*' AND name = 'embedding.model'"""
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute(name, ("other-model",)).rowcount == 1
        yield
        connection.execute(name, (f"hash-{DIMENSIONS}",))


def test_what_is_generated_is_up_to_date() -> None:
    """The document and the version, which need no node."""
    texts = openapi.texts().items()
    assert not [name for name, text in texts if (CLIENT / name).read_text(encoding="utf-8") != text], RENEW


def test_the_types_are_those_of_the_document(installed: None) -> None:
    assert openapi.generate(check=True), RENEW


def test_the_version_is_that_of_the_python_package() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))
    found = {package["version"], lock["version"], lock["packages"][""]["version"]}
    assert found == {pgrecall.__version__}
    assert "dependencies" not in package  # nothing but what the platform has
    assert "resolved" not in (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert (CLIENT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_against_the_service(compiled: Path, keyed: tuple[Served, dict[str, str], str]) -> None:
    _, variables, url = keyed
    files = {file.name: str(file) for file in (compiled / "tests").glob("*.test.js")}
    alone = files.pop("mismatch.test.js")
    assert len(files) >= 3
    assert passed(*files.values(), **variables) >= 30
    with another_embedder(url):
        assert passed(alone, **variables) == 1


def passed(*files: str, **variables: str) -> int:
    """How many tests node ran, all of which passed."""
    said = node("--test", "--test-reporter=tap", *files, **variables).stdout
    told = re.findall(r"^# (pass|fail|skipped|todo) (\d+)$", said, re.M)
    counts = {name: int(times) for name, times in told}
    number = counts.pop("pass")
    assert set(counts.values()) == {0}
    return number


def test_the_package_holds_what_is_needed_and_its_readme_is_true(
    installed: None, keyed: tuple[Served, dict[str, str], str], tmp_path: Path
) -> None:
    packed = npm("pack", "--pack-destination", str(tmp_path))
    assert packed.returncode == 0, packed.stderr
    [archive] = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as package:
        names = {name.removeprefix("package/") for name in package.getnames()}
    modules = {file.stem for file in (CLIENT / "src").glob("*.ts")}
    built = {f"dist/{module}.{kind}" for module in modules for kind in ("js", "d.ts")}
    assert names == built | {"package.json", "README.md", "LICENSE"}
    assert archive.stat().st_size < 100_000

    program = tmp_path / "program"
    program.mkdir()
    (program / "package.json").write_text('{"private": true, "type": "module"}')
    added = npm("install", "--offline", str(archive), folder=program)
    assert added.returncode == 0, added.stderr
    [code], [said] = blocks("ts"), blocks("text")
    (program / "harbour.js").write_text(code)
    done = node("harbour.js", folder=program, **keyed[1])
    assert done.stdout == said


def blocks(kind: str, page: str = README) -> list[str]:
    """The blocks of a kind that a page has, by default the README of the package."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.S | re.M)


def test_the_how_to_shows_the_same_names(compiled: Path) -> None:
    """Every method that the page names is one of the client."""
    named = set(re.findall(r"\bmemory\.((?:\w+\.)?\w+)\(", PAGE + README))
    assert len(named) > 20
    script = """
        import { Memory } from "./build/src/index.js";
        const memory = new Memory();
        const has = (path) => typeof path.split(".").reduce((at, name) => at?.[name], memory) === "function";
        console.log(JSON.stringify(JSON.parse(process.argv[1]).filter((path) => !has(path))));
    """
    done = node("--input-type=module", "--eval", script, json.dumps(sorted(named)))
    wrong: list[Any] = json.loads(done.stdout)
    assert wrong == []
