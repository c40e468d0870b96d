"""Laws of exports: whatever life a tenant has led comes back; whatever a file holds is stored or refused."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import InvalidInput
from pgrecall.database.error_translation import translated
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.conftest import NOW
from tests.databases import new_database
from tests.integration.export.export_tools import client, lines_of, read_in_sql
from tests.scale import SCALE
from tests.tenant_world import all_answers, fill_tenant


@pytest.fixture(scope="module")
def elsewhere(server: EmbeddedServer, template: str) -> Iterator[str]:
    yield from new_database(server, template)


@pytest.mark.parametrize("seed", range(2, 2 + SCALE))
def test_any_life_comes_back(seed: int, shared_url: str, elsewhere: str) -> None:
    tenant = f"life-{seed}"
    with client(shared_url, tenant) as memory, client(elsewhere, tenant) as other:
        fill_tenant(memory, shared_url, seed, size=14)
        lines = lines_of(memory)
        other.export.read(io.BytesIO("\n".join(lines).encode()))
        assert lines_of(other) == lines
    before, after = all_answers(shared_url, tenant), all_answers(elsewhere, tenant)
    assert [name for name in before if before[name] != after[name]] == []


class Documents(list[dict[str, Any]]):
    """The lines of an export; too long for Hypothesis to write out."""

    def __repr__(self) -> str:
        return f"{len(self)} documents"


@pytest.fixture(scope="module")
def documents(shared_url: str) -> Documents:
    with client(shared_url, "source") as memory:
        fill_tenant(memory, shared_url, seed=9, size=14)
        return Documents(json.loads(line) for line in lines_of(memory))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["", "infinity", "-infinity", "NaN", "{}", "[1,2]", "2026-13-01", "0001-01-01 BC", "a" * 3000]
    ),
    st.text(max_size=20),
    st.lists(st.integers(-5, 5), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=20 * SCALE, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.integers(0, 10_000), field=st.integers(0, 10_000), value=ODD)
def test_any_file_is_stored_whole_or_refused(
    line: int,
    field: int,
    value: Any,
    documents: Documents,
    shared_connection: psycopg.Connection[Any],
) -> None:
    """What is stored can be verified and exported again; what is not is refused, in a sentence."""
    changed = copy.deepcopy(list(documents))
    document = changed[line % len(changed)]
    row = document if line % len(changed) == 0 else next(iter(document.values()))
    row[sorted(row)[field % len(row)]] = value
    lines = [json.dumps(each) for each in changed]
    with shared_connection.transaction(force_rollback=True):
        shared_connection.execute("SELECT set_config('recall.tenant', 'target', true)")
        try:
            with shared_connection.transaction():
                read_in_sql(shared_connection, lines)
        except psycopg.Error as error:
            refused = translated(error)
            assert isinstance(refused, InvalidInput), refused
            assert len(refused.message) < 1000
        else:
            shared_connection.execute("SELECT recall.verify(%s)", (NOW,))  # the file may tell of problems
            again = shared_connection.execute("SELECT recall.export_lines()").fetchall()
            assert len(again) == len(lines)
