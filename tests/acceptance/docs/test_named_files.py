"""The files that the pages for contributors name exist."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.docs.doc_blocks import ROOT

PACKAGE = ROOT / "pgrecall"
PAGES = ("CONTRIBUTING.md", "docs/architecture.md")
FILE = r"[\w./-]+\.(?:py|sql|md|toml|txt|svg|j2)"
FOLDER = r"(?:pgrecall|tests|scripts|docs|client|schema)/[\w./-]+"
NAMED = re.compile(f"`({FILE}|{FOLDER})`")


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    named = set(NAMED.findall((ROOT / page).read_text(encoding="utf-8")))
    assert len(named) > 15
    assert not sorted(name for name in named if not ((ROOT / name).exists() or (PACKAGE / name).exists()))


def test_the_packages_are_those_of_the_import_contract() -> None:
    """The table of packages lists every package, and no other."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.split("## Packages")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    listed = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    there = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "lazy_imports", "setting_types"}
    assert listed == there | modules
