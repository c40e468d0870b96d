"""Settings at their bounds, set by a bound role: its own calls answer or refuse, and others do not notice."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.attack.calls import Function, attacks_on, functions_of
from tests.attack.world import GUESSED, NOW, RIGHTS, World
from tests.scale import SCALE

pytestmark = pytest.mark.attack

REFUSED = ("22023", "P0002", "42501", "02000")
"""Bad input, no such memory, no right, nothing found: sentences for a caller."""

MIXTURES = 2 + SCALE

ENDLESS = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)
"""Numbers that no JSON has, so an answer with one reaches no caller over HTTP."""

SETTINGS = "SELECT name, low, high, default_value FROM recall.settings() ORDER BY name"


@pytest.fixture(scope="module")
def functions(with_globex: World) -> list[Function]:
    return functions_of(with_globex.admin)


@pytest.fixture
def sessions(with_globex: World, logins: dict[str, str]) -> Iterator[dict[str, psycopg.Connection[Any]]]:
    """A connection of the attacker with each right; all their settings are the usual ones afterwards."""
    made = {f"recall_{right}": with_globex.log_in(logins[right]) for right in RIGHTS}
    for connection in made.values():
        connection.execute("SET statement_timeout = '60s'")
    yield made
    for name, *_ in made["recall_app"].execute(SETTINGS).fetchall():
        made["recall_app"].execute("SELECT recall.set_setting(%s, NULL)", (name,))
    for connection in made.values():
        connection.close()


def chosen(settings: list[tuple[Any, ...]], mixture: int) -> dict[str, Any]:
    """One bound of each setting: all the lowest, all the highest, then by chance."""
    dice = random.Random(mixture)
    pick = {0: lambda low, _: low, 1: lambda _, high: high}.get(mixture, lambda *ends: dice.choice(ends))
    return {name: pick(low, high) for name, low, high, _ in settings}


def heard_by(connection: psycopg.Connection[Any], function: Function, world: World) -> str:
    """What a call returns; it is undone."""
    attack = next(attacks_on(function, {}, world.own))
    try:
        with connection.transaction(force_rollback=True):
            cursor = connection.execute(attack.sql.encode(), attack.parameters)
            return repr(cursor.fetchall()) if cursor.description else ""
    except psycopg.Error as error:
        if error.sqlstate in REFUSED:
            return ""
        raise


@pytest.mark.parametrize("mixture", range(MIXTURES))
def test_hostile_settings_harm_nobody(
    mixture: int,
    with_globex: World,
    functions: list[Function],
    sessions: dict[str, psycopg.Connection[Any]],
    tried: Counter[str],
) -> None:
    before, theirs = with_globex.digest(), search_of_globex(with_globex)
    app = sessions["recall_app"]
    settings = app.execute(SETTINGS).fetchall()
    assert len(settings) > 40
    for name, value in chosen(settings, mixture).items():
        app.execute("SELECT recall.set_setting(%s, %s)", (name, value))
        tried["settings"] += 1
    for function in functions:
        heard = heard_by(sessions[function.least_role], function, with_globex)
        assert not ENDLESS.search(heard), function.name
        tried["calls under settings"] += 1
    found = app.execute("SELECT * FROM recall.search('harbour contract', p_now => %s)", (NOW,)).fetchall()
    assert not ENDLESS.search(repr(found))
    assert search_of_globex(with_globex) == theirs
    assert with_globex.digest() == before


def search_of_globex(world: World) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'globex', false)")
        found = connection.execute("SELECT * FROM recall.search(%s, p_now => %s)", (GUESSED, NOW)).fetchall()
    assert found
    return found


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e308", "-1e308"])
def test_no_setting_is_beyond_its_bounds(
    value: str, sessions: dict[str, psycopg.Connection[Any]], tried: Counter[str]
) -> None:
    app = sessions["recall_app"]
    for name, low, high, usual in app.execute(SETTINGS).fetchall():
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            app.execute("SELECT recall.set_setting(%s, %s::double precision)", (name, value))
        [(now,)] = app.execute("SELECT value FROM recall.settings() s WHERE s.name = %s", (name,)).fetchall()
        assert now == usual
        assert low <= now <= high
        tried["settings"] += 1
