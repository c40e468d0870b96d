"""Transactions of REPEATABLE READ and SERIALIZABLE, which see nothing of what others have just stored: each
call gives a right result or ends with 40001 ("try again"), and nothing is stored by halves."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.attack.calls import Attack, attacks_on, functions_of
from tests.attack.world import NOW, World, attackers, fill

pytestmark = pytest.mark.attack

LEVELS = ("REPEATABLE READ", "SERIALIZABLE")
MIRA, TWO = "recall.id_of('acme-mira')", "recall.id_of('acme-long')"


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with psycopg.connect(database_url, autocommit=True) as admin:
        world = World(database_url, admin)
        fill(world)
        yield world


@pytest.fixture
def pair(world: World) -> Iterator[tuple[psycopg.Connection[Any], psycopg.Connection[Any]]]:
    """Two sessions of one tenant."""
    with (
        attackers(world.url) as logins,
        world.log_in(logins["worker"]) as older,
        world.log_in(logins["worker"]) as newer,
    ):
        yield older, newer


def begin(connection: psycopg.Connection[Any], level: str) -> None:
    """A transaction that sees nothing of what others store from now on."""
    connection.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
    connection.execute("SELECT recall.current_tenant()")


def problems(world: World) -> list[str]:
    world.admin.execute("SELECT set_config('recall.tenant', 'acme', false)")
    row = world.admin.execute("SELECT recall.verify()").fetchone()
    assert row is not None
    return [check["name"] for check in row[0]["checks"] if check["problems"]]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (f"recall.supersede({MIRA}, {TWO})", f"recall.supersede({TWO}, {MIRA})"),
        ("recall.drop_layer('harbour-layer')", "recall.remember('late', p_layer => 'harbour-layer')"),
        ("recall.set_layer('harbour-layer', 2.0)", "recall.remember('late', p_layer => 'harbour-layer')"),
    ],
)
def test_what_another_has_just_changed_is_not_overlooked(
    level: str, first: str, then: str, world: World, pair: tuple[psycopg.Connection[Any], ...]
) -> None:
    older, newer = pair
    begin(older, level)
    newer.execute(f"SELECT {first}".encode())
    with pytest.raises(psycopg.errors.SerializationFailure):
        older.execute(f"SELECT {then}".encode())
    older.execute("ROLLBACK")
    assert problems(world) == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "call", ["drop_layer('harbour-layer')", "set_layer('harbour-layer', 2.0)", "set_language('german')"]
)
def test_no_rule_is_changed_for_memories_that_are_not_seen(
    level: str, call: str, world: World, pair: tuple[psycopg.Connection[Any], ...]
) -> None:
    """A memory of a layer that is gone would be found by nobody."""
    older, newer = pair
    begin(older, level)
    newer.execute("SELECT recall.remember('early', p_layer => 'harbour-layer')")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=f"of {level} may not see all memories"):
        older.execute(f"SELECT recall.{call}".encode())
    older.execute("ROLLBACK")
    assert problems(world) == []


def plain(attack: Attack) -> Attack:
    """The same call with a digest that no other call has stored."""
    if attack.function != "create_key":
        return attack
    return attack._replace(parameters=(attack.parameters[0], secrets.token_bytes(32), NOW))


@pytest.mark.parametrize("level", LEVELS)
def test_every_function_is_right_or_is_refused(
    level: str, world: World, pair: tuple[psycopg.Connection[Any], ...], tried: Counter[str]
) -> None:
    older, newer = pair
    told: Counter[str] = Counter()
    for function in functions_of(world.admin):
        attack = next(attacks_on(function, {}, world.own))
        begin(older, level)
        for session in (newer, older):
            call = plain(attack)
            tried["older snapshots"] += 1
            try:
                session.execute(call.sql.encode(), call.parameters)
                said = "answered"
            except psycopg.Error as error:
                said = str(error.sqlstate)
        told[said] += 1
        older.execute("COMMIT" if said == "answered" else "ROLLBACK")
    # A sentence of ours (22023, 42501, P0002), or that another call was first.
    assert set(told) <= {"answered", "40001", "22023", "42501", "P0002"}
    assert told["40001"] > 10
    assert told["answered"] > 60
    assert problems(world) == []
