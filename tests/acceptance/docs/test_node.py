"""Another language: the SQL functions from Node, as the how-to shows them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.waiting import PATIENCE

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "howto" / "clients.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    """The only block of a kind under *Node*."""
    section = PAGE.partition("\n### Node")[2].partition("\n## ")[0]
    [found] = re.findall(rf"^```{kind}\n(.*?)^```", section, re.S | re.M)
    return str(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the page's command was typed."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("NOT TESTED from Node: node or npm is not on this machine")
    [command] = re.findall(r"^\$ npm (.*)$", block("console"), re.M)
    quick = ("--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error")
    asked = [npm, *command.split(), *quick]
    try:
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("NOT TESTED from Node: npm reaches no registry from here")
    if done.returncode != 0:
        pytest.skip(f"NOT TESTED from Node: npm cannot install pg here: {done.stderr.strip()[-300:]}")
    return tmp_path


def test_the_page_does_what_it_says(folder: Path, database_url: str) -> None:
    (folder / "memory.mjs").write_text(block("js"))
    parts = conninfo_to_dict(database_url)
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "dbname"}
    where = {variable: str(parts[name]) for variable, name in names.items() if name in parts}
    done = subprocess.run(
        ["node", "memory.mjs"],
        cwd=folder,
        env=os.environ | where,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == block("text")
