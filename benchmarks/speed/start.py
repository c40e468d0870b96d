"""The cost of starting: importing the package, and the first answer of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness import Goal, Row, interleaved
from pgrecall.embedded.cluster import find_wheel

MAX_SECONDS = 0.4
"""Seconds that the command may take more than psql."""
_CALL = "SELECT id, score FROM recall.search('the value of a word')"


def imports(rounds: int) -> Row:
    """A new interpreter that imports pgrecall, and one that imports its driver."""
    ours, driver = interleaved(
        [partial(_run, [sys.executable, "-c", f"import {name}"]) for name in ("pgrecall", "psycopg")], rounds
    )
    return Row("import pgrecall", "import psycopg", ours * 1e3, driver * 1e3, "ms", Goal(1.5))


def commands(url: str, tenant: str, rounds: int) -> Iterator[Row]:
    """A search by the command, without models, and psql with the same call."""
    psql = _program("psql")
    if psql is None:
        return
    asked = f"SET recall.tenant = '{tenant}'; {_CALL}"
    environment = os.environ | {
        "PGRECALL_DATABASE_URL": url,
        "PGRECALL_TENANT": tenant,
        "PGRECALL_EMBEDDER": "none",
        "PGRECALL_RERANKER": "none",
    }
    ours, least = interleaved(
        [
            partial(
                _run,
                [str(Path(sys.executable).with_name("pgrecall")), "search", "the value of a word"],
                environment,
            ),
            partial(_run, [psql, "--no-psqlrc", "-qc", asked, url]),
        ],
        rounds,
    )
    yield Row("the command beyond psql -c", f"{MAX_SECONDS:g} s", ours - least, MAX_SECONDS, "s", Goal(1))


def _program(name: str) -> str | None:
    found = Path(find_wheel()) / "pginstall" / "bin" / name
    return str(found) if found.exists() else shutil.which(name)


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    surroundings = dict(os.environ if environment is None else environment)
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # packages are compiled once, not at each start
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr.strip()}")
