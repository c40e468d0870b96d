"""The instructions of a search, as valgrind's callgrind counts them in a backend without a server.

Processor time differs by a tenth from run to run; instructions differ by one percent, whatever else runs.
They do not show waits for memory, so a change of indexes needs both. Each question is asked twice, and the
second time counts: the first reads pages from disk and checks them, a tenth of the work at 50,000 memories.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import psycopg
from psycopg import ClientCursor

from benchmarks.profile.conversations import NOW, Question
from pgrecall.embedded.cluster import prepare_cluster
from pgrecall.embedded.paths import resolve_paths, run_as
from pgrecall.errors import InvalidInput
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import search_and_log

WARM, COUNTED = 6, 8
"""Questions before a plan is kept, asked once, and questions that are counted."""


def statements(url: str, tenants: Sequence[str], asked: Sequence[Question]) -> list[str]:
    """The logged searches of each tenant, one statement a line."""
    lines = []
    with psycopg.connect(url) as connection, ClientCursor(connection) as cursor:
        for tenant in tenants:
            twice = (question for question in asked[WARM : WARM + COUNTED] for _ in range(2))
            for question in (*asked[:WARM], *twice):
                made = search_and_log(SearchRequest(question.text, now=NOW), [question.embedded])
                vector = str(question.embedded.vector)
                lines.append(
                    cursor.mogrify(made.sql, {**made.parameters, "embedding": vector, "tenant": tenant})
                )
    return [" ".join(line.split()) for line in lines]


def millions(
    data_dir: Path, database: str, lines: Sequence[str], tenants: Sequence[str]
) -> Mapping[str, float]:
    """The mean instructions of a search in each tenant, in millions; the server of this folder is stopped.

    Raises:
        InvalidInput: valgrind is not installed.
    """
    if shutil.which("valgrind") is None:
        raise InvalidInput("valgrind is not installed.", hint="Install it, or leave out --instructions.")
    paths = resolve_paths(data_dir)
    backend = prepare_cluster(paths, fast=False) / "postgres"
    with tempfile.TemporaryDirectory() as folder:
        script, counts = Path(folder, "script.sql"), Path(folder, "counts")
        script.write_text("\n".join(lines) + "\n")
        for path in (Path(folder), script):
            shutil.chown(path, paths.account.uid, paths.account.gid)
        run_as(paths.account, [
            "/bin/sh", "-c", '"$@" < ' + str(script), "sh", "valgrind", "--tool=callgrind", "--vgdb=no",
            f"--callgrind-out-file={counts}", "--dump-before=exec_simple_query",
            "--toggle-collect=exec_simple_query", backend, "--single", "-D", paths.cluster,
            "-c", "shared_preload_libraries=", "-c", "io_method=sync", database,
        ])  # fmt: skip
        dumps = [Path(f"{counts}.{place}") for place in range(2, len(lines) + 1)] + [counts]
        spent = [_instructions(dump) for dump in dumps]
    asked = WARM + 2 * COUNTED
    return {
        tenant: mean(spent[place * asked + WARM + 1 : (place + 1) * asked : 2]) / 1e6
        for place, tenant in enumerate(tenants)
    }


def _instructions(dump: Path) -> int:
    found = re.search(r"^(?:summary|totals):\s+(\d+)", dump.read_text(), re.MULTILINE)
    if found is None:
        raise InvalidInput(f"callgrind wrote no total to {dump}.", hint="Run it again.")
    return int(found[1])
