"""An import of the page is done when the next one may start."""

from __future__ import annotations

import asyncio
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pgrecall.faces.page.views.imports import Import, _import


def test_an_import_is_done_after_its_files_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its task has ended, another import of the tenant is refused."""
    state = Import("acme", (), datetime.now(UTC))
    deleted: list[tuple[Path, bool]] = []
    remove = shutil.rmtree

    def rmtree(folder: Path, **options: Any) -> None:
        remove(folder, **options)
        deleted.append((folder, state.done))

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    no_client: Any = None  # without files, nothing is stored
    asyncio.run(_import(no_client, state, (), 1))
    [(folder, done)] = deleted
    assert not folder.exists()
    assert not done
    assert state.done
