"""Layers that cannot be, and changes of layers at the same time as uses."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import InvalidInput, Memory
from pgrecall.vitality.parameters import LayerRates, ZoneThresholds
from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, as_tenant, note, state
from tests.integration.settings.layer_tools import layers, pace, rates, set_layer
from tests.scale import SCALE
from tests.waiting import PATIENCE

pytestmark = pytest.mark.in_turns


def bounds_of(what: str, value: str, bounds: str) -> str:
    return f"The {what} of layer 'knowledge' is {value}; it must lie between {bounds}."


def thresholds(active: str, stale: str, fading: str) -> str:
    return (
        f"The thresholds of layer 'knowledge' are active {active}, stale {stale}, fading {fading}; "
        "they must fall from below 1 to above 0."
    )


def product(rate: str, decay: str, made: str) -> str:
    return (
        f"Rate {rate} times base decay {decay} gives layer 'knowledge' the decay {made}; "
        "it must lie between 0.0001 and 10."
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (None, "The name of a layer has 1 to 100 characters, not 0."),
        ("", "The name of a layer has 1 to 100 characters, not 0."),
        ("x" * 101, "The name of a layer has 1 to 100 characters, not 101."),
        (" code", "The layer name ' code' has control characters, or a space at its beginning or end."),
        (" ", "The layer name ' ' has control characters, or a space at its beginning or end."),
        ("a\tb", "The layer name 'a\tb' has control characters, or a space at its beginning or end."),
    ],
)
def test_a_layer_of_a_wrong_name_is_refused(sql: Query, name: str | None, sentence: str) -> None:
    before = layers(sql)
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        set_layer(sql, name)  # type: ignore[arg-type]
    assert caught.value.diag.message_primary == sentence
    assert layers(sql) == before


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"reading": "backwards"}, "The reading 'backwards' of layer 'knowledge' is unknown."),
        ({"reading": ""}, "The reading '' of layer 'knowledge' is unknown."),
        ({"metabolic_rate": 0}, bounds_of("metabolic rate", "0", "0.001 and 1000")),
        ({"metabolic_rate": 1000.5}, bounds_of("metabolic rate", "1000.5", "0.001 and 1000")),
        ({"metabolic_rate": math.nan}, bounds_of("metabolic rate", "NaN", "0.001 and 1000")),
        ({"metabolic_rate": math.inf}, bounds_of("metabolic rate", "Infinity", "0.001 and 1000")),
        ({"base_decay": 0}, bounds_of("base decay", "0", "0.001 and 10")),
        ({"base_decay": -0.5}, bounds_of("base decay", "-0.5", "0.001 and 10")),
        ({"base_decay": math.nan}, bounds_of("base decay", "NaN", "0.001 and 10")),
        ({"reading": "exponent", "metabolic_rate": 100}, product("100", "0.5", "50")),
        (
            {"reading": "exponent", "metabolic_rate": 0.001, "base_decay": 0.05},
            product("0.001", "0.05", "5e-05"),
        ),
        ({"birth_weight": 0.99}, bounds_of("birth weight", "0.99", "1 and 100")),
        ({"birth_weight": 101}, bounds_of("birth weight", "101", "1 and 100")),
        ({"active": 0.3}, thresholds("0.3", "0.3", "0.1")),
        ({"fading": 0.5}, thresholds("0.6", "0.3", "0.5")),
        ({"active": 1}, thresholds("1", "0.3", "0.1")),
        ({"fading": 0}, thresholds("0.6", "0.3", "0")),
        ({"active": math.nan}, thresholds("NaN", "0.3", "0.1")),
        ({"profile": "x" * 101}, "The profile of a layer has 1 to 100 characters, not 101."),
    ],
)
def test_a_wrong_layer_is_refused_whole(sql: Query, fields: dict[str, Any], sentence: str) -> None:
    memory = note(sql, "k")
    before = layers(sql), state(sql, memory)
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        set_layer(sql, "knowledge", **fields)
    assert caught.value.diag.message_primary == sentence
    assert (layers(sql), state(sql, memory)) == before


@pytest.mark.parametrize("field", [{}, {"reading": "cl\0ck"}, {"profile": "\ud800"}])
def test_text_that_cannot_be_stored_is_refused_by_the_client(memory: Memory, field: dict[str, Any]) -> None:
    name = "code" if field else "co\0de"
    with pytest.raises(InvalidInput, match=r"of the layer (holds a NUL character|is not valid Unicode)"):
        memory.layers.set(name, **field)
    assert len(memory.layers.list()) == 4


NUMBERS = st.one_of(
    st.floats(0.0001, 1200), st.sampled_from([0.0, -1.0, 0.001, 1000.0, 10.0, 100.0, math.nan, math.inf])
)


@settings(max_examples=40 * SCALE, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rate=NUMBERS,
    reading=st.sampled_from(["clock", "exponent"]),
    decay=NUMBERS,
    birth=NUMBERS,
    zones=st.tuples(*[st.floats(-0.1, 1.1)] * 3),
)
def test_sql_accepts_the_layers_that_python_accepts(
    sql: Query, rate: float, reading: Any, decay: float, birth: float, zones: tuple[float, float, float]
) -> None:
    fields = {"metabolic_rate": rate, "reading": reading, "base_decay": decay, "birth_weight": birth}
    bounds = dict(zip(("active", "stale", "fading"), sorted(zones, reverse=True), strict=True))
    try:
        expected = LayerRates(**fields, zones=ZoneThresholds(**bounds))
    except ValueError:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            set_layer(sql, "wild", **fields, **bounds)
        return
    set_layer(sql, "wild", **fields, **bounds)
    row = layers(sql)["wild"]
    assert rates(row) == expected
    assert (row["clock"], row["decay"]) == (expected.clock, expected.effective_decay)


# At once


def test_changes_of_layers_and_uses_at_once_neither_deadlock_nor_diverge(
    database_url: str, query: Query
) -> None:
    memories = [note(query, f"k{place}", layer="episodic") for place in range(60)]
    now = BIRTH + timedelta(days=9)
    uses = json.dumps([{"memory_id": memory} for memory in memories])

    def tune(worker: int) -> None:
        with as_tenant(database_url) as connection:
            for turn in range(20):
                if turn % 5 == 4:
                    connection.execute("SELECT recall.use_preset(%s)", (("seed", "default")[worker],))
                else:
                    connection.execute("SELECT recall.set_layer('episodic', %s)", (1 + worker + turn,))

    def use(_: int) -> None:
        with as_tenant(database_url) as connection:
            for _ in range(20):
                connection.execute("SELECT recall.record_accesses(%s::jsonb, %s)", (uses, now))

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(job, worker) for job in (tune, use) for worker in (0, 1)]
        for done in running:
            done.result(timeout=PATIENCE)
    in_force = layers(query)["episodic"]
    assert {pace(query, memory) for memory in memories} == {(in_force["clock"], in_force["decay"])}
    assert {state(query, memory)["n"] for memory in memories} == {41}
