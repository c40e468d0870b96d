"""Cells by the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.cli.command_tools import Command, run_command
from tests.given_server import Server
from tests.integration.cells.conftest import Installation, installed


@pytest.fixture
def given(server: Server, template: str) -> Iterator[Installation]:
    with installed(server, template, 2) as made:
        yield made
