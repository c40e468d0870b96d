"""The hooks of an editor find the cell of their tenant, also after a move, and store nothing for another."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells.moves.move import Mover
from pgrecall.faces.editors.hooks import HOOKS
from tests.acceptance.cli.editor_tools import Editor, editor, stop
from tests.integration.cells.conftest import Installation
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows")


def bodies(installation: Installation, cell: int) -> set[tuple[object, object]]:
    return {
        (row["tenant"], row["body"])
        for row in installation.ask(cell, "SELECT tenant, body FROM recall.memory")
    }


def ended(made: Editor, said: str) -> None:
    """Has a session end in which this was said."""
    turn = {"type": "user", "uuid": said, "sessionId": said, "message": {"role": "user", "content": said}}
    transcript = made.home / f"{len(list(made.home.iterdir()))}.jsonl"
    transcript.write_text(json.dumps(turn) + "\n")
    assert made.hook(HOOKS["claude"].end, transcript_path=str(transcript)).code == 0


@pytest.fixture
def made(movable: Installation, tmp_path: Path) -> Iterator[Editor]:
    for tenant in ("acme", "beta"):
        movable.fleet.place(tenant, 0)
    made = editor("claude", tmp_path, None, "--capture", cells=movable.directory)
    yield made
    stop(made)


def test_a_session_lands_in_the_cell_of_its_tenant_also_after_a_move(
    movable: Installation, made: Editor
) -> None:
    first, second = "We moor the ferry at the north quay.", "The crane of the shipyard is repaired."
    ended(made, first)
    until(lambda: bodies(movable, 0) == {("acme", first)}, "the import of the session")
    assert first in made.gets("Where do we moor the ferry?")
    Mover(movable.fleet).move("acme", 1)
    Mover(movable.fleet).finish("acme")
    ended(made, second)
    until(lambda: bodies(movable, 1) == {("acme", first), ("acme", second)}, "the import after the move")
    assert bodies(movable, 0) == set()
    assert second in made.gets("Is the crane of the shipyard repaired?", session_id="s2")
    assert first in made.gets("Where do we moor the ferry?", session_id="s3")


@pytest.mark.parametrize("dropped", [False, True])
def test_a_login_of_another_tenant_or_one_that_is_gone_stores_nothing(
    two_cells: Installation, bound_role: str, tmp_path: Path, dropped: bool
) -> None:
    for tenant in ("acme", "beta"):
        two_cells.fleet.place(tenant, 0)
    directory = make_conninfo(two_cells.directory, user=bound_role)
    made = editor("claude", tmp_path, None, "--capture", cells=directory)
    try:
        if dropped:
            with psycopg.connect(two_cells.directory, autocommit=True) as admin:
                admin.execute(f"ALTER ROLE {bound_role} NOLOGIN".encode())
        ended(made, "We moor the ferry at the north quay.")
        log = until(lambda: [file for file in made.home.rglob("*.log") if file.stat().st_size], "the log")
        assert made.ask("Where do we moor the ferry?").out == ""
    finally:
        stop(made)
    assert "Error: " in log[0].read_text()
    assert bodies(two_cells, 0) | bodies(two_cells, 1) == set()
