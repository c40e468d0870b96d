"""kill -9 of `pgrecall import` in the middle: importing again completes it, and nothing is there twice."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import command_line, environment
from tests.databases import Query
from tests.faults.conftest import Inject
from tests.faults.judging import sound
from tests.scale import SCALE
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault

NOTES = 260
KILLS = 1 if SCALE == 1 else 5 * SCALE
OTHERS = (
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


def vault(folder: Path) -> Path:
    """Notes that link to the one before and the one after."""
    folder.mkdir()
    for place in range(NOTES):
        (folder / f"note-{place:04}.md").write_text(
            f"# Note {place}\n\nThe tide, with [[note-{place - 1:04}]] and [[note-{place + 1:04}]].\n"
        )
    return folder


def lines(path: Path) -> Path:
    with path.open("w") as file:
        for place in range(NOTES):
            record = {"key": f"n{place}", "body": f"The tide {place}", "links": [{"target": f"n{place + 1}"}]}
            file.write(json.dumps(record) + "\n")
    return path


SOURCES = {"markdown": (vault, "vault"), "jsonl": (lines, "facts.jsonl")}


@pytest.mark.parametrize("kind", SOURCES)
def test_an_import_killed_in_the_middle(
    kind: str, tmp_path: Path, database_url: str, query: Query, inject: Inject, dice: random.Random
) -> None:
    make, name = SOURCES[kind]
    source = make(tmp_path / name)
    variables = environment(database_url=database_url, tenant="acme")

    def stored() -> int:
        return int(query("SELECT count(*) AS n FROM recall.memory")[0]["n"])

    def importing() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command_line("import", str(source)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
        )

    for _ in range(KILLS):
        before = stored()
        with importing() as running:
            until(
                lambda before=before, running=running: stored() > before or running.poll() is not None,
                "a batch",
            )
            time.sleep(dice.uniform(0, 0.05))
            running.kill()
            running.communicate()
        inject("kill -9 of an import", running.returncode == -9)
        sound(database_url, "acme")
        if stored() >= NOTES:
            break
    # What the last one had asked for may still be done.
    until(lambda: query(OTHERS) == [], "the end of what was killed")
    kept = stored()
    with importing() as again:
        out, err = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, err
    assert out.decode().startswith(f"{NOTES - kept:,} created, 0 updated, {kept:,} unchanged")
    assert stored() == NOTES
    [row] = query(
        "SELECT (SELECT count(DISTINCT key) FROM recall.memory) AS keys, "
        "(SELECT count(*) FROM recall.access) AS births, "
        "(SELECT sum(n)::int FROM recall.activation) AS counted, "
        "(SELECT count(*) FROM recall.link) AS links"
    )
    assert row == {"keys": NOTES, "births": NOTES, "counted": NOTES, "links": row["links"]}
    assert row["links"] == (2 * (NOTES - 1) if kind == "markdown" else NOTES - 1)
    sound(database_url, "acme")
