"""Databases as earlier revisions left them: their tables, filled, without functions."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import server_facts
from pgrecall.schema import migrate
from pgrecall.schema.revisions import run_revisions

FILLS = Path(__file__).with_name("fills")
REVISIONS = tuple(sorted(fill.stem for fill in FILLS.glob("0*.sql")))
ROOT = Path(__file__).parents[2]


def take_to(url: str, revision: str, dimensions: int = 64) -> None:
    """Makes the tables those of a revision, from nothing or from an earlier one."""
    with connect(url) as connection:
        facts = server_facts(connection)
    with migrate._locked(url) as driver:
        migrate._prepare(driver, facts)
        run_revisions(driver, dimensions, migrate._state(driver).revision, revision)


def fill(url: str, revision: str) -> None:
    """Puts something of everything in that the tables of a revision can hold."""
    parts = ["0001"] if revision == "0001" else [part for part in REVISIONS[1:] if part <= revision]
    if revision < "0006":
        parts.insert(0, "vectors_in_memory")
    add(url, "memories", *parts)


def add(url: str, *parts: str) -> None:
    """Runs these files of ``fills``; the one of a revision adds what came with it."""
    with psycopg.connect(url) as connection:
        for part in parts:
            connection.execute((FILLS / f"{part}.sql").read_bytes())


def landed() -> dict[str, str]:
    """The last commit with each revision that the main line has had; none where there is no history."""
    asked = "git log --reverse --first-parent -m --no-renames --diff-filter=A --name-only --format=commit:%H"
    log = subprocess.run(
        [*asked.split(), "--", "pgrecall"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    newest, commits = "", {}
    for part in log.split("commit:")[1:]:
        if (found := max(re.findall(r"versions/(\d{4})_", part), default="")) > newest:
            commits[newest] = f"{part[:40]}~1"
            newest = found
    return {revision: commit for revision, commit in commits.items() if revision in REVISIONS}


def install(url: str, commit: str, folder: Path) -> None:
    """Installs the schema of a commit by the package of then."""
    packed = subprocess.run(["git", "archive", commit, "pgrecall"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as package:
        package.extractall(folder, filter="data")
    code = "import sys; from pgrecall.schema import migrate; migrate.upgrade(sys.argv[1], dimensions=64)"
    before = os.environ | {"PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "-c", code, url], cwd=folder, env=before, check=True)
