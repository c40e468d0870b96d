"""Notes that a vault's own settings name as templates are passed over; names in full width are found."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from pgrecall.importers.detect import open_source
from pgrecall.importers.markdown.notes import TEMPLATES
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import Draft

NOTES = ("Home.md", "Templates/Meeting.md", "Templates/inner/Day.md", "Templates2/Real.md", "Daily/Form.md")


def vault(folder: Path, settings: dict[str, object], notes: tuple[str, ...] = NOTES) -> Path:
    for name in notes:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"The text of {name}.")
    for name, value in settings.items():
        path = folder / ".obsidian" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def read(path: Path) -> tuple[set[str | None], int]:
    items = list(open_source(path))
    passed = [item for item in items if isinstance(item, Skipped) and item.what == TEMPLATES]
    return {item.key for item in items if isinstance(item, Draft)}, sum(item.count for item in passed)


ALL = {"Home", "Templates/Meeting", "Templates/inner/Day", "Templates2/Real", "Daily/Form"}
REAL = {"Home", "Templates2/Real", "Daily/Form"}


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, ALL),
        ({"templates.json": {"folder": "Templates"}}, REAL),
        ({"templates.json": {"folder": "/Templates/"}}, REAL),
        ({"templates.json": {"folder": "Ｔｅｍｐｌａｔｅｓ"}}, REAL),
        ({"plugins/templater-obsidian/data.json": {"templates_folder": "Templates"}}, REAL),
        ({"daily-notes.json": {"template": "Daily/Form"}}, ALL - {"Daily/Form"}),
        ({"daily-notes.json": {"template": "Daily/Form.md"}}, ALL - {"Daily/Form"}),
        ({"templates.json": {"folder": "Templates"}, "core-plugins.json": {"templates": True}}, REAL),
        ({"templates.json": {"folder": "Templates"}, "core-plugins.json": ["templates", "graph"]}, REAL),
        ({"templates.json": {"folder": "Templates"}, "core-plugins.json": {"templates": False}}, ALL),
        ({"templates.json": {"folder": "/"}}, ALL),
        ({"templates.json": {"folder": ""}}, ALL),
        ({"templates.json": {"folder": ["Templates"]}}, ALL),
        ({"templates.json": "{damaged"}, ALL),
        ({"templates.json": [1]}, ALL),
    ],
)
def test_what_a_vault_names_as_templates(tmp_path: Path, settings: dict[str, object], kept: set[str]) -> None:
    assert read(vault(tmp_path, settings)) == (kept, len(ALL - kept))


def test_a_packed_vault(tmp_path: Path) -> None:
    folder = vault(tmp_path / "My Vault", {"templates.json": {"folder": "Templates"}})
    for top in (folder.parent, folder):
        packed = tmp_path / f"{top.name}.zip"
        with ZipFile(packed, "w") as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(top))
        assert read(packed) == (REAL, 2), top


def test_a_link_to_a_template_waits(tmp_path: Path) -> None:
    folder = vault(tmp_path, {"templates.json": {"folder": "Templates"}}, ("Templates/Meeting.md",))
    (folder / "Home.md").write_text("See [[Meeting]].")
    [home] = [item for item in open_source(folder) if isinstance(item, Draft)]
    assert [link.target for link in home.links] == ["Meeting"]


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("ＡＢＣ", "[[ABC]]"), ("ABC", "[[ＡＢＣ]]"), ("カタカナ", "[[ｶﾀｶﾅ]]"), ("ｶﾀｶﾅ", "[[カタカナ]]"),
        ("№ 5", "[[No 5]]"), ("folder/ＡＢＣ", "[[folder/abc]]"), ("ABC", "[x](ＡＢＣ.md)"),
    ],
)  # fmt: skip
def test_names_in_full_width(tmp_path: Path, name: str, link: str) -> None:
    vault(tmp_path, {}, (f"{name}.md",))
    (tmp_path / "Home.md").write_text(f"See {link}.")
    drafts = {item.key: item for item in open_source(tmp_path) if isinstance(item, Draft)}
    assert [found.target for found in drafts["Home"].links] == [name]


@pytest.mark.parametrize("link", ["ABC", "ＡＢＣ"])
def test_the_name_as_typed_goes_first(tmp_path: Path, link: str) -> None:
    vault(tmp_path, {}, ("ABC.md", "ＡＢＣ.md"))
    (tmp_path / "Home.md").write_text(f"See [[{link}]].")
    drafts = {item.key: item for item in open_source(tmp_path) if isinstance(item, Draft)}
    assert [found.target for found in drafts["Home"].links] == [link]


@pytest.mark.parametrize(
    ("link", "part"), [("C#", "c"), ("C", "c-2"), ("Rust#C#", "c"), ("#", ""), ("Rust#", "rust")]
)
def test_a_heading_that_ends_in_a_sign(tmp_path: Path, link: str, part: str) -> None:
    long = "Rope is tarred and coiled. " * 60
    (tmp_path / "note.md").write_text("\n\n".join(f"## {name}\n\n{long}" for name in ("C#", "C", "Rust")))
    (tmp_path / "home.md").write_text(f"See [[note#{link}]].")
    drafts = {item.key: item for item in open_source(tmp_path) if isinstance(item, Draft)}
    assert [found.target for found in drafts["home"].links] == [f"note#{part}" if part else "note"]


def test_a_heading_in_full_width(tmp_path: Path) -> None:
    long = "Rope is tarred and coiled. " * 60
    (tmp_path / "note.md").write_text(f"# Note\n\n## ＡＢＣ ｶﾅ\n\n{long}\n\n## Other\n\n{long}")
    (tmp_path / "home.md").write_text("See [[note#ABC カナ]].")
    drafts = {item.key: item for item in open_source(tmp_path) if isinstance(item, Draft)}
    [target] = [link.target for link in drafts["home"].links]
    assert target.startswith("note#")


@pytest.mark.parametrize(
    ("note", "is_template"),
    [
        ("---\ncreated: <% tp.date.now() %>\n---\n\n", True),
        ("# {{title}}\n\n", True),
        ("---\ncreated: <% tp.date.now() %>\n---\n\n" + "The gate is closed. " * 100, False),
        ("# {{title}}\n\n" + "The gate is closed. " * 100, False),
        ("---\ntitle: '{{title}}'\ncreated: '{{date}}'\n---\n\n" + "Fill in the gate. " * 60, True),
    ],
)
def test_a_forgotten_placeholder_makes_no_template(tmp_path: Path, note: str, is_template: bool) -> None:
    (tmp_path / "Gate.md").write_text(f"{note}Its key.")
    drafts, passed = read(tmp_path)
    assert (not drafts, passed) == (is_template, int(is_template))
    titles = {item.title for item in open_source(tmp_path) if isinstance(item, Draft)}
    assert is_template or "Gate" in titles
