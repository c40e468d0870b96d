"""One rule for all importers: UTF-8, UTF-16 and UTF-32 by their marks, Windows-1252 where it is plain."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers import detect, files
from pgrecall.importers.encodings import WINDOWS_1252, WRONG_BYTES, decode
from pgrecall.importers.files import open_within
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

TEXT = "The café in Öland has no crème brûlée; it is \u201cclosed\u201d, and the ferry is at noon."
LINE = {"body": TEXT}
MESSAGES = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "Then we go on Friday."}]
CLAUDE = [{
    "uuid": "c1", "name": "Ferry", "created_at": "2026-01-02T10:00:00Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": TEXT, "created_at": "2026-01-02T10:00:00Z"}
    ],
}]  # fmt: skip
CODEX = {"type": "response_item", "timestamp": "2026-01-02T10:00:00Z", "payload": {
    "type": "message", "role": "user", "content": [{"type": "input_text", "text": TEXT}]}}  # fmt: skip
MEM0 = {"results": [{"id": "1", "memory": TEXT}]}
HINDSIGHT = {"items": [{"id": "1", "text": TEXT, "fact_type": "world"}]}
LOCOMO = [{"sample_id": "s", "conversation": {
    "session_1_date_time": "1:00 pm on 2 January, 2026",
    "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": TEXT}]}}]  # fmt: skip
FILES = {
    "note.md": TEXT,
    "records.jsonl": json.dumps(LINE, ensure_ascii=False),
    "messages.json": json.dumps(MESSAGES, ensure_ascii=False),
    "conversations.json": json.dumps(CLAUDE, ensure_ascii=False),
    "rollout-1.jsonl": "\n".join([json.dumps(CODEX, ensure_ascii=False)] * 2),
    "mem0.json": json.dumps(MEM0, ensure_ascii=False),
    "hindsight.json": json.dumps(HINDSIGHT, ensure_ascii=False),
    "locomo.json": json.dumps(LOCOMO, ensure_ascii=False),
}
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252")


def packed(name: str, data: bytes) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


PACKINGS: dict[str, tuple[str, Callable[[str, bytes], bytes]]] = {
    "": ("", lambda _, data: data),
    "gz": (".gz", lambda _, data: gzip.compress(data)),
    "zip": (".zip", packed),
}


def imported(path: Path) -> tuple[list[Draft], list[Problem], list[Skipped]]:
    items = list(detect.open_source(path))
    return (
        [item for item in items if isinstance(item, Draft)],
        [item for item in items if isinstance(item, Problem)],
        [item for item in items if isinstance(item, Skipped) and item.what == WINDOWS_1252],
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", FILES)
def test_every_importer_reads_every_encoding(name: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode(encoding))
    drafts, problems, notices = imported(tmp_path / name)
    assert TEXT in drafts[0].body
    assert not problems
    assert bool(notices) == (encoding == "cp1252")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("name", "packing"),
    [("note.md", "zip"), ("conversations.json", "zip"), ("messages.json", "gz"), ("records.jsonl", "gz")],
)
def test_packed_files_too(name: str, packing: str, encoding: str, tmp_path: Path) -> None:
    ending, pack = PACKINGS[packing]
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(pack(name, FILES[name].encode(encoding)))
    drafts, problems, notices = imported(path)
    assert TEXT in drafts[0].body
    assert not problems
    assert bool(notices) == (encoding == "cp1252")


@pytest.mark.parametrize(
    "data",
    [
        "Здравствуйте, товарищи!".encode("cp1251"),
        "日本語の文章です。".encode("shift_jis"),
        b"a picture \x00\x01 \xff\xd8",
    ],
    ids=["Russian", "Japanese", "binary"],
)
def test_what_may_be_something_else_is_refused_with_its_place(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^byte [0-9]+ \(0x[0-9a-f]{2}\) is not UTF-8; convert"):
        decode(data)
    (tmp_path / "note.md").write_bytes(data)
    drafts, problems, _ = imported(tmp_path / "note.md")
    assert not drafts
    assert "is not UTF-8" in problems[0].reason


def test_a_list_of_records_in_another_encoding_is_refused_with_its_place(tmp_path: Path) -> None:
    records = '[\n{"body": "Здравствуйте, товарищи!"},\n{"body": "До свидания, товарищи!"}\n]'
    (tmp_path / "records.jsonl").write_bytes(records.encode("cp1251"))
    [problem] = detect.open_source(tmp_path / "records.jsonl")
    assert isinstance(problem, Problem)
    assert problem.reason == "Byte 12 (0xc7) is not UTF-8; convert the file to UTF-8."


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("caf\u00e9 and cut off: \u00e9".encode()[:-1], "caf\u00e9 and cut off: \ufffd"),
        (b"undefined \x81", "undefined \ufffd"),
        ("Noon, as said.".encode("utf-16")[:-1], "Noon, as said\ufffd"),
        (f"{TEXT} \ufffd ".encode() + b"\xff", f"{TEXT} \ufffd \ufffd"),
    ],
)
def test_a_few_wrong_bytes_are_replaced_and_counted(data: bytes, text: str, tmp_path: Path) -> None:
    assert decode(data) == (text, WRONG_BYTES, 1)
    (tmp_path / "note.md").write_bytes(data)
    [notice, draft] = detect.open_source(tmp_path / "note.md")
    assert isinstance(notice, Skipped)
    assert isinstance(draft, Draft)
    assert (draft.body, notice.count) == (text, 1)


@pytest.mark.parametrize("name", FILES)
def test_one_wrong_byte_costs_no_text(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode().replace(b"noon", b"no\xffn", 1))
    items = list(detect.open_source(tmp_path / name))
    draft = next(item for item in items if isinstance(item, Draft))
    assert TEXT.replace("noon", "no\ufffdn") in draft.body
    assert not any(isinstance(item, Problem) for item in items)
    assert [item.count for item in items if isinstance(item, Skipped) and item.what == WRONG_BYTES] == [1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", FILES)
def test_utf_16_without_a_mark(name: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name].encode(encoding))
    drafts, problems, _ = imported(tmp_path / name)
    assert TEXT in drafts[0].body
    assert not problems


def test_damaged_utf_16_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_bytes(FILES["conversations.json"].encode("utf-16")[:-1])
    with pytest.raises(InvalidInput, match="damaged UTF-16"):
        list(detect.open_source(tmp_path / "conversations.json", kind="claude"))


def test_a_foreign_line_costs_no_neighbour(tmp_path: Path) -> None:
    lines = [json.dumps({"body": f"{TEXT} {number}"}, ensure_ascii=False) for number in range(3)]
    russian = '{"body": "Привет"}'.encode("cp1251")
    (tmp_path / "r.jsonl").write_bytes(
        b"\n".join([lines[0].encode(), lines[1].encode("cp1252"), russian, lines[2].encode()])
    )
    drafts, problems, notices = imported(tmp_path / "r.jsonl")
    assert [draft.body[-1] for draft in drafts] == ["0", "1", "2"]
    assert [problem.reason.partition(":")[0] for problem in problems] == ["line 3"]
    assert notices[0].places == (f"{tmp_path / 'r.jsonl'}: line 2",)


def test_a_packed_file_that_cannot_be_read_is_closed_at_once(tmp_path: Path) -> None:
    broken = tmp_path / "notes.jsonl.gz"
    broken.write_bytes(b"no archive")
    opened: list[BinaryIO] = []

    def note(path: Path, root: Path | None) -> BinaryIO:
        opened.append(open_within(path, root))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "open_within", note)
        with pytest.raises(OSError, match="Not a gzipped file"):
            files.open_bytes(broken)
    assert [file.closed for file in opened] == [True]
