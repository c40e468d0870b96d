"""The wheel, installed where nothing of the checkout is: all its files are in it, and it works."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from pgrecall.schema.migrate import head_revision
from tests.acceptance.cli.command_tools import environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path, **settings: str) -> str:
    variables = environment(**settings)
    variables.pop("PYTHONPATH", None)  # it would lead back to the checkout
    done = subprocess.run(
        command,
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder of the checkout can slip in."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
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
    assert any(name.startswith("pgrecall/schema/migrations/versions/0001_") for name in names)


def test_it_works_in_an_environment_of_its_own(wheel: Path, open_folder: Path) -> None:
    home, empty = open_folder / "venv", open_folder / "empty"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    site = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=open_folder).strip()
    )
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel,
        cwd=open_folder,
    )  # fmt: skip
    # Dependencies come from the running environment, as plain paths: no .pth of it is read, so an
    # editable install of the checkout stays out of sight.
    (site / "dependencies.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    )
    empty.mkdir()
    where = run(python, "-c", "import pgrecall; print(pgrecall.__file__)", cwd=empty).strip()
    assert Path(where).is_relative_to(site)

    pgrecall = home / "bin" / "pgrecall"
    data = {"data_dir": str(open_folder / "data")}
    said = run(pgrecall, "init", cwd=empty, **data)
    assert said.startswith(f"Initialised: schema {head_revision()}, embeddings of 64 dimensions.\n")
    assert data["data_dir"] in said
    assert run(pgrecall, "import", ROOT / "examples" / "vault" / "knowledge", cwd=empty, **data)
    found = run(pgrecall, "search", "how do I rotate the ingest keys", "-k", "3", cwd=empty, **data)
    assert "Rotate the Ingest Keys" in found
    assert list(empty.iterdir()) == []
