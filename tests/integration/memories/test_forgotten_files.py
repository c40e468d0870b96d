"""What is left in the files of the server after a memory was forgotten for good, and how that is ended too.

The steps are those of docs/howto/forget.md; what they do not reach is said there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import MemoryNotFound
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import runner
from tests.given_server import leave_alone, own_server_only
from tests.integration.memories.privacy_world import KEY, MARK, VECTOR_BYTES, fill
from tests.server_folders import server_folder

STEPS = ("ANALYZE", "VACUUM FULL", "CHECKPOINT")


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    own_server_only("reads the files of its server")
    with server_folder() as folder, EmbeddedServer.start(folder / "data", fast=True) as running:
        leave_alone(running.url)
        yield running


def parts_with_content(folder: Path) -> set[str]:
    """The parts of the data directory with files in which its words or its vector stand."""
    return {part_of(path.relative_to(folder)) for path in files_below(folder) if tells(path)}


def files_below(folder: Path) -> list[Path]:
    """Its files; of folders and files that the server removes meanwhile nothing is left to be told."""
    return [Path(home, name) for home, _, names in os.walk(folder) for name in names]


def tells(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    return MARK.encode() in data.lower() or VECTOR_BYTES in data


def part_of(path: Path) -> str:
    """The folder of a cluster that holds a file: ``base``, ``pg_wal``; of a file beside it the name."""
    return path.parts[1] if len(path.parts) > 1 else path.name


def test_nothing_is_left_in_the_files_after_a_rewrite(own_server: EmbeddedServer) -> None:
    url, folder = own_server.url, own_server.data_dir
    settings = Settings(data_dir=folder, tenant="acme", embedder="hash")
    with (
        Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory,
        psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection,
    ):
        memory.remember("the harbour at night", key="other")
        memory.record_access("other", idempotency_key="theirs")
        fill(memory, runner(connection))
        connection.execute("ANALYZE")
        memory.forget(KEY, hard=True)
        with pytest.raises(MemoryNotFound, match=KEY):
            memory.get(KEY)
        connection.execute("CHECKPOINT")
        assert parts_with_content(folder) == {"base", "pg_wal"}  # and not the server's log

        for step in STEPS:
            connection.execute(step.encode())

        assert parts_with_content(folder) <= {"pg_wal"}
