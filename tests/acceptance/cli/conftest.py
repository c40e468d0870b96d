"""An editor for the tests of its hooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli.editor_tools import Editor, editor, stop


@pytest.fixture
def claude(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Iterator[Editor]:
    """Claude Code with recall, and what else ``CONNECTED`` of the module says."""
    made = editor("claude", tmp_path, database_url, *getattr(request.module, "CONNECTED", ()))
    yield made
    stop(made)
