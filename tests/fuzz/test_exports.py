"""Whatever bytes an export file has: it is imported whole, or refused in a sentence and nothing is stored."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from collections.abc import Callable
from itertools import count

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.fuzz.scale import tried
from tests.fuzz.targets import sentence
from tests.fuzz.values import replaced
from tests.tenant_world import fill_tenant

pytestmark = pytest.mark.fuzz

HELD = "SELECT recall_private.tenant_holdings(%s) IS NOT NULL"
PIECES = (
    b"", b"\n", b"\x00", b"\xff", b'"', b"}", b"{", b"null", b"-1", b"1e400", b"\\ud800", b'"id": 1',
    b'{"memory": {}}\n', b"9" * 40, b"[" * 3000, b"NaN", b"\r\n", "\u2028".encode(), b"\x1f\x8b",
)  # fmt: skip

mutations = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 300), st.one_of(st.sampled_from(PIECES), st.binary(max_size=8))
    ),
    min_size=1,
    max_size=3,
)


def mutated(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """The same with pieces replaced: each where (as a share of the length), how many bytes, and by what."""
    for share, gone, instead in changes:
        data = replaced(data, round(share * len(data)), gone, instead)
    return data


def without_lines(data: bytes, shares: list[float]) -> bytes:
    lines = data.splitlines(keepends=True)
    for share in shares:
        del lines[min(round(share * len(lines)), len(lines) - 1)]
    return b"".join(lines)


@pytest.fixture
def read(database_url: str, outcomes: Counter[str]) -> Callable[[bytes], None]:
    """Imports into a new tenant, and judges what came of it."""
    settings = Settings(database_url=database_url, embedder="hash")
    numbers = count()

    def import_bytes(data: bytes) -> None:
        tenant = f"target-{next(numbers)}"
        with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
            try:
                memory.for_tenant(tenant).export.read(io.BytesIO(data))
            except InvalidInput as refused:
                sentence(refused.message)
                with psycopg.connect(database_url) as connection:
                    assert connection.execute(HELD, (tenant,)).fetchone() == (False,)
                outcomes["export: refused"] += 1
                return
            checks = memory.for_tenant(tenant).maintenance.verify()
            assert [check for check in checks if check.problems] == []
            outcomes["export: imported"] += 1

    return import_bytes


@pytest.fixture
def exported(database_url: str) -> bytes:
    file = io.BytesIO()
    settings = Settings(database_url=database_url, tenant="source", embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        fill_tenant(memory, database_url, seed=9, size=14)
        memory.export.write(file, now=NOW)
    return file.getvalue()


def test_any_change_of_its_bytes(exported: bytes, read: Callable[[bytes], None]) -> None:
    @tried(40)
    @given(mutations, st.lists(st.floats(0, 1), max_size=2))
    def one(changes: list[tuple[float, int, bytes]], dropped: list[float]) -> None:
        read(mutated(without_lines(exported, dropped), changes))

    one()


def test_any_change_of_a_compressed_one(exported: bytes, read: Callable[[bytes], None]) -> None:
    packed = gzip.compress(exported, mtime=0)

    @tried(15)
    @given(mutations)
    def one(changes: list[tuple[float, int, bytes]]) -> None:
        read(mutated(packed, changes))

    one()
