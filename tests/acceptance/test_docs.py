"""What the documentation shows, runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sql")], ids=lambda p: p.name)
def test_sql_runs(page: Path, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        for block in blocks(page, "sql"):
            connection.execute(block.encode())


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_runs(page: Path, database_url: str) -> None:
    environment = os.environ | {
        "PGRECALL_DATABASE_URL": database_url,
        "PGRECALL_EMBEDDER": "hash",
        "PGRECALL_EMBEDDER_DIMENSIONS": "64",
    }
    for block in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", block],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_settings_are_documented() -> None:
    from pgrecall.settings import Settings

    page = (ROOT / "docs" / "howto" / "existing-postgres.md").read_text(encoding="utf-8")
    stems = re.findall(r"`(?:PGRECALL)?_?([A-Z_]+)`", page)
    for name in Settings.model_fields:
        assert any(name.upper().endswith(stem) for stem in stems), (
            f"PGRECALL_{name.upper()} is not documented"
        )
