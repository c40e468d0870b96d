"""Every cell and what is in motion, as a service sees it, and what a bound role may not see."""

from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.errors import DatabaseUnsuitable
from pgrecall.faces.telemetry.census import exposition_of
from pgrecall.schema.state import head_revision
from pgrecall.settings import Settings
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_bad_input import close


@pytest.fixture
def on_its_way(two_cells: Installation) -> Installation:
    """Acme with two memories in cell 0, beta with one in cell 1, on its way to cell 0."""
    for number, (tenant, texts) in enumerate((("acme", ("One.", "Two.")), ("beta", ("Three.",)))):
        two_cells.fleet.place(tenant, number)
        for text in texts:
            two_cells.memory(tenant).remember(text)
    two_cells.fleet.directory.run(
        "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('beta', 1, 0)"
    )
    return two_cells


def test_every_cell_is_told_of(on_its_way: Installation) -> None:
    client = on_its_way.memory()
    report = client.service.cells()
    assert report is not None
    assert [(cell.number, cell.tenants, cell.revision, cell.problem) for cell in report.cells] == [
        (0, 1, head_revision(), ""), (1, 1, head_revision(), ""),
    ]  # fmt: skip
    assert [(move.tenant, move.source, move.target, move.step) for move in report.moves] == [
        ("beta", 1, 0, "begun")
    ]
    census = client.service.census()
    assert sum(count.memories for count in census.zones) == 3
    text = exposition_of(census).decode()
    assert 'pgrecall_cell_up{cell="1"} 1.0' in text
    assert 'pgrecall_moves{step="copying"} 1.0' in text
    close(on_its_way.cells[1])
    report = client.service.cells()
    assert report is not None
    assert [bool(cell.problem) for cell in report.cells] == [False, True]
    assert report.cells[1].revision is None
    census = client.service.census()
    assert sum(count.memories for count in census.zones) == 2
    text = exposition_of(census).decode()
    assert 'pgrecall_cell_up{cell="1"} 0.0' in text
    assert 'pgrecall_cell_tenants{cell="1"} 1.0' in text


def test_without_cells_there_is_none(on_its_way: Installation) -> None:
    assert on_its_way.direct(0).service.cells() is None


def test_a_bound_role_does_not_see_the_others(on_its_way: Installation, bound_role: str) -> None:
    url = make_conninfo(on_its_way.directory, user=bound_role)
    with (
        Memory(cells=url, settings=Settings(tenant="beta", embedder="none")) as client,
        pytest.raises(DatabaseUnsuitable, match="may not ask the directory of cells for all cells"),
    ):
        client.service.cells()
