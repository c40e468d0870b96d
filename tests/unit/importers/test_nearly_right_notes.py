"""Notes as people and programs write them, nearly right; for each, what its owner would expect."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pgrecall.importers.detect import open_source
from pgrecall.importers.markdown.front_matter import MENDED
from pgrecall.importers.markdown.mending import MAX_ROWS
from pgrecall.importers.markdown.notes import DRAWINGS
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"


def read(folder: Path, files: dict[str, str]) -> tuple[dict[str, Draft], list[Problem], list[Skipped]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    items = list(open_source(folder))
    return (
        {item.key or "": item for item in items if isinstance(item, Draft)},
        [item for item in items if isinstance(item, Problem)],
        [item for item in items if isinstance(item, Skipped)],
    )


@pytest.mark.parametrize(
    ("block", "fields", "line"),
    [
        ("title: Gate: the key\ntags: [lock]", {"title": "Gate: the key", "tags": ("lock",)}, 2),
        ("tags: [lock]\ntitle: - hello", {"title": "- hello", "tags": ("lock",)}, 3),
        ("title: @ann on keys\nauthor: Ann", {"title": "@ann on keys", "author": "Ann"}, 2),
        ("title: *all* keys", {"title": "*all* keys"}, 2),
        ("icon: :key:\ntitle: Gate", {"title": "Gate", "metadata": {"icon": ":key:"}}, 2),
        ("a: &x 1\nb: *y", {"metadata": {"a": 1, "b": "*y"}}, 3),
        ('a: "\\ud800"', {"metadata": {"a": "\\ud800"}}, 2),
        ("title: [Draft] The key", {"title": "[Draft] The key"}, 2),
        ("title: 'The key\nauthor: Ann", {"title": "The key", "author": "Ann"}, 2),
        ('title: "A "good" key"\nauthor: Ann', {"title": 'A "good" key', "author": "Ann"}, 2),
        ("tags:\n\t- lock\n\t- gate", {"tags": ("lock", "gate")}, 3),
        (
            'source: "C:\\Users\\ann"\ntitle: Key',
            {"title": "Key", "metadata": {"source": "C:\\Users\\ann"}},
            2,
        ),
        ("aliases: [, Brass]", {"aliases": ("Brass",)}, 2),
        ("tags: [[Lock]], [[Gate]]", {"tags": ("Lock", "Gate")}, 2),
        (
            "a: 1\nby:[[Ann]], [[Bo Li]]",
            {
                "metadata": {"a": 1, "by": "[[Ann]], [[Bo Li]]"},
                "links": (DraftLink("Ann"), DraftLink("Bo Li")),
            },
            3,
        ),
        ("pinned: true\ntitle: \x7fThe\x07key", {"title": "The key", "pinned": True}, 3),
        (
            "text: |\n  Say: it: so\ntitle: A: b",
            {"title": "A: b", "metadata": {"text": "Say: it: so\n"}},
            4,
        ),
    ],
)
def test_front_matter_is_read_as_it_is_meant(
    block: str, fields: dict[str, Any], line: int, tmp_path: Path
) -> None:
    drafts, problems, [notice] = read(
        tmp_path, {"note.md": f"---\n{block}\n---\nBrass.", "other.md": "Iron."}
    )
    assert (drafts["note"].body, drafts["other"].body, problems) == ("Brass.", "Iron.", [])
    assert {name: getattr(drafts["note"], name) for name in fields} == fields
    assert (notice.what, notice.places[0].endswith(f"note.md: line {line}")) == (MENDED, True)


@pytest.mark.parametrize(
    "block", ["title: Key\n  bad: [indent\n foo", "- a\n- b", "a: 1\n" * MAX_ROWS + "title: Gate: key"]
)
def test_what_cannot_be_mended_is_reported_and_the_text_stored(block: str, tmp_path: Path) -> None:
    drafts, [problem], _ = read(tmp_path, {"note.md": f"---\n{block}\n---\nBrass."})
    assert drafts["note"].body == "Brass."
    assert problem.reason.startswith("Front matter, line")


@pytest.mark.parametrize(
    "block",
    ["tags: #lock #gate", "tags:\n  - #lock\n  - gate", 'tags: "#lock #gate"', "Tags: '#lock', '#gate'"],
)
def test_tags_with_their_sign(block: str, tmp_path: Path) -> None:
    drafts, problems, _ = read(tmp_path, {"note.md": f"---\n{block}\n---\nBrass."})
    assert (drafts["note"].tags, problems) == (("lock", "gate"), [])


def test_a_comment_stays_one(tmp_path: Path) -> None:
    block = "# about\ntitle: Key # brass\ntags: [lock] #x\nlist:\n  - one # two\n"
    drafts, problems, _ = read(tmp_path, {"note.md": f"---\n{block}---\nBrass."})
    note = drafts["note"]
    assert (note.title, note.tags, note.metadata, problems) == ("Key", ("lock",), {"list": ["one"]}, [])


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("- #[[lock keepers]] and #gate", ("lock keepers", "gate")),
        ("x#[[no]] `#[[no]]` ##[[no]]", ()),
        ("#[[a|b]]\n#[[c]]", ("b", "c")),
        ("#book/L'électricité du futur#", ("book/L'électricité du futur",)),
    ],
)
def test_tags_of_roam_logseq_and_bear(text: str, tags: tuple[str, ...], tmp_path: Path) -> None:
    drafts, _, _ = read(tmp_path, {"note.md": text})
    assert drafts["note"].tags == tags


def test_links_to_blocks_and_numbers(tmp_path: Path) -> None:
    drafts, _, _ = read(
        tmp_path,
        {
            "note.md": "[[Gate^b1]] [[202609301415]] [[20260930141500]]",
            "Gate.md": "x", "202609301415 Winch.md": "x", "20260930141500-pump.md": "x",
        },
    )  # fmt: skip
    assert [link.target for link in drafts["note"].links] == [
        "Gate", "202609301415 Winch", "20260930141500-pump",
    ]  # fmt: skip


def test_a_page_of_notion(tmp_path: Path) -> None:
    page = (
        "# Gate\n\nTags: lock, gate\nCreated time: May 1, 2026 8:12 AM\nStatus: done\n\nBrass.\n\nTags: no\n"
    )
    drafts, problems, _ = read(tmp_path, {f"Gate {HEX}.md": page, f"Winch {HEX}.md": "Iron.", "Own.md": page})
    gate, winch, own = drafts[f"Gate {HEX}"], drafts[f"Winch {HEX}"], drafts["Own"]
    assert problems == []
    assert (gate.title, gate.tags, "Status: done" in gate.body) == ("Gate", ("lock", "gate"), True)
    assert gate.occurred_at is not None
    assert gate.occurred_at.isoformat() == "2026-05-01T08:12:00+00:00"
    assert (winch.title, own.tags) == ("Winch", ())


def test_a_bundle_is_called_as_its_folder(tmp_path: Path) -> None:
    drafts, _, _ = read(
        tmp_path,
        {
            "Gate.textbundle/text.md": "Brass.",
            "Winch.textbundle/text.md": "# Big winch\n[[Gate]]",
            "text.md": "x",
        },
    )
    gate, winch, plain = (drafts[key] for key in ("Gate.textbundle/text", "Winch.textbundle/text", "text"))
    assert (gate.title, winch.title, winch.aliases, plain.title) == ("Gate", "Big winch", ("Winch",), "text")
    assert [link.target for link in winch.links] == ["Gate.textbundle/text"]


@pytest.mark.parametrize(
    "drawing", ["# Drawing\n```json\n[1]\n```", "%%\n# Drawing\n```compressed-json\nN4\n```\n%%"]
)
def test_a_drawing_leaves_its_texts(drawing: str, tmp_path: Path) -> None:
    text = f"---\nexcalidraw-plugin: parsed\n---\n# Text Elements\nBrass ^a\n\n{drawing}\n"
    drafts, problems, [notice] = read(tmp_path, {"a.excalidraw.md": text, "b.md": "# Drawing\n[1]"})
    assert (drafts["a.excalidraw"].body, drafts["b"].body) == ("# Text Elements\nBrass ^a", "# Drawing\n[1]")
    assert (notice.what, problems) == (DRAWINGS, [])


def test_paths_from_the_root_of_a_disk_are_within_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        for name in ("/home/ann/a.md", "C:\\ann\\b.md", "c.md"):
            archive.writestr(name, "x")
    keys = [item.key for item in open_source(tmp_path / "notes.zip") if isinstance(item, Draft)]
    assert keys == ["ann/b", "c", "home/ann/a"]


@pytest.mark.parametrize(
    "block",
    [
        "createdDate: 2026-05-01T10:00:00 UTC\nupdated: 2026-06-01",
        "lastmod: 2026-06-01\npublishDate: 2026-05-01 10:00",
        "Creation Time: 2026-05-01 10:00 GMT\nlast edited: 2026-06-01",
        "pubDatetime: 2026-05-01T10:00:00Z\nmodDatetime: 2026-06-01",
        "last_modified_at: 2026-05-01T10:00",
        "publish: true\npublished: false\ntime: noon\nlast: x\ntimestamp: 1777629600.0",
        "published: 2026-07-01\ndate: 2026-05-01T10:00\ncreated: 2026-06-01",
        "\ufeffcreatedAt: 2026-05-01T10:00",
    ],
)
def test_the_time_of_a_note_in_the_words_of_its_program(block: str, tmp_path: Path) -> None:
    mark = "\ufeff\ufeff" if block[0] == "\ufeff" else ""
    drafts, problems, notices = read(tmp_path, {"note.md": f"{mark}---\n{block.strip(mark)}\n---\nBrass."})
    assert (problems, notices) == ([], [])
    assert str(drafts["note"].occurred_at) == "2026-05-01 10:00:00+00:00"


@pytest.mark.parametrize(
    "value",
    [
        "Friday, May 1st 2026, 10:00:00 am", "May 1, 2026 10:00", "2026-05-01 10:00 AM",
        "Fri, 01 May 2026 03:00:00 PDT",
    ],
)  # fmt: skip
def test_a_date_in_words_dates_the_note_and_stays_as_written(value: str, tmp_path: Path) -> None:
    drafts, problems, notices = read(tmp_path, {"note.md": f"---\ncreated: {value}\n---\nBrass."})
    assert str(drafts["note"].occurred_at) == "2026-05-01 10:00:00+00:00"
    assert drafts["note"].metadata == {"created": value}
    assert (problems, [one.what for one in notices]) == (
        [],
        ["values of 'created' that do not fit, kept as metadata"],
    )


def test_spaces_and_line_breaks_of_a_pasted_text_are_those_of_front_matter(tmp_path: Path) -> None:
    text = "---\ntitle:\u00a0The\u2028key\ndate:\u00a02026-05-01\n---\nBrass."
    drafts, problems, notices = read(tmp_path, {"note.md": text})
    assert (drafts["note"].title, drafts["note"].body) == ("The key", "Brass.")
    assert (str(drafts["note"].occurred_at)[:10], problems, notices) == ("2026-05-01", [], [])


@pytest.mark.parametrize(
    "value", ["2026年5月1日 10:00", "2026년 5월 1일 10:00", "2026.5.1 10:00", "2026-05-01 9:60"]
)
def test_a_date_of_another_country(value: str, tmp_path: Path) -> None:
    drafts, _, notices = read(tmp_path, {"note.md": f"---\ndate: {value}\n---\nBrass."})
    if value.endswith("9:60"):
        assert notices
    else:
        assert (str(drafts["note"].occurred_at), notices) == ("2026-05-01 10:00:00+00:00", [])


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Gate {#gate .big}", "Gate"), ("<a id='x'></a>Gate<br/>", "Gate"), ("Gate[](https://a/#g)", "Gate"),
        ("Gate ^gate-1", "Gate"), ("Vec<String> {x}", "Vec<String> {x}"), ("[](x)", "[](x)"),
    ],
)  # fmt: skip
def test_a_heading_is_named_as_it_is_read(heading: str, title: str, tmp_path: Path) -> None:
    drafts, _, _ = read(tmp_path, {"note.md": f"# {heading}\n\nBrass."})
    assert (drafts["note"].title, drafts["note"].body) == (title, f"# {heading}\n\nBrass.")


def test_a_link_in_a_heading_is_named_by_its_words(tmp_path: Path) -> None:
    text = "# [Gate](https://a.b/c) [x]\n\n" + "".join(
        f"## [{number}.0](https://a.b/{number}) ![l](l.png)\n\n{'Brass. ' * 120}\n\n" for number in (1, 2)
    )
    drafts, _, _ = read(tmp_path, {"note.md": text})
    assert [draft.title for draft in drafts.values()] == ["Gate [x]", "Gate [x] > 1.0", "Gate [x] > 2.0"]


@pytest.mark.parametrize("line", ["created-at:: 1777629600000", "type:: log\nDate:: [[2026-05-01]]T10:00"])
def test_the_time_of_a_page_in_its_properties(line: str, tmp_path: Path) -> None:
    drafts, problems, notices = read(tmp_path, {"note.md": f"{line}\nrating:: high\n\nBrass."})
    assert (problems, notices, drafts["note"].metadata) == ([], [], {})
    assert drafts["note"].body.startswith(line.partition(" ")[0])
    assert str(drafts["note"].occurred_at) == "2026-05-01 10:00:00+00:00"
