"""Files of other programs in forms that few write; for each, what the owner of the file would expect."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pgrecall import InvalidInput
from pgrecall.importers.bounds import require_unpacked
from pgrecall.importers.dates import day_in_name, parse_time
from pgrecall.importers.detect import count_items, known_kind, open_source
from pgrecall.importers.markdown.joplin import OTHER_ITEMS
from pgrecall.importers.markdown.notes import OLD_COPIES
from pgrecall.importers.markdown.reader import read_markdown
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

TOML = """+++
title = "Gate keys"
date = 2026-05-01T10:00:00Z
tags = ["lock", "gate"]
[extra]
weight = 1
+++
The key hangs in the shed.
"""
JSON = """{
\t"title": "Gate keys 😀",
\t"date": "2026-05-01",
\t"extra": {
\t\t"weight": 1
\t}
}

The key hangs in the shed.
"""


def read(folder: Path, files: dict[str, str]) -> tuple[dict[str, Draft], list[Problem | Skipped]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = list(read_markdown(folder, source="test"))
    drafts = {item.key or "": item for item in found if isinstance(item, Draft)}
    return drafts, [item for item in found if not isinstance(item, Draft)]


def test_front_matter_in_toml_and_json(tmp_path: Path) -> None:
    drafts, others = read(
        tmp_path, {"toml.md": TOML, "json.md": JSON, "windows.md": TOML.replace("\n", "\r\n")}
    )
    assert others == []
    for name in ("toml", "windows"):
        draft = drafts[name]
        assert (draft.title, draft.tags, draft.body) == (
            "Gate keys", ("lock", "gate"), "The key hangs in the shed.",
        )  # fmt: skip
        assert draft.occurred_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
        assert draft.metadata == {"extra": {"weight": 1}}
    draft = drafts["json"]
    assert (draft.title, draft.body) == ("Gate keys 😀", "The key hangs in the shed.")
    assert draft.occurred_at == datetime(2026, 5, 1, tzinfo=UTC)
    assert draft.metadata == {"extra": {"weight": 1}}


@pytest.mark.parametrize(
    "text",
    [
        '{\n"a": 1\n}',  # a note about JSON, which is all it says
        "{\n  not JSON\n}\nText.",
        "{\n" + "[" * 100_000 + "\n}\nText.",
        "+++\nText that never closes.",
        "{{{\nText.",
    ],
)
def test_a_note_that_only_looks_like_it_is_text(tmp_path: Path, text: str) -> None:
    drafts, others = read(tmp_path, {"a.md": text})
    assert others == []
    assert drafts["a"].body.startswith(text[0])


@pytest.mark.parametrize("block", ['title = "open', "a = " + "[" * 100_000])
def test_toml_that_cannot_be_read_is_reported_and_kept(tmp_path: Path, block: str) -> None:
    drafts, others = read(tmp_path, {"a.md": f"+++\n{block}\n+++\nThe text."})
    [problem] = others
    assert isinstance(problem, Problem)
    assert "Front matter" in problem.reason
    assert (drafts["a"].body, drafts["a"].metadata) == ("The text.", {"front_matter": block})


@pytest.mark.parametrize(
    "text", ["2026-05-01_10-15", "2026-05-01T10-15", "2026-05-01-10-15", "20260501T10-15", "2026-05-01 10-02"]
)
def test_minutes_are_no_zone(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "hour"), [("2026-05-01 10:15:00 +02", 8), ("2026-05-01T10:15-0200", 12), ("2026-5-1t10:15Z", 10)]
)
def test_zones_are_read(text: str, hour: int) -> None:
    assert parse_time(text) == datetime(2026, 5, 1, hour, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    [
        "202605041200 Gate",
        "20260504120030",
        "202605041200-gate",
        "May 4th, 2026",
        "4 May 2026",
        "Monday, May 4, 2026",
        "2026年5月4日",
        "2026_05_04",
        "20260504T120030--gate__lock",
        "2026-05-04T12-00",
    ],
)
def test_names_that_give_a_day(name: str) -> None:
    assert day_in_name(name) == datetime(2026, 5, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "name", ["209905", "200000000000 x", "May 44th, 2026", "Gate 4th, 2026", "2026050412 x", "2026年の鍵"]
)
def test_names_that_give_none(name: str) -> None:
    assert day_in_name(name) is None


def test_a_daily_note_is_called_as_its_file(tmp_path: Path) -> None:
    drafts, _ = read(tmp_path, {"2026-05-01.md": "A.", "2026-05-02 Tool-Shop.md": "B.", "tool-shop.md": "C."})
    assert [draft.title for draft in drafts.values()] == ["2026-05-01", "2026-05-02 Tool-Shop", "tool shop"]


def test_the_copies_of_logseq_are_no_notes(tmp_path: Path) -> None:
    drafts, others = read(
        tmp_path, {"pages/Gate.md": "New.", "logseq/bak/pages/Gate.md": "Old.", "bak/Gate.md": "Mine."}
    )
    assert sorted(drafts) == ["bak/Gate", "pages/Gate"]
    assert [(item.what, item.count) for item in others if isinstance(item, Skipped)] == [(OLD_COPIES, 1)]


def packed(files: dict[str, str | bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_an_export_of_notion_is_read_in_its_parts(tmp_path: Path) -> None:
    page = f"Home {NOTE}"
    parts: dict[str, str | bytes] = {
        "ExportBlock-1a2b-Part-1.zip": packed({
            f"{page}.md": f"# Home\n\n[Sub](Home%20{NOTE}/Sub%20{OTHER}.md)", "index.html": "x",
        }),
        "ExportBlock-1a2b-Part-2.zip": packed({f"{page}/Sub {OTHER}.md": "# Sub\n\nBrass."}),
    }  # fmt: skip
    (tmp_path / "notion.zip").write_bytes(packed(parts))
    items = list(open_source(tmp_path / "notion.zip"))
    drafts = {item.title: item for item in items if isinstance(item, Draft)}
    assert [link.target for link in drafts["Home"].links] == [drafts["Sub"].key]
    assert [(item.what, item.places) for item in items if isinstance(item, Skipped)] == [
        ("texts that do not end in .md, passed over", ("index.html",))
    ]
    assert count_items(tmp_path / "notion.zip") is None, "not known before it is unpacked"


def test_the_parts_of_an_export_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = packed({"Home.md": "# Home\n\nBrass."})
    (tmp_path / "notion.zip").write_bytes(packed({"ExportBlock-1a2b-Part-1.zip": inner}))
    opened: list[str] = []
    reading = zipfile.ZipFile.open

    def noted(archive: zipfile.ZipFile, name: zipfile.ZipInfo, *rest: Any, **others: Any) -> Any:
        opened.append(name.filename)
        return reading(archive, name, *rest, **others)

    monkeypatch.setattr(zipfile.ZipFile, "open", noted)
    path = tmp_path / "notion.zip"
    kind = known_kind(path)
    count_items(path, kind)
    assert len([item for item in open_source(path, kind=kind) if isinstance(item, Draft)]) == 1
    assert opened.count("ExportBlock-1a2b-Part-1.zip") == 1


def test_a_part_of_an_export_that_is_damaged_or_has_the_same_note(tmp_path: Path) -> None:
    parts: dict[str, str | bytes] = {
        "1.zip": packed({"Gate.md": "Brass.", "Key.md": "Hung."}), "2.zip": b"PK",
        "3.zip": packed({"Gate.md": "Iron."}),
    }  # fmt: skip
    (tmp_path / "notion.zip").write_bytes(packed(parts))
    items = list(open_source(tmp_path / "notion.zip"))
    assert [item.body for item in items if isinstance(item, Draft)] == ["Iron.", "Hung."]
    assert [(item.where, item.reason) for item in items if isinstance(item, Problem)] == [
        ("2.zip", "It cannot be read: File is not a zip file."),
        ("Gate.md", "The archive contains it several times; the last one is read."),
    ]


def test_what_archives_in_an_archive_hold_counts_for_a_service(tmp_path: Path) -> None:
    inner = packed({f"{number}.md": " " * 900_000 for number in range(3)})
    (tmp_path / "notion.zip").write_bytes(packed({"Part-1.zip": inner}))
    with pytest.raises(InvalidInput, match="unpacks to more than 2,000,000 bytes"):
        require_unpacked(tmp_path / "notion.zip", 200_000)


@pytest.mark.parametrize("name", ["notes.bear2bk", "note.textpack"])
def test_an_archive_of_bear(name: str, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"Gate.textbundle/{one}": "Brass." for one in ("text.md", "info.json")}
    (tmp_path / name).write_bytes(packed(files))
    [draft] = [item for item in open_source(tmp_path / name) if isinstance(item, Draft)]
    assert draft.body == "Brass."


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        (b"PK", "only other archives in it"),
        (packed({"a.png": "x"}), "only other archives in it"),
        (b"PK" + b"\0" * 20_000_000, "other archives in it"),
        (packed({"../../a.md": "x"}), "leads out of the archive"),
    ],
)
def test_an_archive_of_archives_that_cannot_be_read(inner: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "notion.zip").write_bytes(packed({"ExportBlock-1a2b-Part-1.zip": inner}))
    with pytest.raises(InvalidInput, match=words) as refused:
        list(open_source(tmp_path / "notion.zip"))
    assert "ack" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a.org", "as Markdown"), ("a.RST", "as Markdown"), ("a.docx", "as Markdown"), ("a.zip", "by its own")],
)
def test_a_folder_of_other_files_is_called_what_it_is(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("* Gate")
    with pytest.raises(InvalidInput, match=rf"it has only \{name[1:].lower()}\.") as refused:
        known_kind(tmp_path)
    assert hint in refused.value.hint


NOTE, OTHER, BOOK, TAG, TAGGED = (f"{number:032x}" for number in range(1, 6))
JOPLIN = {
    NOTE: f"Gate keys\n\nThe key hangs, see [it](:/{OTHER}).\n\nid: {NOTE}\nparent_id: {BOOK}\n"
    "created_time: 2026-05-02T10:00:00.000Z\nuser_created_time: 2026-05-01T10:00:00.000Z\nauthor: Ann\n"
    "source_url: https://example.org\nlatitude: 0.00000000\ntype_: 1",
    OTHER: f"Shed\n\nOpen.\n\nid: {OTHER}\nparent_id: \nencryption_applied: 1\ntype_: 1",
    BOOK: f"House\n\nid: {BOOK}\nparent_id: \ntype_: 2",
    TAG: f"lock\n\nid: {TAG}\ntype_: 5",
    TAGGED: f"id: {TAGGED}\nnote_id: {NOTE}\ntag_id: {TAG}\ntype_: 6",
}


def test_the_raw_export_of_joplin(tmp_path: Path) -> None:
    drafts, others = read(tmp_path, {f"{name}.md": text for name, text in JOPLIN.items()})
    [draft] = drafts.values()
    assert (draft.key, draft.title, draft.body) == (NOTE, "Gate keys", "The key hangs, see it.")
    assert (draft.tags, draft.author, draft.occurred_at) == (
        ("lock",), "Ann", datetime(2026, 5, 1, 10, tzinfo=UTC),
    )  # fmt: skip
    assert draft.metadata == {"source_url": "https://example.org", "notebook": "House"}
    assert [link.target for link in draft.links] == [OTHER]
    assert [item.what for item in others if isinstance(item, Skipped)] == [OTHER_ITEMS] * 3
    [problem] = [item for item in others if isinstance(item, Problem)]
    assert "is encrypted" in problem.reason


def test_a_note_that_ends_in_fields_is_a_note(tmp_path: Path) -> None:
    drafts, others = read(tmp_path, {f"{NOTE}.md": f"Gate\n\nid: {OTHER}\ntype_: 5", "b.md": JOPLIN[TAG]})
    assert others == []
    assert [draft.body.splitlines()[0] for draft in drafts.values()] == ["Gate", "lock"]


@pytest.mark.parametrize(
    ("packed", "name"),
    [(b"f\xfcrs", "fürs"), (b"f\x81rs", "fürs"), (b"Stra\xe1e", "Straße"), (b"caf\xc3\xa9", "café")],
)
def test_names_of_entries_in_the_letters_of_windows_or_dos(packed: bytes, name: str, tmp_path: Path) -> None:
    plain = "x" * len(packed)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(f"{plain}.md", "Noon.")
    data = (tmp_path / "a.zip").read_bytes().replace(plain.encode(), packed)
    (tmp_path / "a.zip").write_bytes(data)
    *assumed, draft = open_source(tmp_path / "a.zip")
    told = [item.what for item in assumed if isinstance(item, Skipped)]
    assert len(told) == len(assumed) == (packed != name.encode())
    assert all("read as the letters of DOS or Windows" in words for words in told)
    assert isinstance(draft, Draft)
    assert draft.title == name
