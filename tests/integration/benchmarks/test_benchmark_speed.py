"""What worlds of the speed benchmark are filled with, and stores that are held against it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import psycopg
import pytest

from benchmarks.peers.contest import Contender
from benchmarks.peers.process import Store
from benchmarks.peers.table import table
from benchmarks.speed import __main__ as speed
from benchmarks.speed.bulk_copy import copy_vectors, indexed_after, vector_rows
from tests.server_folders import server_folder

_INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recall' ORDER BY 1"


def test_every_measurement_reads_the_functions_of_today(capsys: pytest.CaptureFixture[str]) -> None:
    """Some read the definitions of SQL functions, so a change of these can break them."""
    with server_folder() as folder:
        speed.main(["--memories", "2000", "--calls", "2", "--rounds", "1", "--cache", str(folder), "--json"])
    shown = {row["measure"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {"vitality at the time of reading", "the same fold", "POST /v1/search"} <= shown


def test_vectors_are_stored_as_postgres_would_read_them(database_url: str) -> None:
    vectors = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
    with psycopg.connect(database_url) as connection:
        before = connection.execute(_INDEXES).fetchall()
        with indexed_after(connection, "recall.vector_shared", "recall.access"):
            assert len(connection.execute(_INDEXES).fetchall()) < len(before)
            copy_vectors(connection, vector_rows("näme", np.array([7, 3, 1 << 40]), vectors))
        assert connection.execute(_INDEXES).fetchall() == before
        found = connection.execute(
            "SELECT tenant, memory_id, embedding::vector::real[] FROM recall.vector_shared ORDER BY memory_id"
        ).fetchall()
    assert [row[:2] for row in found] == [("näme", 3), ("näme", 7), ("näme", 1 << 40)]
    assert np.allclose([row[2] for row in found], vectors[[1, 0, 2]], rtol=2**-10)


def test_a_store_that_cannot_be_opened_says_why(database_url: str, tmp_path: Path) -> None:
    one = Contender("nobody")
    with one.opened(database_url, Store("nobody", Path(sys.executable)), tmp_path):
        assert not one.there
    assert "nobody" in one.failed
    shown = table([one.document()], {"memories": 1, "clients": 1})
    assert list(shown.columns[1].cells) == ["not there"]
