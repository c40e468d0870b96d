"""One worker for all cells: each has its jobs done, whatever becomes of the others."""

from __future__ import annotations

from threading import Event, Thread

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.cell_workers import CellWorkers, WorkerOptions
from pgrecall.settings import Settings
from tests.integration.cells.conftest import Installation
from tests.waiting import until

FOLDED = "SELECT count(*) AS runs FROM recall.job_run WHERE job = 'fold' AND state = 'done'"


def workers(installation: Installation, stop: Event, only: int | None = None) -> CellWorkers:
    settings = Settings(embedder="none", connect_timeout=2.0)

    def check(memory: Memory) -> None:
        memory.service.caller()

    return CellWorkers(installation.fleet, WorkerOptions(settings, None, stop, check), only)


def folds(installation: Installation, cell: int) -> int:
    [row] = installation.ask(cell, FOLDED)
    return int(str(row["runs"]))


@pytest.fixture
def used(two_cells: Installation) -> Installation:
    """A tenant with an access to fold in each cell."""
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        two_cells.memory(tenant).remember("The winch needs grease.")
    return two_cells


def test_all_cells_are_served(used: Installation) -> None:
    assert workers(used, Event()).run_once()
    assert [folds(used, 0) > 0, folds(used, 1) > 0] == [True, True]


def test_one_cell_is_served(used: Installation) -> None:
    assert workers(used, Event(), only=1).run_once()
    assert [folds(used, 0) > 0, folds(used, 1) > 0] == [False, True]


def test_a_cell_that_is_down_keeps_no_other_from_its_jobs(used: Installation) -> None:
    stop = Event()
    working = workers(used, stop)
    name = conninfo_to_dict(used.cells[0])["dbname"]
    with psycopg.connect(used.directory, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        serving = Thread(target=working.serve)
        serving.start()
        try:
            until(lambda: folds(used, 1), "a fold in the cell that answers")
            until(
                lambda: [said for said in working.problems() if said.startswith("Cell 0: ")],
                "a word on cell 0",
            )
        finally:
            stop.set()
            serving.join()
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    assert folds(used, 0) == 0


def test_unknown_cell(two_cells: Installation) -> None:
    with pytest.raises(InvalidInput, match="There is no cell 7"):
        workers(two_cells, Event(), only=7).run_once()
