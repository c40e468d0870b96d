"""The reference: its pages are what the sources say, and leave nothing unsaid."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import psycopg

import pgrecall
from pgrecall.settings import Settings
from scripts import sql_declarations
from scripts.figures import FIGURES
from scripts.figures import TARGET as FIGURES_AT
from scripts.reference import cli_page, http_page
from scripts.reference.pages import pages, stale
from scripts.sql_declarations import declared, parts
from tests.acceptance.docs.doc_blocks import PAGES

NOUNS = Path(pgrecall.__file__).parent / "nouns"


def test_the_pages_are_up_to_date(database_url: str) -> None:
    found = pages(database_url)
    assert not [*stale(found), *sql_declarations.stale()], "run python -m scripts.reference"
    assert all(text.count("\n## ") >= 2 for text in found.values())


def test_public_functions_and_pages_are_documented() -> None:
    called = {
        name for file in NOUNS.rglob("[a-z]*.py") for name in re.findall(r"recall\.(\w+)\(", file.read_text())
    }
    assert len(called) > 50
    callable_ones = {one.name for one in declared()}
    assert called <= callable_ones
    shown = {
        name
        for page in PAGES
        if page.parent.name == "howto"
        for name in re.findall(r"\brecall\.(\w+)\(", page.read_text(encoding="utf-8"))
    }
    assert shown <= callable_ones
    assert len(callable_ones) == len(declared())


def test_a_public_function_is_explained_and_takes_no_tenant(database_url: str) -> None:
    assert not [one.name for one in declared() if len(one.about) < 20]
    public = [name for names in parts().values() for name in names]
    with psycopg.connect(database_url) as connection:
        asked = """SELECT proname FROM pg_proc WHERE pronamespace = 'recall'::regnamespace
                   AND proname = ANY(%s) AND 'p_tenant' = ANY(proargnames)"""
        assert connection.execute(asked, (public,)).fetchall() == []


def test_every_option_and_variable_is_explained() -> None:
    assert not [field.name for field in fields(Settings) if not field.metadata["about"]]
    empty = re.findall(r"^\| `.*\|\s*\|$", cli_page.cli_page(), re.M)
    assert not empty


def test_every_field_of_a_request_is_explained() -> None:
    shapes = http_page.document()["components"]["schemas"]
    asked = {name: shape for name, shape in shapes.items() if shape.get("additionalProperties") is False}
    assert len(asked) > 10
    for name, shape in asked.items():
        assert not [field for field, told in shape["properties"].items() if not told.get("description")], name


def test_the_figures_are_what_the_mathematics_draws() -> None:
    for name, draw in FIGURES.items():
        file = FIGURES_AT / name
        assert file.read_text() == draw(), "run python -m scripts.figures"
        assert file.stat().st_size < 60_000
