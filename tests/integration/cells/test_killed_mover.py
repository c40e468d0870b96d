"""The process that moves a tenant is killed at random, while others write and search."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.cells.moves.move import Mover
from pgrecall.errors import RecallError
from tests.acceptance.cli.command_tools import command_line, environment
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_move import clean, fill, held
from tests.scale import SCALE

pytestmark = pytest.mark.fault

KILLS = 3 * SCALE


class Users:
    """Threads that write to a tenant and search it until stopped; they note what was acknowledged."""

    def __init__(self, clients: list[Memory]) -> None:
        self.stored: list[int] = []
        self.found = 0
        self.failed: list[str] = []
        self._stop = threading.Event()
        work = [self._write, self._write, self._search]
        self._threads = [
            threading.Thread(target=one, args=(client, number))
            for number, (one, client) in enumerate(zip(work, clients, strict=True))
        ]

    def __enter__(self) -> Users:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, client: Memory, writer: int) -> None:
        for number in range(10**9):
            if self._stop.is_set():
                return
            try:
                self.stored.append(client.remember(f"Note {writer}-{number}.", compare=False).id)
            except RecallError as error:  # its mover was killed while writers had to wait
                self.failed.append(error.message)

    def _search(self, client: Memory, _: int) -> None:
        while not self._stop.is_set():
            self.found += bool(client.search("winch").hits)


def test_a_killed_mover_loses_nothing(movable: Installation) -> None:
    dice = random.Random(20260601)
    movable.fleet.place("acme", 0)
    fill(movable.memory())
    arguments, settings = ("tenant", "move", "acme", "--to", "1"), environment(cells=movable.directory)
    with Users([movable.memory() for _ in range(3)]) as users:
        for _ in range(KILLS):
            mover = subprocess.Popen(
                command_line(*arguments), env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            time.sleep(dice.uniform(0.5, 6))
            mover.send_signal(signal.SIGKILL)
            mover.communicate()
        Mover(movable.fleet).move("acme", 1)
        time.sleep(0.2)  # some use in the new cell
    rows = movable.ask(1, "SELECT id FROM recall.memory WHERE tenant = 'acme' AND body LIKE 'Note %'")
    there = [int(str(row["id"])) for row in rows]
    assert set(users.stored) <= set(there)
    assert len(users.stored) == len(set(users.stored)) > 0
    assert len(there) - len(users.stored) <= len(users.failed)
    assert users.found > 0
    movable.memory().maintenance.fold()
    assert movable.memory().maintenance.rebuild() == 0
    Mover(movable.fleet).finish("acme")
    assert held(movable, 0) == {}
    clean(movable)
    assert {finding.level for finding in movable.fleet.check()} == {"ok"}
