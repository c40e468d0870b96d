"""ZIP archives of notes: read as the folder, with what must not be read refused."""

from __future__ import annotations

import random
import re
import resource
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.bounds import require_unpacked
from pgrecall.importers.detect import count_items, known_kind, open_source
from pgrecall.importers.markdown import archive
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Draft
from tests.scale import SCALE


def packed(path: Path, notes: dict[str, str], day: int = 3) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in notes.items():
            made.writestr(zipfile.ZipInfo(name, (2026, 3, day, 9, 0, 0)), text)
    return path


def read(path: Path) -> list[Any]:
    return list(open_source(path, source="s"))


def test_notes_of_an_archive_are_those_of_its_folder(tmp_path: Path) -> None:
    path = packed(tmp_path / "vault.zip", {
        "vault/a.md": "# A\n\nSee [[b]].", "vault/deep/b.md": "# B\n\nHere.", "vault/.trash/c.md": "gone",
        "__MACOSX/vault/._a.md": "x", "vault/a.png": "x",
    })  # fmt: skip
    assert (known_kind(path), count_items(path)) == ("markdown", 2)
    others, *drafts = read(path)
    assert (others.what, others.places) == ("files that are no notes, passed over", ("vault/a.png",))
    assert [(draft.key, draft.title) for draft in drafts] == [("a", "A"), ("deep/b", "B")]
    assert [link.target for link in drafts[0].links] == ["deep/b"]
    assert drafts[0].occurred_at == datetime(2026, 3, 3, 9, tzinfo=UTC)
    assert read(path) == [others, *drafts]


def test_a_hidden_folder_that_was_packed_is_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "notes.zip", {"ann/.notes/a.md": "A.", "ann/.notes/.trash/b.md": "B."})
    assert (known_kind(path), count_items(path)) == ("markdown", 1)
    assert [item.key for item in read(path)] == ["a"]


def test_what_leads_out_or_is_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="leads out of the archive"):
        read(packed(tmp_path / "out.zip", {"../../a.md": "x"}))
    assert not (tmp_path.parent / "a.md").exists()
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 3)
    with pytest.raises(InvalidInput, match="has 1 notes of 4 bytes; 100,000 of 3 bytes are read"):
        read(packed(tmp_path / "big.zip", {"a.md": "long"}))


def test_a_note_that_cannot_be_used_is_named_as_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 30)
    notes = {"v/bad.md": "---\n- A\n---\nA.", "v/good.md": "Good.", "v/long.md": "x" * 31}
    problems = [item for item in read(packed(tmp_path / "v.zip", notes)) if isinstance(item, Problem)]
    assert [problem.where for problem in problems] == ["v/long.md", "v/bad.md"]
    assert "31 bytes; 30 are read" in problems[0].reason


def test_a_damaged_archive_is_one_sentence(tmp_path: Path) -> None:
    path = packed(tmp_path / "v.zip", {"a.md": "Text " * 9, "b.md": "Other."})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Text Text", b"Text Tixt", 1))
    [problem, draft] = read(path)
    assert (problem.where, problem.reason[:33]) == ("a.md", "It cannot be unpacked: Bad CRC-32")
    assert draft.key == "b"
    path.write_bytes(whole[:60])
    with pytest.raises(InvalidInput, match=r"v.zip cannot be read: File is not a zip file"):
        read(path)


def test_names_are_those_that_were_meant(tmp_path: Path) -> None:
    names = {"Öl/Ruß.md": "See [[Öl/Zug]].", "Öl/Zug.md": "x", "Öl/.trash/no.md": "x", "_MACOSX.md": "x"}
    path = packed(tmp_path / "mac.zip", names)
    header = re.compile(b"(PK\x03\x04..|PK\x01\x02....)\x00\x08", re.DOTALL)
    silent = header.sub(lambda found: found[1] + b"\x00\x00", path.read_bytes())
    path.write_bytes(silent)  # the names are UTF-8, and nothing says so
    entries = zipfile.ZipFile(path).infolist()
    assert [bool(entry.flag_bits & 0x800) for entry in entries] == [False] * 4
    drafts = {draft.key: draft for draft in read(path)}
    assert sorted(drafts) == ["_MACOSX", "Öl/Ruß", "Öl/Zug"]
    assert [link.target for link in drafts["Öl/Ruß"].links] == ["Öl/Zug"]


def test_backslashes_separate_folders(tmp_path: Path) -> None:
    names = {
        "V\\A\\One.md": "[[A/Two]]",
        "V\\A\\Two.md": "x",
        "V\\.obsidian\\c.md": "x",
        "V\\B\\": "",
        "V\\Top.md": "x",
    }
    one, two, _ = read(packed(tmp_path / "windows.zip", names))
    assert (one.key, two.key, one.links[0].target) == ("A/One", "A/Two", "A/Two")
    with pytest.raises(InvalidInput, match="leads out of the archive"):
        read(packed(tmp_path / "out.zip", {"..\\a.md": "x"}))
    chats = {
        "export\\conversations.json": CONTENTS["chats"]["conversations.json"],
        "export\\users.json": "[]",
    }
    drafts = [item for item in read(packed(tmp_path / "chats.zip", chats)) if isinstance(item, Draft)]
    assert [draft.body for draft in drafts] == ["hello"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_at_fault_costs_one_note(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name in ("n" * 300 + ".md", "twice.md", "a.md", "a.md/b.md", "twice.md"):
            made.writestr(name, f"Text of {name[-5:]}, {len(made.infolist())}.")
    items = read(path)
    problems = [item for item in items if isinstance(item, Problem)]
    assert [(problem.where[:5], problem.reason) for problem in problems] == [
        ("twice", "The archive contains it several times; the last one is read."),
        ("nnnnn", "It cannot be unpacked: File name too long."),
        ("a.md/", "It cannot be unpacked: File exists."),
    ]
    assert [draft.body for draft in items if isinstance(draft, Draft)] == [
        "Text of a.md, 2.", "Text of ce.md, 4.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("held", "words"), [({"a.png": "x", "b/c.TXT": "x"}, r"only \.png, \.txt"), ({}, "empty")]
)
def test_an_archive_of_something_else_is_called_so(tmp_path: Path, held: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"no notes, no chats and no bank of Hindsight: it .*{words}"):
        known_kind(packed(tmp_path / "a.zip", held))


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
CONTENTS: dict[str, dict[str, str]] = {
    "notes": {f"v/n{number}.md": f"# Note {number}\n\n" + "See [[n1]]. " * 20 for number in range(3)},
    "hindsight": {
        "manifest.json": '{"schema_version": 1, "source_bank_id": "b"}',
        "observations.json": '[{"text": "They sail.", "sources": [{"document_id": "d", "fact_index": 0}]}]',
        "documents/1.json": '{"id": "d", "facts": [{"text": "Ann sails.", "fact_type": "world"}]}',
    },
    "chats": {
        "conversations.json": '[{"uuid": "u", "name": "n", "chat_messages": [{"uuid": "m", '
        '"sender": "human", "text": "hello", "created_at": "2026-03-03T09:00:00Z"}]}]'
    },
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_with_wrong_bytes_is_read_or_refused(content: str, method: str, tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w", METHODS[method]) as made:
        for name, text in CONTENTS[content].items():
            made.writestr(name, text)
    whole = path.read_bytes()
    dice = random.Random(content + method)
    for _ in range(100 * SCALE):
        damaged = bytearray(whole)
        for _ in range(dice.randint(1, 5)):
            place = dice.randrange(len(damaged))
            damaged[place : place + dice.choice((1, 1, 4))] = dice.randbytes(dice.choice((0, 1, 1, 4)))
        path.write_bytes(damaged)
        with suppress(InvalidInput):
            require_unpacked(path, 1_000_000)
            read(path)


@pytest.mark.parametrize("nested", [True, False])
def test_a_full_disk_ends_the_import_with_its_reason(nested: bool, tmp_path: Path) -> None:
    """A limit of file sizes stands for the disk: both fail where a file is written."""
    note = {"a.md": random.Random(3).randbytes(200_000).hex()}
    path = packed(tmp_path / "a.zip", note)
    if nested:
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as made:
            made.write(path, "a.zip")
            made.write(packed(tmp_path / "b.zip", {"b.md": "B."}), "b.zip")
        path = tmp_path / "all.zip"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"\.zip cannot be unpacked: File too large\..*Make room in"):
            read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["a.zip", "a.md"])
def test_what_is_damaged_in_an_archive_costs_only_itself(name: str, tmp_path: Path) -> None:
    """The error of bzip2 is the one that a disk raises, but has no number."""
    inner = packed(tmp_path / "b.zip", {"b.md": "B."}) if name == "a.zip" else tmp_path / "b.md"
    if name == "a.md":
        inner.write_text("B.")
    with zipfile.ZipFile(path := tmp_path / "all.zip", "w") as made:
        made.writestr(name, "A." * 99, zipfile.ZIP_BZIP2)
        made.write(inner, inner.name)
    path.write_bytes(path.read_bytes().replace(b"1AY&SY", b"1AY&SX", 1))  # where its bytes begin
    problem, draft = read(path)
    assert (problem.where, draft.body) == (name, "B.")
    assert problem.reason.endswith(": Invalid data stream.")


def packed_silently(path: Path, encoding: str, notes: dict[str, str]) -> Path:
    """An archive whose names are in an encoding that nothing names."""
    stand_in = {name: bytes(name.encode(encoding)).decode("latin-1") for name in notes}
    with zipfile.ZipFile(path, "w") as made:
        for name, text in notes.items():
            entry = zipfile.ZipInfo("x" * len(stand_in[name]), (2026, 3, 3, 9, 0, 0))
            made.writestr(entry, text)
    whole = path.read_bytes()
    for name in stand_in.values():
        whole = whole.replace(b"x" * len(name), name.encode("latin-1"), 1)
    where = whole.index(b"PK\x01\x02")
    directory = whole[where:]
    for name in stand_in.values():
        directory = directory.replace(b"x" * len(name), name.encode("latin-1"), 1)
    path.write_bytes(whole[:where] + directory)
    return path


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("cp932", {"ソフト表.md": "水門は閉まっている。", "会議の記録.md": "[[ソフト表]]"}),
        ("gbk", {"会议记录.md": "水闸已经关闭。", "计划.md": "见 [[会议记录]]。"}),
        ("big5", {"會議記錄.md": "水閘已經關閉。", "計劃.md": "見 [[會議記錄]]。"}),
        ("cp949", {"회의록.md": "수문이 닫혀 있다.", "계획.md": "[[회의록]]"}),
        ("cp866", {"Шлюз и план.md": "Шлюз закрыт.", "План.md": "[[Шлюз и план]]"}),
        ("cp1251", {"Шлюз и план.md": "Шлюз закрыт.", "План.md": "[[Шлюз и план]]"}),
        ("cp850", {"São João.md": "Não há eclusa em São João.", "Só.md": "[[São João]], só."}),
        ("cp852", {"Žluťoučký kůň.md": "Kůň je žluťoučký.", "Můstek.md": "[[Žluťoučký kůň]]"}),
    ],
)
def test_names_are_in_the_letters_of_the_texts(tmp_path: Path, encoding: str, notes: dict[str, str]) -> None:
    notice, *drafts = read(packed_silently(tmp_path / "v.zip", encoding, notes))
    assert (notice.what, notice.count) == (
        f"names in the archive that are not UTF-8, read as {encoding.upper()}", 2
    )  # fmt: skip
    assert {f"{draft.key}.md" for draft in drafts} == notes.keys()
    [target] = [link.target for draft in drafts for link in draft.links]
    assert f"{target}.md" in notes


def test_names_that_no_text_explains_are_told(tmp_path: Path) -> None:
    notice, draft = read(packed_silently(tmp_path / "v.zip", "cp932", {"水門の鍵.md": "The key."}))
    assert notice.what.endswith("read as the letters of DOS or Windows")
    assert draft.key.encode("cp437").decode("cp932") == "水門の鍵"


def test_a_name_that_is_given_in_utf_8_too(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as made:
        entry = zipfile.ZipInfo("__.md")
        name = "水門.md".encode()
        entry.extra = b"up" + (len(name) + 5).to_bytes(2, "little") + b"\1" + bytes(4) + name
        made.writestr(entry, "Closed.")
    [draft] = read(path)
    assert draft.key == "水門"
