"""A tenant exported and imported elsewhere is the same tenant: it answers everything as before."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import queue
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall import AsyncMemory, Draft, Export, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query, new_database
from tests.integration.export.export_tools import client, lines_of
from tests.tenant_world import all_answers, fill_tenant
from tests.waiting import PATIENCE


def held(lines: list[str], kind: str) -> list[dict[str, Any]]:
    documents = map(json.loads, lines[1:])
    return [document[kind] for document in documents if kind in document]


@pytest.fixture(scope="module")
def world(shared_url: str) -> Iterator[Memory]:
    with client(shared_url, "acme") as memory:
        fill_tenant(memory, shared_url)
        yield memory


@pytest.fixture(scope="module")
def lines(world: Memory) -> list[str]:
    return lines_of(world)


@pytest.fixture(scope="module")
def elsewhere(server: EmbeddedServer, template: str) -> Iterator[str]:
    yield from new_database(server, template)


@pytest.fixture(scope="module")
def moved(elsewhere: str, lines: list[str]) -> Iterator[Memory]:
    """The tenant in another database, under another name."""
    with client(elsewhere, "other") as memory:
        memory.export.read(io.BytesIO("\n".join(lines).encode()))
        yield memory


def test_the_world_has_something_of_everything(lines: list[str]) -> None:
    """Else what follows would show little."""
    counts = json.loads(lines[0])["counts"]
    assert [kind for kind, count in counts.items() if count == 0] == []


def test_every_table_and_column_is_exported_or_left_behind_for_a_reason(sql: Query, lines: list[str]) -> None:
    tables = {
        row["relname"]
        for row in sql(
            "SELECT c.relname FROM pg_class c "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
            "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') "
            "AND NOT c.relispartition"
        )
    }
    kinds = {row["kind"] for row in sql("SELECT kind FROM recall_private.export_kinds()")}
    of_the_server = {
        "api_key", "erasure", "erasure_item", "job_run", "oauth_grant", "page_session", "reader",
        "redacted_text", "tenant_role", "vector_home", "tenant_lock", "memory_change", "resident",
    }  # fmt: skip
    made_of_memories = {"name", "compared", "duplicate_pair"}  # by a trigger, and by a job
    assert tables - kinds == of_the_server | made_of_memories | {"vector_shared"}
    assert kinds - tables == {"supersession", "vector", "passage"}
    for kind in sorted(kinds):
        [row] = sql("SELECT recall_private.importable_columns(%s) AS columns", (kind,))
        assert {name for each in held(lines, kind) for name in each} == set(row["columns"]), kind


def test_what_comes_back_answers_as_before(
    shared_url: str, world: Memory, moved: Memory, elsewhere: str
) -> None:
    """Searches now and as of the past, vitality to the last digit, plans, statistics; and it is in order."""
    before, after = all_answers(shared_url, "acme"), all_answers(elsewhere, "other")
    assert [name for name in before if before[name] != after[name]] == []
    assert sum(check.problems for check in moved.maintenance.verify(now=NOW)) == 0


def test_the_export_of_what_came_back_is_the_same(moved: Memory, lines: list[str]) -> None:
    again = lines_of(moved)
    assert again[1:] == lines[1:]
    assert json.loads(again[0]) | {"tenant": "acme"} == json.loads(lines[0])


def test_a_copy_in_the_same_database_is_a_tenant_of_its_own(
    shared_url: str, world: Memory, lines: list[str]
) -> None:
    """It has the same ids, and neither sees or touches the other by them."""
    with client(shared_url, "copy") as copy:
        copy.export.read(io.BytesIO("\n".join(lines).encode()))
        for key in ("note-2", "note-4"):
            copy.record_access(key, "used", at=NOW, session_id="talk-1", now=NOW)
        copy.forget("note-7", hard=True, now=NOW)
        copy.plans.undo(2, now=NOW + timedelta(days=302))
    assert lines_of(world)[1:] == lines[1:]


LATER = NOW + timedelta(days=303)

LIFE_GOES_ON = (
    ("SELECT count(*) FROM recall.fold_accesses() f", ()),
    ("SELECT recall.undo_plan(2, %s)", (LATER,)),
    ("SELECT * FROM recall.apply_plan(3, %s)", (LATER,)),
    ("SELECT recall.record_access(recall.id_of('note-2'), 'used', %s, 'talk-1', 'once-0', %s)", (NOW, NOW)),
    ("SELECT recall.record_access(recall.id_of('note-2'), 'used', %s, 'talk-1', 'anew', %s)", (NOW, LATER)),
    ("SELECT count(*) FROM recall.remember_many(%s, p_now => %s)",
     ('[{"key": "note-31", "body": "it"}]', LATER)),
    ("SELECT recall.count_pending_links()", ()),
    ("SELECT recall.verify(%s)", (LATER,)),
    ("SELECT recall.rebuild()", ()),
    ("SELECT recall.plan_prune(p_max_share => 1, p_now => %s) * 0", (LATER + timedelta(days=90),)),
    ("SELECT i.vitality, i.reason, i.impact FROM recall.plan_item i JOIN recall.plan p "
     "ON p.tenant = i.tenant AND p.id = i.plan_id WHERE p.created_at = %s "
     "AND p.tenant = recall.current_tenant() ORDER BY i.memory_id", (LATER + timedelta(days=90),)),
    ("SELECT v.memory_id, v.reason, v.archived_at, v.restored_at, v.plan_id FROM recall.archival v "
     "WHERE v.tenant = recall.current_tenant() ORDER BY v.id", ()),
    ("SELECT m.key, recall.vitality(m.id, %s) FROM recall.memory m WHERE m.tenant = recall.current_tenant() "
     "ORDER BY m.id", (LATER,)),
)  # fmt: skip


def test_both_go_on_alike(shared_url: str, world: Memory, moved: Memory, elsewhere: str) -> None:
    """Plans undone, applied and made, uses seen before and new ones, links that resolve: all the same."""
    outcomes = []
    for url, tenant in ((shared_url, "acme"), (elsewhere, "other")):
        with psycopg.connect(url) as connection:
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
            outcomes.append([connection.execute(sql, given).fetchall() for sql, given in LIFE_GOES_ON])
            connection.rollback()
    for before, after, (statement, _) in zip(*outcomes, LIFE_GOES_ON, strict=True):
        assert before == after, statement


def far_ahead(lines: list[str], first: int) -> list[str]:
    """An export of memories and their activations alone, the last of them with this id and more after it."""
    far = [
        line.replace('"id": 29,', f'"id": {first},').replace('"memory_id": 29,', f'"memory_id": {first},')
        for line in lines
        if _stands_alone(line)
    ]
    header = json.loads(far[0])
    kinds = [next(iter(json.loads(line))) for line in far[1:]]
    header["counts"] = {kind: kinds.count(kind) for kind in kinds}
    return [json.dumps(header), *far[1:]]


@pytest.mark.parametrize("far", [50_000, 700_000_000, 2**52])
def test_new_memories_get_ids_of_their_own(database_url: str, lines: list[str], far: int) -> None:
    """However far ahead of the database the ids of the export are, also when it gets there."""
    with client(database_url, "acme") as memory:
        memory.export.read(io.BytesIO("\n".join(far_ahead(lines, far)).encode()))
        assert memory.remember("the next one").id not in {*range(30), far}
        with psycopg.connect(database_url) as connection:
            connection.execute("SELECT setval('recall.memory_id_seq', greatest(%s - 2, 1000000))", (far,))
        stored = [memory.remember(f"number {number}").id for number in range(3)]
        many = memory.remember_many([Draft("one"), Draft("two")])
        assert len({*stored, *(each.id for each in many), far}) == 6


@pytest.mark.parametrize("kind", ["memory", "plan", "search_log"])
def test_no_tenant_uses_up_the_ids_of_all(
    shared_url: str, database_url: str, lines: list[str], kind: str
) -> None:
    """Ids at the end of what can be read leave the shared sequence nearly where it was."""
    place = max(place for place, line in enumerate(lines) if line.startswith(f'{{"{kind}"'))
    row = json.loads(lines[place])[kind] | {"id": 2**52}
    far = far_ahead(lines, 2**52)
    if kind != "memory":
        header = json.loads(far[0])
        header["counts"][kind] = 1
        far = [json.dumps(header), *far[1:], json.dumps({kind: row})]
    sequence = f"SELECT last_value FROM recall.{kind}_id_seq"
    with client(database_url, "acme") as memory, psycopg.connect(database_url, autocommit=True) as connection:
        memory.export.read(io.BytesIO("\n".join(far).encode()))
        assert connection.execute(sequence.encode()).fetchone() < (200_000,)
        other = memory.for_tenant("other")
        other.remember("The tide table")
        other.search("tide")
        other.plans.prune()
        file = io.BytesIO()
        other.export.write(file)
        file.seek(0)
        memory.for_tenant("third").export.read(file)


def _stands_alone(line: str) -> bool:
    return line.startswith(('{"memory":', '{"counts"', '{"layer"', '{"activation"'))


def test_without_embeddings_they_are_left_to_the_worker(
    database_url: str, lines: list[str], world: Memory
) -> None:
    bare = lines_of(world, embeddings=False)
    assert (
        [memory for memory in held(bare, "memory") if "embedded_with" in memory] == held(bare, "vector") == []
    )
    assert len(held(lines, "vector")) == 41
    assert held(bare, "access") == held(lines, "access")
    for tenant, given, embeddings in (("a", bare, True), ("b", lines, False)):
        with client(database_url, tenant) as memory:
            made = memory.export.read(io.BytesIO("\n".join(given).encode()), embeddings=embeddings)
            assert (made.embeddings, memory.status().awaiting_embedding) == (False, 41)
            memory.jobs.run("embed")
            assert memory.status().awaiting_embedding == 0


def test_an_export_is_of_one_instant(world: Memory, shared_url: str) -> None:
    """What is stored and used while it is written is in it whole or not at all: here not at all."""
    before = lines_of(world)
    with client(shared_url, "acme") as other:
        stored: list[int] = []

        def store(line: int, of: int) -> None:
            assert line <= of == len(before)
            if not stored:
                stored.append(other.remember("in the meantime", links=(), pinned=True).id)
                other.record_access("note-2", "used", session_id="talk-1")

        file = io.BytesIO()
        world.export.write(file, now=NOW, progress=store)
        other.forget(stored[0], hard=True)
    assert file.getvalue().decode().split("\n")[1:-1] == before[1:]


def test_a_pipe_is_written_into_and_not_replaced(world: Memory, tmp_path: Path) -> None:
    """As a device is: an export to /dev/null must not make a file of it."""
    path, read = tmp_path / "pipe", queue.SimpleQueue[bytes]()
    os.mkfifo(path)
    threading.Thread(target=lambda: read.put(path.read_bytes()), daemon=True).start()
    made = world.export.write(path, now=NOW)
    assert path.is_fifo()
    assert read.get(timeout=PATIENCE).count(b"\n") == made.lines


def test_a_link_stays_and_its_file_is_replaced(world: Memory, tmp_path: Path) -> None:
    (tmp_path / "newest").symlink_to("monday.jsonl")
    for _ in range(2):  # the file is made, then replaced
        made = world.export.write(tmp_path / "newest", now=NOW)
        assert (tmp_path / "newest").is_symlink()
        assert (tmp_path / "monday.jsonl").read_bytes().count(b"\n") == made.lines


def test_two_exports_to_one_file_do_not_mix(world: Memory, shared_url: str, tmp_path: Path) -> None:
    path = tmp_path / "acme.jsonl"
    begun: list[int] = []

    def start_another(line: int, of: int) -> None:
        if not begun:
            begun.append(line)
            with client(shared_url, "acme") as other:
                other.export.write(path, now=NOW)

    made = world.export.write(path, now=NOW, progress=start_another)
    assert path.read_text().split("\n")[:-1] == lines_of(world)
    assert made.lines == len(lines_of(world))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_files_are_packed_by_their_name_and_there_when_whole(
    world: Memory, database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "acme.jsonl.gz"
    made = world.export.write(path, now=NOW)
    assert gzip.decompress(path.read_bytes()).count(b"\n") == made.lines
    assert (made.tenant, made.dimensions, made.embedder, made.exported_at) == ("acme", 64, "hash-64", NOW)

    def broken(line: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.export.write(str(path), progress=broken)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with client(database_url, "acme") as memory:
        assert memory.export.read(str(path)) == made


def test_tasks_of_an_event_loop_move_tenants_too(world: Memory, database_url: str, lines: list[str]) -> None:
    async def move() -> tuple[Export, Export]:
        settings = Settings(database_url=database_url, tenant="acme", embedder="hash")
        async with AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            made = await memory.export.read(io.BytesIO("\n".join(lines).encode()))
            return made, await memory.export.write(io.BytesIO(), now=NOW)

    imported, exported = asyncio.run(move())
    assert imported.counts == exported.counts
