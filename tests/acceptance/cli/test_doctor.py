"""pgrecall doctor: it finds what is wrong, names what mends it, and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.acceptance.cli.command_tools import Command
from tests.databases import Query

NOTE = '{"key": "harbour", "title": "Harbour", "body": "Mira signs."}'


def levels(document: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in document["findings"]:
        found.setdefault(entry["area"], set()).add(entry["level"])
    return found


def fixes(document: Any, area: str) -> list[str]:
    return [entry["fix"] for entry in document["findings"] if entry["area"] == area and entry["fix"]]


@pytest.fixture
def filled(pgrecall: Command, tmp_path: Path) -> Command:
    (tmp_path / "notes.jsonl").write_text(NOTE)
    assert pgrecall("import", "notes.jsonl").code == 0
    return pgrecall


def test_it_works_where_nothing_can_be_written(filled: Command, database_url: str) -> None:
    """On connections that refuse to write it says the same, so it writes nothing."""
    assert filled("jobs", "run", "fold").code == 0
    read_only = make_conninfo(database_url, options="-c default_transaction_read_only=on")
    done = filled("doctor", "--json", database_url=read_only)
    assert done.code == 0, done.out + done.err
    assert done.json["healthy"] is True
    assert levels(done.json) == {
        "server": {"ok"}, "schema": {"ok"}, "roles": {"ok"}, "embedder": {"ok"}, "reranker": {"ok"},
        "llm": {"ok"}, "jobs": {"ok"}, "memories": {"ok"},
    }  # fmt: skip
    assert filled("doctor", "--strict").code == 0
    assert "Schema 0" in filled("doctor").out


def test_an_empty_database_needs_init_and_stays_empty(pgrecall: Command, empty_database: str) -> None:
    done = pgrecall("doctor", "--json", database_url=empty_database)
    assert (done.code, done.json["healthy"]) == (1, False)
    assert levels(done.json)["schema"] == {"fail"}
    assert fixes(done.json, "schema") == ["pgrecall init"]
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regnamespace('recall')").fetchone() == (None,)


def test_an_older_schema_needs_an_upgrade(pgrecall: Command, query: Query) -> None:
    query("UPDATE recall.setting SET value = '\"other\"' WHERE tenant = '*' AND name = 'schema.functions'")
    done = pgrecall("doctor", "--json", "--only", "schema")
    assert (done.code, fixes(done.json, "schema")) == (1, ["pgrecall upgrade"])
    assert {entry["area"] for entry in done.json["findings"]} == {"schema"}


def test_a_server_that_is_not_there(pgrecall: Command) -> None:
    done = pgrecall("doctor", database_url="postgresql://nobody@127.0.0.1:1/x?connect_timeout=2")
    assert done.code == 1
    assert "server    fail  Postgres cannot be reached" in done.out
    nowhere = "postgresql://nobody@127.0.0.1:1/x?connect_timeout=2"
    assert pgrecall("doctor", "--only", "jobs", database_url=nowhere).code == 1


def test_no_embedded_server_is_made(bare_pgrecall: Command, tmp_path: Path) -> None:
    done = bare_pgrecall("doctor", "--json", data_dir=str(tmp_path / "none"))
    assert (done.code, fixes(done.json, "server")) == (0, ["pgrecall init"])
    assert not (tmp_path / "none").exists()


def test_an_embedder_of_other_dimensions_fails(filled: Command) -> None:
    done = filled("doctor", "--json", "--only", "embedder", embedder_dimensions="32")
    assert done.code == 1
    [found] = done.json["findings"]
    assert found["message"] == "hash-32 gives 32 dimensions, this database has 64."


def test_an_embedder_of_another_name_fails(filled: Command, query: Query) -> None:
    query("UPDATE recall.setting SET value = '\"old\"' WHERE tenant = '*' AND name = 'embedding.model'")
    done = filled("doctor", "--json", "--only", "embedder")
    assert done.code == 1
    assert "pgrecall jobs run reembed" in fixes(done.json, "embedder")[0]


def test_a_reranker_that_cannot_be_loaded_fails(filled: Command, tmp_path: Path) -> None:
    done = filled("doctor", "--json", "--only", "reranker", reranker="onnx", reranker_model=str(tmp_path))
    assert (done.code, levels(done.json)) == (1, {"reranker": {"fail"}})


def test_a_failed_job_and_what_waits_for_one(filled: Command, query: Query) -> None:
    [run] = query("SELECT recall.begin_job('embed') AS id", tenant="default")
    failed = "SELECT recall.end_job(%s, 'failed', 0, '{}', 'no route to the embedder')"
    query(failed, (run["id"],), tenant="default")
    query("SELECT recall.remember('A note from plain SQL.')", tenant="default")
    done = filled("doctor", "--json")
    assert done.code == 1
    assert "pgrecall jobs run embed" in fixes(done.json, "jobs")
    assert "pgrecall jobs run embed" in fixes(done.json, "memories")
    assert "no route to the embedder" in filled("doctor").out
    assert filled("doctor", "--only", "memories").code == 0
    assert filled("doctor", "--only", "memories", "--strict").code == 1


def test_a_role_without_rights_is_named(filled: Command, database_url: str, query: Query) -> None:
    query("DO $$ BEGIN IF to_regrole('doctor_guest') IS NULL THEN CREATE ROLE doctor_guest; END IF; END $$")
    as_guest = make_conninfo(database_url, options="-c role=doctor_guest")
    done = filled("doctor", "--json", "--only", "server", database_url=as_guest)
    assert done.code == 1
    assert any(
        "Role doctor_guest may not use memories" in entry["message"] for entry in done.json["findings"]
    )


def test_a_long_memory_without_passages_is_reported(pgrecall: Command, query: Query) -> None:
    body = "The ferry leaves at noon from the north quay. " * 60
    assert pgrecall("remember", "-", "--key", "ferry", stdin=body.encode()).code == 0
    query("UPDATE recall.memory SET passage_count = NULL")
    told = "1 memory has no passages yet"
    assert told in pgrecall("doctor", "--only", "memories").out
    assert "1 memory without passages yet" in pgrecall("status").out
    assert pgrecall("jobs", "run", "embed").code == 0
    assert told not in pgrecall("doctor", "--only", "memories").out
    shown = pgrecall("status").out
    assert "1 memory, 0 archived, 0 without embedding" in shown
    assert "further passage" in shown
    assert "stored 1 time, shown 0 times, used 0 times" in shown
