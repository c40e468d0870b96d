"""An error quotes a long value without its middle."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.errors import InvalidInput, MemoryNotFound, RecallError
from tests.databases import Query

LONG = "x" * 100_000


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT recall.id_of(%s)", "SELECT * FROM recall.search('winch', p_layers => ARRAY[%s])",
        "SELECT * FROM recall.search('winch', p_roles => ARRAY[%s])",
        "SELECT * FROM recall.search('winch', p_vitality_mode => %s)",
        "SELECT recall.record_accesses(jsonb_build_array(jsonb_build_object('key', %s::text)))",
        "SELECT recall.remember('Mira mends the winch', p_layer => %s)",
    ],
)  # fmt: skip
def test_a_long_value_is_quoted_without_its_middle(sql: Query, statement: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        sql(statement, (LONG,))
    told = refused.value.diag.message_primary or ""
    assert "x" * 100 in told
    assert len(told) < 3_000
    assert len(refused.value.diag.message_detail or "") <= 1_000
    assert told.endswith((".", "'"))


@pytest.mark.parametrize("error", [MemoryNotFound(LONG), InvalidInput(f"There is no {LONG}.", hint=LONG)])
def test_so_does_an_error_of_the_client(error: RecallError) -> None:
    assert "x" * 100 in error.message
    assert len(str(error)) < 3_000
    assert error.message.endswith(".")
    assert str(RecallError("A sentence.", hint="A way out.")) == "A sentence. A way out."
