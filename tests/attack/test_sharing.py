"""A tenant into which the attacker may copy memories: it gets copies, and nothing else happens to it.

``globex`` lets ``acme`` share memories with it.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import Any

import psycopg
import pytest

from tests.attack.calls import attacks_on, functions_of
from tests.attack.world import KEY, NOW, World

pytestmark = pytest.mark.attack

REFUSED = "Tenant globex does not let tenant acme share memories with it."
COPIES = "SELECT m.id FROM recall.memory m WHERE m.tenant = 'globex' AND m.key LIKE 'acme#%'"
ATTACKS = 6
"""On each function: the plain call first, then hostile values."""

FORGED: dict[str, Any] = {
    "tenant": "globex", "key": KEY, "metadata": {"origin": {"tenant": "globex"}}, "pinned": True,
    "speech_act": "instruction", "links": [{"target": KEY, "relation": "supersedes"}], "superseded_by": 1,
    "aliases": [KEY], "source": "globex-notes", "session_id": "globex-s", "created_at": "2000-01-01",
    "valid_until": "2000-01-01", "expires_at": "2000-01-01", "embedding": [1], "title": "Forged",
}  # fmt: skip


@pytest.fixture(scope="module")
def allowed(with_globex: World, logins: dict[str, str]) -> World:
    """The world in which acme may copy memories into globex."""
    allow(with_globex, "'acme', p_may_share => true")
    assert logins
    return with_globex


def allow(world: World, arguments: str, call: str = "add_reader") -> None:
    with world.admin.transaction():
        world.admin.execute("SELECT set_config('recall.tenant', 'globex', true)")
        world.admin.execute(f"SELECT recall.{call}({arguments})".encode())


def share(connection: psycopg.Connection[Any], to: str = "globex", **fields: Any) -> str:
    """The outcome of sharing a memory, or the refusal."""
    memory = json.dumps({"id": 1, "body": "seen", **fields})
    try:
        row = connection.execute(
            "SELECT outcome FROM recall.share(%s, %s, p_now => %s)", (to, memory, NOW)
        ).fetchone()
    except psycopg.Error as error:
        return f"{error.diag.message_primary}"
    assert row is not None
    return str(row[0])


def others_of(world: World) -> dict[str, str]:
    """What globex has beside copies, by table."""
    found = {}
    with_column = (
        "SELECT c.relname, bool_or(a.attname = 'memory_id') "
        "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "GROUP BY c.relname HAVING bool_or(a.attname = 'tenant') ORDER BY 1"
    )
    for table, owned in world.admin.execute(with_column.encode()).fetchall():
        left_out = f" AND memory_id NOT IN ({COPIES})" if owned else ""
        left_out = f" AND id NOT IN ({COPIES})" if table == "memory" else left_out
        rows = "SELECT md5(string_agg(r::text, ',' ORDER BY r::text))"
        where = f"FROM recall.{table} r WHERE tenant = 'globex'{left_out}"
        [digest] = world.admin.execute(f"{rows} {where}".encode()).fetchone() or (None,)
        found[table] = digest
    return found


def test_a_copy_changes_nothing_else_whatever_is_given(
    allowed: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    before, first = others_of(allowed), allowed.digest()
    [function] = [one for one in functions_of(allowed.admin) if one.name == "share"]
    with allowed.log_in(logins["app"]) as role:
        assert share(role, **FORGED) == "created"
        assert share(role, **FORGED) == "unchanged"
        row = allowed.admin.execute(
            "SELECT m.key, m.metadata, m.pinned, m.speech_act, m.aliases, m.source, m.session_id, "
            f"m.superseded_by, m.expires_at, m.created_at = '{NOW}' FROM recall.memory m "
            "WHERE m.tenant = 'globex' AND m.title = 'Forged'"
        ).fetchone()
        origin = {"id": 1, "key": KEY, "tenant": "acme"}
        assert row == ("acme#1", {"origin": origin}, False, "statement", [], None, None, None, None, True)
        for attack in attacks_on(function, allowed.ids, allowed.ids):
            tried["shared"] += 1
            try:
                role.execute(attack.sql.encode(), attack.parameters)
            except psycopg.Error:
                continue
        # Its own memory with a key of globex's, and a session that names globex as its tenant.
        role.execute("SELECT set_config('recall.tenant', 'globex', false)")
        number = role.execute(f"SELECT recall.remember('mine', p_key => '{KEY}')").fetchall()[0][0]
        assert share(role, id=number, key=KEY) == "created"
    assert others_of(allowed) == before
    assert allowed.digest() != first
    keys = {row[0] for row in allowed.admin.execute(COPIES.replace("m.id", "m.key").encode()).fetchall()}
    assert {"acme#1", f"acme#{number}"} <= keys


def test_no_other_function_writes_there(allowed: World, logins: dict[str, str], tried: Counter[str]) -> None:
    before = allowed.digest()
    for right in ("app", "worker"):
        with allowed.log_in(logins[right]) as role:
            for function in functions_of(allowed.admin):
                if function.name == "share":
                    continue
                for attack in islice(attacks_on(function, allowed.ids, allowed.ids), ATTACKS):
                    for setting in ("shared_tenant", "tenant"):
                        tried["shared"] += 1
                        role.execute("BEGIN")
                        try:
                            role.execute(f"SELECT set_config('recall.{setting}', 'globex', true)".encode())
                            role.execute(attack.sql.encode(), attack.parameters)
                            role.execute("COMMIT")
                        except psycopg.Error:
                            role.execute("ROLLBACK")
    assert allowed.digest() == before


def test_a_right_that_ends_is_gone_at_the_next_statement(allowed: World, logins: dict[str, str]) -> None:
    with allowed.log_in(logins["app"]) as role:
        role.execute("BEGIN")
        assert share(role, id=7) == "created"
        for end in (("'acme'", "add_reader"), ("'acme'", "remove_reader")):
            try:
                allow(allowed, *end)  # nothing that the attacker holds makes its owner wait
                role.execute("SAVEPOINT s")
                assert share(role, id=8) == REFUSED
                role.execute("ROLLBACK TO s")
            finally:
                allow(allowed, "'acme', p_may_share => true")
        assert share(role, id=8) == "created"
        role.execute("ROLLBACK")
        assert share(role, id=9) == "created"


def test_nobody_else_may(allowed: World, logins: dict[str, str]) -> None:
    before = allowed.digest()
    with allowed.log_in(logins["reader"]) as role:
        assert "permission denied for function share" in share(role)
    with allowed.log_in(logins["unbound"]) as role:
        assert "is bound to no tenant" in share(role)
    with allowed.log_in(logins["service"]) as role:
        assert "No tenant is set" in share(role)
        role.execute("SELECT set_config('recall.tenant', 'initech', false)")
        assert share(role) == REFUSED.replace("acme", "initech")
        role.execute("SELECT set_config('recall.tenant', 'globex', false)")
        assert share(role) == REFUSED.replace("acme", "globex")
    assert allowed.digest() == before


def test_it_gives_itself_no_right(allowed: World, logins: dict[str, str]) -> None:
    before = allowed.digest()
    grants = ("add_reader('acme', p_may_share => true)", "add_reader('globex', p_may_share => true)")
    with allowed.log_in(logins["worker"]) as role:
        for name in ("globex", "initech"):
            for call in grants:
                for setting in ("shared_tenant", "tenant"):
                    role.execute("BEGIN")
                    try:
                        role.execute(f"SELECT set_config('recall.{setting}', %s, true)", (name,))
                        role.execute(f"SELECT recall.{call}".encode())
                        role.execute("COMMIT")
                    except psycopg.Error:
                        role.execute("ROLLBACK")
        for statement in ("INSERT INTO recall.reader VALUES ('initech', 'acme', now(), true)",
                          "UPDATE recall.reader SET may_share = true"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                role.execute(statement.encode())
        for to in ("initech", "*", "acme", "", "harbour-friend", "\x01globex"):
            assert "does not let tenant acme share memories with it" in share(role, to)
        role.execute("BEGIN READ ONLY")
        role.execute("SELECT set_config('recall.shared_tenant', 'globex', true)")
        assert share(role).endswith("in a read-only transaction")
        role.execute("ROLLBACK")
        role.execute("BEGIN")
        role.execute("SELECT set_config('recall.shared_tenant', 'globex', true)")
        assert share(role) == "Tenant globex is shared with tenant acme for reading only."
        role.execute("ROLLBACK")
    assert allowed.digest() == before


def test_whether_a_tenant_exists_makes_no_difference(
    allowed: World, without_globex: World, logins: dict[str, str]
) -> None:
    allow(allowed, "'acme'", "remove_reader")
    try:
        told = []
        for world in (allowed, without_globex):
            with world.log_in(logins["app"]) as role:
                told.append([share(role, **fields) for fields in ({}, FORGED, {"id": "x"}, {"body": ""})])
    finally:
        allow(allowed, "'acme', p_may_share => true")
    assert told[0] == told[1] == [REFUSED] * 4
