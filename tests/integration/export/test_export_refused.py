"""What cannot be exported or imported: one sentence with the line, and nothing half done."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import EmbedderMismatch, InvalidInput, Memory
from pgrecall.schema import roles
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.export.export_tools import client

HELD = "SELECT recall_private.tenant_holdings(recall.current_tenant()) AS held"


@pytest.fixture(scope="module")
def lines(shared_url: str) -> list[str]:
    with client(shared_url, "source") as memory:
        memory.remember("The harbour contract", key="a", tags=("x",))
        memory.remember("The tide table", key="b", metadata={"n": None})
        memory.link("a", "b")
        memory.supersede("a", "b")
        memory.record_access("b", "used", idempotency_key="once")
        memory.search("harbour tide")
        memory.settings.set("prune.grace_days", 2.0)
        file = io.BytesIO()
        memory.export.write(file, now=NOW)
    return file.getvalue().decode().split("\n")[:-1]


@pytest.fixture
def target(shared_url: str, sql: Query) -> Iterator[Memory]:
    """An empty tenant, which still is when the test is over."""
    with client(shared_url, "target") as memory:
        yield memory
    assert sql(HELD, tenant="target") == [{"held": None}]


def stream(lines: list[str]) -> io.BytesIO:
    return io.BytesIO("".join(f"{line}\n" for line in lines).encode())


def changed(lines: list[str], kind: str, fields: dict[str, Any]) -> tuple[list[str], int]:
    """The export with other values in its first line of a kind, and the number of that line."""
    place = next(place for place, line in enumerate(lines) if line.startswith(f'{{"{kind}"'))
    row = json.loads(lines[place])[kind] | fields
    return [*lines[:place], json.dumps({kind: row}), *lines[place + 1 :]], place + 1


def test_a_tenant_that_holds_something_is_left_as_it_is(shared_url: str, lines: list[str]) -> None:
    file = io.BytesIO()
    with client(shared_url, "source") as memory:
        with pytest.raises(InvalidInput) as caught:
            memory.export.read(stream(lines))
        memory.export.write(file, now=NOW)
    assert str(caught.value) == (
        "Tenant 'source' is not empty: it has 2 memories, 1 logged search, 1 setting. "
        "Import the export into another tenant, which can have any name."
    )
    assert file.getvalue() == stream(lines).getvalue()


def test_an_export_imported_again_changes_nothing(database_url: str, lines: list[str]) -> None:
    with client(database_url, "acme") as memory:
        memory.export.read(stream(lines))
        with pytest.raises(InvalidInput, match="it has 2 memories"):
            memory.export.read(stream(lines))
        assert memory.status().memories == 2


@pytest.mark.parametrize("what", ["setting", "layer", "model"])
def test_what_a_tenant_has_set_is_not_overruled(database_url: str, lines: list[str], what: str) -> None:
    with client(database_url, "acme") as memory:
        if what == "setting":
            memory.settings.set("search.log_days", 3)
        elif what == "layer":
            memory.layers.set("diary")
        else:
            with psycopg.connect(database_url) as connection:
                connection.execute("INSERT INTO recall.rerank_model VALUES ('acme', 'r', 0, 1, 1, 'x')")
        with pytest.raises(InvalidInput, match=f"it has 1 .*{what}"):
            memory.export.read(stream(lines))


def test_every_line_that_is_missing_is_missed(target: Memory, lines: list[str]) -> None:
    for place in range(1, len(lines)):
        with pytest.raises(InvalidInput, match=r"is incomplete|cannot be imported"):
            target.export.read(stream(lines[:place] + lines[place + 1 :]))
        with pytest.raises(InvalidInput, match="The export is incomplete: its first line announces"):
            target.export.read(stream(lines[:place]))


def test_a_line_that_came_twice_is_noticed(target: Memory, lines: list[str]) -> None:
    for place in range(1, len(lines)):
        with pytest.raises(InvalidInput, match=r"is incomplete|cannot be imported"):
            target.export.read(stream(lines[: place + 1] + lines[place:]))


def test_a_truncated_file_is_refused(target: Memory, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    packed = gzip.compress(stream(lines).getvalue())
    path.write_bytes(packed[: len(packed) * 2 // 3])
    with pytest.raises(InvalidInput, match=r"cut\.jsonl\.gz cannot be read: Compressed file ended"):
        target.export.read(path)
    whole = stream(lines).getvalue()
    with pytest.raises(InvalidInput, match=f"^Line {len(lines)} of the export cannot be imported: invalid"):
        target.export.read(io.BytesIO(whole[:-20]))


BROKEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "a field of another program": (
        "memory",
        {"colour": 1},
        "no line of the kind memory has a field 'colour'",
    ),
    "another tenant": ("memory", {"tenant": "globex"}, "no line of the kind memory has a field 'tenant'"),
    "what is computed": ("memory", {"search_text": "'x'"}, "has a field 'search_text'"),
    "no vector": ("vector", {"embedding": "[1,2]"}, "expected 64 dimensions, not 2"),
    "a vector of nothing": ("vector", {"memory_id": 999}, "a vector is of a memory that is not there"),
    "no layer": ("memory", {"layer": None}, 'null value in column "layer"'),
    "no text": ("memory", {"title": "", "body": ""}, "demands ((title <> ''::text) OR (body <> ''::text))."),
    "no time": ("memory", {"created_at": "soon"}, "invalid input syntax for type timestamp"),
    "an unknown language": ("memory", {"language": "klingon"}, "klingon"),
    "a link to nowhere": ("link", {"dst": 999}, "link_dst_fkey"),
    "an unknown kind of use": ("access", {"kind": "loved"}, '"access_kind_check", which demands (kind = ANY'),
    "a weight out of bounds": ("access", {"weight": 1e9}, "access_weight_check"),
    "an unknown setting": ("setting", {"name": "lock.salt"}, "There is no setting 'lock.salt'"),
    "a setting out of bounds": ("setting", {"value": -1}, "prune.grace_days is -1; it must lie between"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_line_that_cannot_be_stored_is_named(target: Memory, lines: list[str], what: str) -> None:
    kind, fields, reason = BROKEN[what]
    broken, number = changed(lines, kind, fields)
    with pytest.raises(InvalidInput) as caught:
        target.export.read(stream(broken))
    assert caught.value.message.startswith(f"Line {number} of the export cannot be imported: "), caught.value
    assert reason in caught.value.message
    assert caught.value.hint.endswith("nothing was stored.")


@pytest.mark.parametrize(
    "line", ["", "[1]", "7", '{"memory": 7}', '{"api_key": {}}', '{"memory": {"id"', "\\x"]
)
def test_a_line_of_something_else_is_named(target: Memory, lines: list[str], line: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Line 4 of the export cannot be imported: "):
        target.export.read(stream([*lines[:3], line, *lines[3:]]))


@pytest.mark.parametrize("line", [b"\xff\xfe", b'{"memory": "\x00"}'])
def test_bytes_that_are_no_text_are_named(target: Memory, lines: list[str], line: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^Line 2 of the export (is not UTF-8|holds a NUL)"):
        target.export.read(io.BytesIO(lines[0].encode() + b"\n" + line + b"\n"))


def header(lines: list[str], **fields: Any) -> list[str]:
    return [json.dumps(json.loads(lines[0]) | fields), *lines[1:]]


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "a newer format": ({"format": 2}, "The export has format 2; this version of pgrecall reads format 1."),
    "other dimensions": (
        {"dimensions": 3},
        "The export has embeddings with 3 dimensions, this database 64.",
    ),
    "no language": (
        {"language": "klingon"},
        "This server does not have 'klingon', the language of the export.",
    ),
    "unknown kinds": ({"counts": {"dream": 1}}, "has kinds of lines that this version"),
    "no counts": ({"counts": {"memory": "many"}}, "The first line of this export was changed."),
    "no time": ({"exported_at": "soon"}, "The first line of this export was changed."),
}


@pytest.mark.parametrize("what", HEADERS)
def test_an_export_that_does_not_fit_is_refused_at_once(target: Memory, lines: list[str], what: str) -> None:
    fields, sentence = HEADERS[what]
    with pytest.raises(InvalidInput) as caught:
        target.export.read(stream(header(lines, **fields)))
    assert sentence in caught.value.message
    assert caught.value.hint or what == "no language"


def test_vectors_of_another_embedder_are_refused(target: Memory, lines: list[str]) -> None:
    with pytest.raises(EmbedderMismatch, match="holds embeddings of 'hash-64', not of 'other'"):
        target.export.read(stream(header(lines, embedder="other")))


@pytest.mark.parametrize("content", [b"", b"\n", b"hello\n", b'{"body": "a memory"}\n', b"\x1f\x8b\x08"])
def test_a_file_of_something_else_is_no_export(target: Memory, content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^This is not an export of pgrecall: its first line is not a h"):
        target.export.read(io.BytesIO(content))


def test_ids_too_great_for_a_successor_are_refused(target: Memory, lines: list[str]) -> None:
    for wrong in (0, 2**62):
        with pytest.raises(InvalidInput, match=f"The export has a search_log with the id {wrong}"):
            target.export.read(stream(changed(lines, "search_log", {"id": wrong})[0]))


def test_files_that_are_not_there_or_cannot_be_made(target: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"There is no file .*nowhere\.jsonl"):
        target.export.read(tmp_path / "nowhere.jsonl")
    with pytest.raises(InvalidInput, match=r"cannot be written: No such file or directory"):
        target.export.write(tmp_path / "no" / "folder.jsonl")


def test_an_import_that_was_committed_halfway_is_seen(
    query: Query, database_url: str, lines: list[str]
) -> None:
    query("SELECT recall.begin_import(%s)", (lines[0],))
    query("SELECT recall.import_lines(%s)", (lines[1:3],))
    [row] = query("SELECT recall.verify() AS verified")
    wrong = [check["examples"] for check in row["verified"]["checks"] if check["problems"]]
    assert ["setting 'import'"] in wrong
    with pytest.raises(psycopg.DataError, match=r"it has .*setting"):
        query("SELECT recall.begin_import(%s)", (lines[0],))
    query("SELECT recall.import_lines(%s)", (lines[3:],))
    query("SELECT recall.end_import()")
    with pytest.raises(psycopg.DataError, match="No import has begun in this tenant"):
        query("SELECT recall.import_lines(%s)", (lines[1:],))


def test_readers_export_and_do_not_import(shared_url: str, lines: list[str], target: Memory) -> None:
    role = "reader_of_exports"
    roles.create(shared_url, role, may="reader", tenant="source", password=None)
    try:
        with psycopg.connect(make_conninfo(shared_url, user=role)) as connection:
            got = connection.execute("SELECT recall.export_lines(p_now => %s)", (NOW,)).fetchall()
            assert [line for (line,) in got[1:]] == lines[1:]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT recall.begin_import(%s)", (lines[0],))
    finally:
        with psycopg.connect(shared_url, autocommit=True) as admin:
            admin.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_others_wait_to_store_until_an_import_has_ended(
    shared_url: str, lines: list[str], target: Memory, sql: Callable[..., Any]
) -> None:
    with psycopg.connect(shared_url) as first, psycopg.connect(shared_url) as second:
        for connection in (first, second):
            connection.execute("SELECT set_config('recall.tenant', 'target', true)")
        first.execute("SELECT recall.begin_import(%s)", (lines[0],))
        second.execute("SET LOCAL lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute("SELECT recall.remember('between')")
        first.rollback()
