"""Every function that a role may call, with hostile values in every argument, in a hostile session.

Each attack is made in both worlds. Whatever the attacker is told (rows, errors, notices) must be the same in
the one with globex as in the one without, and of globex nothing may have changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.attack.calls import Attack, Function, attacks_on, functions_of
from tests.attack.world import KEY_DIGEST, UNKNOWN, World

pytestmark = pytest.mark.attack

CURSOR = re.compile(r"\b\d+-\d+-\d+(?=')")
"""Of changes: it has the number of a transaction, which the whole server counts."""

CLOCK = re.compile(r"datetime\.datetime\([^()]*(\([^()]*\))?[^()]*\)|\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^'\",)]*")
"""What tells when a row was made or asked for, and would differ in any two runs."""

HOSTILE_SESSION = (
    "SET recall.tenant = 'globex'", "SET standard_conforming_strings = off", "SET row_security = off",
    "SET client_min_messages = debug1", "SET debug_print_plan = on",
    "SET plan_cache_mode = force_custom_plan",
    "SET hnsw.ef_search = 1", "SET transform_null_equals = on", "SET statement_timeout = '200s'",
    "CREATE TEMP TABLE memory (tenant text, id bigint, body text)",
    "CREATE TEMP TABLE tenant_role (role text, tenant text)",
    "INSERT INTO pg_temp.tenant_role VALUES (session_user, 'globex')",
    "CREATE FUNCTION pg_temp.current_tenant() RETURNS text LANGUAGE sql RETURN 'globex'",
    "SET search_path = pg_temp, public, pg_catalog",
)  # fmt: skip

Told = tuple[str, str]


class Attacker:
    """A session that notes all it is told."""

    def __init__(self, world: World, role: str) -> None:
        self.connection = world.log_in(role)
        self._notices: list[str] = []
        self.connection.add_notice_handler(self._note)
        for statement in HOSTILE_SESSION:
            self.connection.execute(statement.encode())

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        # When a session's cache of the catalogue grows depends on what the whole server does.
        if not str(notice.message_primary).startswith("rehashing catalog cache"):
            self._notices.append(str(notice.message_primary))

    def told_by(self, attack: Attack) -> Told:
        self._notices.clear()
        try:
            cursor = self.connection.execute(attack.sql.encode(), attack.parameters)
            outcome = repr(cursor.fetchall()) if cursor.description else "done"
        except psycopg.Error as error:
            found = error.diag
            outcome = f"{error.sqlstate} {found.message_primary} {found.message_detail} {found.message_hint}"
        return CURSOR.sub("C", CLOCK.sub("T", outcome)), " ".join(self._notices)


@pytest.fixture(scope="module")
def functions(with_globex: World) -> list[Function]:
    return functions_of(with_globex.admin)


@pytest.fixture(scope="module")
def sessions(
    with_globex: World, without_globex: World, logins: dict[str, str]
) -> Iterator[Callable[[str], tuple[Attacker, Attacker]]]:
    made: dict[str, tuple[Attacker, Attacker]] = {}

    def both(right: str) -> tuple[Attacker, Attacker]:
        if right not in made:
            made[right] = Attacker(with_globex, logins[right]), Attacker(without_globex, logins[right])
        return made[right]

    yield both
    for pair in made.values():
        for attacker in pair:
            attacker.connection.close()


@pytest.mark.parametrize("right", ["reader", "app", "worker"])
def test_no_function_reads_or_changes_anything_of_another_tenant(
    right: str,
    functions: list[Function],
    sessions: Callable[[str], tuple[Attacker, Attacker]],
    with_globex: World,
    tried: Counter[str],
) -> None:
    here, there = sessions(right)
    ids = with_globex.ids
    assert len(set(ids.values())) >= 3
    before = with_globex.digest()
    leaks: list[Any] = []
    for function in functions:
        if function.least_role != f"recall_{right}":
            continue
        for attack in attacks_on(function, ids, with_globex.own):
            if function.name == "create_key" and KEY_DIGEST in attack.parameters:
                continue  # who can give the digest of a key has the key: that it is taken is no news
            tried["functions"] += 1
            told, expected = here.told_by(attack), there.told_by(attack)
            if told != expected:
                leaks.append((attack, told, expected))
            assert UNKNOWN not in " ".join(told), attack
        assert with_globex.digest() == before, f"{function.name} changed something of globex's"
    assert leaks == []


def test_every_callable_function_was_attacked(functions: list[Function], with_globex: World) -> None:
    """One of a new type of argument cannot be: then hostile values for that type are missing here."""
    assert len(functions) > 90
    for function in functions:
        assert any(True for _ in attacks_on(function, with_globex.ids, {})), function.name


def test_a_function_that_forgot_the_tenant_would_be_found(
    with_globex: World, without_globex: World, logins: dict[str, str]
) -> None:
    """Else the rest of this file would show nothing."""
    attack = Attack("count_pending_links", "SELECT * FROM recall.count_pending_links()", ())
    told = []
    for world in (with_globex, without_globex):
        with world.admin.transaction(force_rollback=True):
            world.admin.execute(
                "CREATE OR REPLACE FUNCTION recall.count_pending_links() RETURNS bigint LANGUAGE sql STABLE "
                "SECURITY DEFINER SET search_path = recall, pg_temp "
                "AS 'SELECT count(*) FROM recall.pending_link'"
            )
            told.append(world.admin.execute(attack.sql.encode()).fetchall())
    assert told[0] != told[1]
    here, there = (Attacker(world, logins["reader"]) for world in (with_globex, without_globex))
    assert here.told_by(attack) == there.told_by(attack)
    for attacker in (here, there):
        attacker.connection.close()
