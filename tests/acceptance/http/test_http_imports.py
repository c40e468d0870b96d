"""Files that are sent to the service: chats, notes, records and exports, twice, grown and damaged."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.http.http_tools import Served, serving
from tests.integration.memories.test_chat_import import TURNS, grown
from tests.unit.importers.chat_forms import KINDS, write_form, write_zip
from tests.waiting import until

pytestmark = pytest.mark.in_turns


@pytest.fixture(scope="module")
def running(shared_url: str) -> Iterator[Served]:
    with serving(shared_url, http_body_bytes="200000") as service:
        yield service


@pytest.fixture
def api(running: Served, database_url: str) -> Served:
    """A service with an empty tenant."""
    return running


@pytest.fixture(scope="module")
def running_without_imports(shared_url: str) -> Iterator[Served]:
    with serving(shared_url, http_body_bytes="200000") as service:
        yield service


@pytest.fixture
def unused(running_without_imports: Served, database_url: str) -> Served:
    """A service that has imported nothing, with an empty tenant; the test does not change that."""
    return running_without_imports


def send(api: Served, name: str, data: bytes, **options: Any) -> Any:
    return api.client.post("/v1/imports", params={"name": name, **options}, content=data)


def sent(api: Served, name: str, data: bytes, **options: Any) -> Any:
    answer = send(api, name, data, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(made: Any) -> tuple[int, int, int]:
    return tuple(made["report"][name] for name in ("created", "updated", "unchanged"))  # type: ignore[return-value]


def stored(api: Served) -> int:
    found: int = api.client.get("/v1/status").json()["memories"]
    return found


def only_file(path: Path) -> Path:
    return path if path.is_file() else next(one for one in path.rglob("*") if one.is_file())


def test_a_note_twice_and_changed(api: Served) -> None:
    """The time of sending is not the time of the note."""
    note = b"# Undated\n\nThe mast is stepped in spring."
    assert counts(sent(api, "undated.md", note)) == (1, 0, 0)
    assert counts(sent(api, "undated.md", note)) == (0, 0, 1)
    assert api.client.get("/v1/memories/undated").json()["occurred_at"] is None
    assert counts(sent(api, "undated.md", note + b" Or later.")) == (0, 1, 0)


def test_an_import_is_listed_and_undone(api: Served) -> None:
    made = sent(api, "mast.md", b"# Mast\n\nIt is stepped.", source="undone")
    changed = sent(api, "mast.md", b"# Mast\n\nIt is down.", source="undone")
    ids = [made["report"]["import_id"], changed["report"]["import_id"]]
    assert sent(api, "mast.md", b"# Mast\n\nIt is down.", source="undone")["report"]["import_id"] is None
    listed = api.client.get("/v1/imports", params={"source": "undone"}).json()
    assert [one["id"] for one in listed] == ids[::-1]
    undone = api.client.post("/v1/imports/undo", params={"source": "undone"}).json()
    assert (undone["id"], undone["given_back"], undone["kept"]) == (ids[1], 1, [])
    assert api.client.get("/v1/memories/mast").json()["body"].endswith("It is stepped.")
    undone = api.client.post("/v1/imports/undo", params={"import_id": ids[0]}).json()
    assert undone["deleted"] == 1
    again = api.client.post("/v1/imports/undo", params={"import_id": ids[0]})
    assert (again.status_code, "already undone" in again.text) == (422, True)


def test_each_chat_twice_and_grown(api: Served, tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        path, turns = only_file(write_form(kind, tmp_path / kind)), TURNS[kind]
        own = {"prefix": f"{kind}/", "source": kind}  # two forms have files of one name
        first = sent(api, path.name, path.read_bytes(), **own)
        assert counts(first) == (turns, 0, 0), kind
        assert (first["state"], first["problem"]) == ("done", None)
        assert first["read"] == first["total"] > 0
        assert api.client.get(f"/v1/imports/{first['id']}").json() == first
        assert counts(sent(api, path.name, path.read_bytes(), **own)) == (0, 0, turns)
        path = only_file(write_form(kind, tmp_path / kind, grown(kind)))
        assert counts(sent(api, path.name, path.read_bytes(), **own)) == (1, 0, turns)


def test_a_packed_vault(api: Served, tmp_path: Path) -> None:
    notes = {
        "vault/harbour.md": "# Harbour\n\nSee [[crane]].",
        "vault/more/crane.md": "# Crane\n\nThe crane is inspected on Monday.",
        "vault/bad.md": "---\n- never\n---\nA note.",
        "vault/.obsidian/cache.md": "hidden",
        "vault/picture.png": "x",
    }
    data = write_zip(tmp_path / "vault.zip", dict(notes)).read_bytes()
    made = sent(api, "vault.zip", data)
    assert (made["kind"], counts(made)) == ("markdown", (3, 0, 0))
    [problem] = made["report"]["problems"]
    assert (problem["where"], "not a list" in problem["reason"]) == ("vault/bad.md", True)
    assert made["report"]["links_pending"] == 0
    links = api.client.get("/v1/memories/harbour").json()["links"]
    assert [link["other_key"] for link in links] == ["more/crane"]
    assert counts(sent(api, "vault.zip", data)) == (0, 0, 3)
    refused = send(api, "vault.zip", data, strict=True)
    assert (refused.status_code, "bad.md" in refused.json()["detail"]) == (422, True)


def test_records_and_an_export_into_an_empty_tenant(api: Served) -> None:
    lines = [{"key": "a", "body": "One"}, {"key": "b"}, {"key": "c", "body": "Three"}]
    made = sent(api, "notes.jsonl", "\n".join(map(json.dumps, lines)).encode(), prefix="p/", source="mine")
    assert (made["kind"], counts(made), len(made["report"]["problems"])) == ("jsonl", (2, 0, 0), 1)
    assert api.client.get("/v1/memories/p/a").json()["source"] == "mine"
    refused = send(api, "export.jsonl", b'{"pgrecall": "export", "version": 1}\n')
    assert refused.status_code == 200
    assert refused.json()["state"] == "failed"
    assert stored(api) == 2


def test_an_export_is_imported_whole(api: Served, pgrecall: Any, tmp_path: Path, memory: Any) -> None:
    memory.for_tenant("source").remember("The crane is inspected on Monday", key="crane")
    assert pgrecall("--tenant", "source", "export", "whole.jsonl.gz").code == 0
    data = (tmp_path / "whole.jsonl.gz").read_bytes()
    cut = gzip.compress(b"".join(gzip.decompress(data).splitlines(keepends=True)[:-1]))
    failed = sent(api, "whole.jsonl.gz", cut)
    assert (failed["state"], failed["kind"], stored(api)) == ("failed", "export", 0)
    assert "Nothing" in failed["problem"] or "nothing" in failed["problem"], failed["problem"]
    made = sent(api, "whole.jsonl.gz", data)
    assert (made["state"], counts(made), stored(api)) == ("done", (1, 0, 0), 1)


BLANKS = b" " * 3_000_000
BOMBS = {
    "a record": ("bomb.jsonl.gz", gzip.compress(b'{"body": "' + BLANKS + b'x"}')),
    "a chat": ("bomb.json.gz", gzip.compress(b"[" + BLANKS + b"]")),
    "an export": ("bomb.gz", gzip.compress(b'{"pgrecall": "export"}\n' + BLANKS)),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_file_that_unpacks_to_far_more_is_refused_before_it_is_read(api: Served, what: str) -> None:
    """A service reads for many: one key could fill its memory with a few kilobytes."""
    name, data = BOMBS[what]
    refused = send(api, name, data)
    assert refused.status_code == 422, refused.text
    assert f"{name} unpacks to more than 2,000,000 bytes" in refused.json()["detail"]


def test_a_packed_vault_that_unpacks_to_far_more_is_refused(api: Served, tmp_path: Path) -> None:
    notes: dict[str, Any] = {f"note{number}.md": BLANKS[:900_000].decode() for number in range(3)}
    refused = send(api, "vault.zip", write_zip(tmp_path / "vault.zip", notes).read_bytes())
    assert "vault.zip unpacks to more than 2,000,000 bytes" in refused.json()["detail"]


def test_the_time_of_an_import_is_an_argument(api: Served) -> None:
    """What is stored, and which events have not occurred yet, does not depend on the calendar."""
    record = json.dumps({"body": "The tide turns.", "occurred_at": "2026-03-10T12:00:00Z"}).encode()
    found = []
    for name, now in (("early.jsonl", "2026-03-01T12:00:00Z"), ("late.jsonl", "2026-03-11T12:00:00Z")):
        sent(api, name, record, now=now, prefix=name)
        [made] = [one for one in api.client.get("/v1/memories").json() if name in one["source"]]
        found.append(made["happened_at"])
    # Nine days ahead it cannot have occurred, so the time of storing counts.
    assert found == ["2026-03-01T12:00:00Z", "2026-03-10T12:00:00Z"]
    assert send(api, "tides.jsonl", record, now="yesterday").status_code == 422


def test_it_can_be_followed(api: Served) -> None:
    lines = "\n".join(json.dumps({"key": f"n{number}", "body": f"Note {number}"}) for number in range(300))
    begun = sent(api, "notes.jsonl", lines.encode(), wait=False)
    assert begun["total"] == 300

    def done() -> bool:
        return api.client.get(f"/v1/imports/{begun['id']}").json()["state"] == "done"

    until(done, "the import")
    assert counts(api.client.get(f"/v1/imports/{begun['id']}").json()) == (300, 0, 0)


@pytest.mark.parametrize(
    ("name", "data", "status", "said"),
    [
        ("notes.jsonl", b"", 400, "The body is empty"),
        ("notes.jsonl", b"x" * 200_001, 413, "larger than 200,000 bytes"),
        ("../notes.jsonl", b"{}", 422, "name"),
        ("..", b"{}", 422, "'..' is not the name of a file."),
        ("notes.txt", b"{}", 422, "notes.txt has an unknown format."),
        ("conversations.json", b'[{"mapping": ', 422, "conversations.json"),
        ("export.zip", b"PK no archive", 422, "export.zip cannot be read"),
        ("notes.jsonl", b"not json\n", 422, "There is nothing to import in notes.jsonl: notes.jsonl"),
    ],
)
def test_bad_input_stores_nothing(unused: Served, name: str, data: bytes, status: int, said: str) -> None:
    answer = send(unused, name, data)
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert said in problem["detail"] + json.dumps(problem), problem
    assert "/tmp" not in answer.text
    assert stored(unused) == 0
    assert unused.client.get("/v1/imports/1").status_code == 404
