"""Every function that a role may call, with arguments of every kind: it answers, or refuses in a sentence.

Functions and types come from the catalogue. What an example did is rolled back; before that, whatever it was,
the tenant's data is in order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attack.calls import HARMLESS, Function, functions_of
from tests.attack.world import World
from tests.fuzz.outcomes import outcome
from tests.fuzz.scale import MINUTES, tried
from tests.fuzz.values import by_type

pytestmark = pytest.mark.fuzz

GROUPS = 4
"""Into which the functions are cut, so that several processes have some."""

REPEATS = 1_310_720 if MINUTES else 13_107

HUGE = {
    "text": f"repeat('harbour ', {REPEATS})",
    "text[]": f"ARRAY[repeat('harbour ', {REPEATS})]",
    "json": f"to_json(ARRAY[repeat('harbour ', {REPEATS})])",
    "jsonb": f"to_jsonb(ARRAY[repeat('harbour ', {REPEATS})])",
}
"""A tenth of a megabyte or, where there are minutes, 10; made where they are taken."""

Call = tuple[Function, dict[str, Any]]


def calls_of(function: Function, kinds: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Call]:
    """Calls with the arguments it needs and some of the others: of many one at least would be refused."""
    values = {
        name: st.one_of(*[kinds[kind]] * 9, st.none())
        for name, kind in zip(function.names, function.types, strict=True)
    }
    needed = function.names[: function.required]
    names = st.lists(st.sampled_from(function.names or ("",)), max_size=3, unique=True)
    return names.flatmap(
        lambda some: st.fixed_dictionaries(
            {name: values[name] for name in dict.fromkeys((*needed, *some)) if name in values}
        )
    ).map(lambda given: (function, given))


def statement(function: Function, given: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
    kinds = dict(zip(function.names, function.types, strict=True))
    arguments = ", ".join(f"{name} => %s::{kinds[name]}" for name in given)
    # As text: moments beyond the year 9999 are no defect of whoever gives them back.
    return f"SELECT f::text FROM recall.{function.name}({arguments}) f", tuple(given.values())


def in_order(connection: psycopg.Connection[Any]) -> bool:
    [(verdict,)] = connection.execute("SELECT recall.verify()").fetchall()
    assert verdict["problems"] == 0, [check for check in verdict["checks"] if check["problems"]]
    return True


@pytest.mark.parametrize("group", range(GROUPS))
def test_any_arguments_are_answered_or_refused(acme: World, group: int, outcomes: Counter[str]) -> None:
    kinds = by_type(acme.ids)
    for function in functions_of(acme.admin)[group::GROUPS]:
        _call(acme.admin, calls_of(function, kinds), outcomes)
    assert in_order(acme.admin)


def _call(
    connection: psycopg.Connection[Any], calls: st.SearchStrategy[Call], outcomes: Counter[str]
) -> None:
    @tried(5)
    @given(st.lists(calls, min_size=3, max_size=6))
    def example(several: list[Call]) -> None:
        with connection.transaction(force_rollback=True):
            told = []
            for function, arguments in several:
                told.append(outcome(connection, *statement(function, arguments)))
                outcomes[f"{function.name}: {told[-1]}"] += 1
            assert "answered" not in told or in_order(connection)

    example()


def test_calls_of_different_functions_leave_the_data_in_order(acme: World, outcomes: Counter[str]) -> None:
    kinds = by_type(acme.ids)
    functions = functions_of(acme.admin)
    _call(acme.admin, st.sampled_from(functions).flatmap(lambda one: calls_of(one, kinds)), outcomes)


def test_texts_of_megabytes_are_answered_or_refused(acme: World, outcomes: Counter[str]) -> None:
    """In every argument that is a text, or holds texts; the others as harmless as can be."""
    harmless = {"bigint": acme.ids["memory"], "bigint[]": [acme.ids["memory"]], **HARMLESS}
    for function in functions_of(acme.admin):
        kinds = dict(zip(function.names, function.types, strict=True))
        needed = {name: harmless[kinds[name]] for name in function.names[: function.required]}
        for name, huge in ((name, HUGE[kind]) for name, kind in kinds.items() if kind in HUGE):
            given_ = {other: value for other, value in needed.items() if other != name}
            sql, parameters = statement(function, given_)
            sql = sql.replace("(", f"({name} => {huge}" + (", " if given_ else ""), 1)
            with acme.admin.transaction(force_rollback=True):
                told = outcome(acme.admin, sql, parameters)
            outcomes[f"{function.name}: {told}"] += 1
