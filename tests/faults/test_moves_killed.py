"""kill -9 of the mover, of a server or of the users in every step of a move, while all work."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import command_line
from tests.conftest import DIMENSIONS
from tests.faults.cell_fleet import KillableCells, environment_of, killable_cells
from tests.faults.conftest import Inject
from tests.given_server import own_server_only
from tests.integration.cells.test_move import fill
from tests.scale import SCALE, tell
from tests.waiting import until

pytestmark = [pytest.mark.fault, pytest.mark.timeout(300 + 120 * SCALE)]

KILLS = 2 * SCALE
SAID = {"copying": "tables copied", "indexes": "Building indexes", "comparing": "Comparing"}
POINTS = ("begun", *SAID, "moving", "gone", "flipped", "deleting")
VICTIMS = ("mover", "source", "target", "users")
FIRST = (("source", "moving"), ("target", "copying"))
"""What the short form does; the long one draws lots."""


@pytest.fixture
def cells() -> Iterator[KillableCells]:
    own_server_only("kills its servers")
    folder = Path(tempfile.mkdtemp(prefix="pgr-mk-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with killable_cells(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_moves_under_kills(cells: KillableCells, dice: random.Random, inject: Inject) -> None:
    settings = Settings(tenant="acme", embedder="hash", connect_timeout=20)
    with Memory(cells=cells.directory, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        fill(memory)
    cells.start_users()
    home = 0
    for number in range(KILLS):
        victim, point = FIRST[number] if SCALE == 1 else (dice.choice(VICTIMS), dice.choice(POINTS))
        undoes = SCALE > 1 and dice.random() < 0.25
        before = len(cells.noted("stored"))
        until(lambda before=before: len(cells.noted("stored")) > before + 8, "acknowledged writes")
        reached = Round(cells, home).kill(victim, point, dice)
        home = settle(cells, home, undoes=undoes)
        inject(f"kill -9 of {victim} in a move")
        tell(f"{number + 1}: {victim} killed, {point}{'' if reached else ' missed'}; acme is in cell {home}")
    before = len(cells.noted("stored")), len(cells.noted("found"))
    until(lambda: len(cells.noted("stored")) > before[0] + 8, "writes after the last kill")
    until(lambda: len(cells.noted("found")) > before[1] + 4, "searches after the last kill")
    cells.kill_users()
    cells.judge(home)
    counts = {kind: len(cells.noted(kind)) for kind in ("stored", "used", "found", "refused")}
    tell(f"What users noted: {counts}")


class Round:
    """One move of acme, in the middle of which something is killed."""

    def __init__(self, cells: KillableCells, home: int) -> None:
        self._cells = cells
        self._home = home
        self._log = cells.folder / "mover.log"

    def kill(self, victim: str, point: str, dice: random.Random) -> bool:
        """Starts the move and kills at this point; whether that was reached. What was killed runs again."""
        if point == "deleting":
            assert run(self._cells, "--to", str(1 - self._home)) == 0
            mover = self._start("--finish")
            time.sleep(dice.uniform(0.5, 2))
            reached = mover.poll() is None
        else:
            mover = self._start("--to", str(1 - self._home))
            reached = self._await(mover, point)
        self._strike(victim, mover)
        mover.wait()
        return reached

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command_line("tenant", "move", "acme", *arguments),
                env=environment_of(self._cells),
                stdout=log,
                stderr=log,
            )

    def _await(self, mover: subprocess.Popen[bytes], point: str) -> bool:
        """Waits for a point of the move, or for its end."""
        if point in SAID:
            return self._poll(mover, lambda: SAID[point] in self._log.read_text())
        states = {
            "begun": (self._cells.directory, "SELECT FROM recall_cells.move"),
            "flipped": (self._cells.directory, "SELECT FROM recall_cells.move WHERE step = 'flipped'"),
            "moving": (self._url, "SELECT FROM recall.resident WHERE tenant = 'acme' AND state = 'moving'"),
            "gone": (self._url, "SELECT FROM recall.resident WHERE tenant = 'acme' AND state = 'gone'"),
        }
        url, query = states[point]
        with closing(psycopg.connect(url, autocommit=True)) as watching:
            return self._poll(mover, lambda: watching.execute(query.encode()).fetchone() is not None)

    def _poll(self, mover: subprocess.Popen[bytes], condition: Callable[[], bool]) -> bool:
        while mover.poll() is None:
            if condition():
                return True
            time.sleep(0.001)
        return False

    @property
    def _url(self) -> str:
        return self._cells.victims[self._home].url

    def _strike(self, victim: str, mover: subprocess.Popen[bytes]) -> None:
        if victim == "mover":
            mover.kill()
        elif victim == "users":
            self._cells.kill_users()
            self._cells.start_users()
        else:
            server = self._cells.victims[self._home if victim == "source" else 1 - self._home]
            server.kill()
            server.start()


def settle(cells: KillableCells, home: int, *, undoes: bool) -> int:
    """Does what the documentation says after a crash: the command again, or undo. Returns acme's cell."""
    if undoes and cells.fleet.directory.moves():
        until(lambda: run(cells, "--undo") == 0 or not cells.fleet.directory.moves(), "the undo")
        return home
    place = cells.fleet.directory.find("acme")
    assert place is not None
    if cells.fleet.directory.moves() or place.cell == home:
        until(lambda: run(cells, "--to", str(1 - home)) == 0, "the move")
    until(lambda: not cells.fleet.directory.moves() or run(cells, "--finish") == 0, "the end of the move")
    return 1 - home


def run(cells: KillableCells, *arguments: str) -> int:
    with (cells.folder / "again.log").open("ab") as log:
        return subprocess.run(
            command_line("tenant", "move", "acme", *arguments),
            env=environment_of(cells),
            stdout=log,
            stderr=log,
            check=False,
        ).returncode
