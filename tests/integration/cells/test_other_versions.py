"""Cells of another version: a client uses those that are called alike, and says why it cannot use others."""

from __future__ import annotations

from functools import partial

import pytest

from pgrecall.cells.moves.move import Mover
from pgrecall.errors import InvalidInput, SchemaMismatch
from pgrecall.schema.compatibility import OLDEST_SCHEMA
from pgrecall.schema.state import head_revision
from tests.integration.cells.conftest import Installation

LATER = (
    "UPDATE recall.alembic_version SET version_num = '9000'",
    "UPDATE recall.setting SET value = '\"later\"' WHERE tenant = '*' AND name = 'schema.functions'",
    "CREATE FUNCTION recall.of_a_later_version() RETURNS int LANGUAGE sql RETURN 1",
)
"""Makes a cell one of a later version, which has more."""


def make(installation: Installation, *statements: str) -> None:
    """Runs statements in cell 1."""
    for statement in statements:
        installation.ask(1, statement)


def test_a_later_version_that_is_called_alike(apart: Installation) -> None:
    make(apart, *LATER)
    client = apart.memory()
    for tenant in ("acme", "beta"):
        view = client.for_tenant(tenant)
        result = view.search("winch")
        assert [hit.body for hit in result.hits] == [f"The winch of {tenant}."]
        assert view.used(result.search_id or 0, result.hits[0].id) == 1
        view.remember("The winch is red.")
        assert view.status().memories == 2
        assert not [check for check in view.maintenance.verify() if check.problems]
    with pytest.raises(SchemaMismatch, match="schema 9000, which is newer than this pgrecall knows"):
        Mover(apart.fleet).move("acme", 1)


def test_an_earlier_version_that_is_called_alike(apart: Installation) -> None:
    make(apart, f"UPDATE recall.alembic_version SET version_num = '{OLDEST_SCHEMA}'")
    assert [hit.body for hit in apart.memory("beta").search("winch").hits] == ["The winch of beta."]
    [failed] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert (failed.cell, failed.fix) == (1, "Run `pgrecall upgrade`.")


def test_a_later_version_that_says_more(apart: Installation) -> None:
    """Columns of a table, and fields of a document, that this version does not know."""
    more = """
        ALTER FUNCTION recall.keys() RENAME TO keys_before;
        CREATE FUNCTION recall.keys() RETURNS TABLE (id bigint, name text, created_at timestamptz,
            last_used_at timestamptz, revoked_at timestamptz, read_only boolean, also_reads text[],
            color text)
        LANGUAGE sql SET search_path = recall AS $$SELECT k.*, 'red' FROM recall.keys_before() k$$;
        ALTER FUNCTION recall.status(timestamptz) RENAME TO status_before;
        CREATE FUNCTION recall.status(p_now timestamptz DEFAULT now()) RETURNS jsonb
        LANGUAGE sql SET search_path = recall
        AS $$SELECT recall.status_before(p_now) || '{"color": "red"}'$$;
    """
    apart.memory("beta").keys.create("service")
    make(apart, *LATER, more)
    client = apart.memory("beta")
    assert [key.name for key in client.keys.list()] == ["service"]
    assert client.status().memories == 1


def test_an_earlier_version_that_says_less(apart: Installation) -> None:
    """What has it is refused, and nothing else, until the cell is upgraded."""
    earlier = f"""
        UPDATE recall.alembic_version SET version_num = '{OLDEST_SCHEMA}';
        ALTER FUNCTION recall.keys() RENAME TO keys_of_today;
        CREATE FUNCTION recall.keys() RETURNS TABLE (id bigint, name text)
        LANGUAGE sql SET search_path = recall AS $$SELECT k.id, k.name FROM recall.keys_of_today() k$$;
    """
    make(apart, earlier)
    client = apart.memory("beta")
    with pytest.raises(SchemaMismatch, match=r"recall\.keys is called in another way.*`pgrecall upgrade`"):
        client.keys.list()
    assert client.search("winch").hits
    make(
        apart,
        "DROP FUNCTION recall.keys()",
        "ALTER FUNCTION recall.keys_of_today() RENAME TO keys",
        f"UPDATE recall.alembic_version SET version_num = '{head_revision()}'",
    )
    with pytest.raises(SchemaMismatch):
        client.keys.list()  # after which it looks at the cell again
    assert client.keys.list() == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ALTER FUNCTION recall.used RENAME TO no_longer_used", "it has no function recall.used"),
        (
            "ALTER FUNCTION recall.status RENAME TO old_status; CREATE FUNCTION recall.status() "
            "RETURNS int LANGUAGE sql RETURN 1",
            "its function recall.status is called in another way, or returns something else",
        ),
    ],
)
def test_a_later_version_in_which_a_function_is_another(
    apart: Installation, change: str, reason: str
) -> None:
    make(apart, *LATER, change)
    client = apart.memory("beta")
    result = client.search("winch")
    said = f"schema 9000, which does not go with this version's \\({head_revision()}\\): {reason}"
    call = partial(client.used, result.search_id or 0, result.hits[0].id)
    with pytest.raises(SchemaMismatch, match=f"{said}.*Install the version of pgrecall that it has"):
        (call if "used" in reason else client.status)()


def test_a_later_version_that_serves_no_older_clients(apart: Installation) -> None:
    served = "COMMENT ON FUNCTION recall.installation() IS 'Serves clients of schema 9000 and newer.'"
    make(apart, *LATER, served)
    client = apart.memory()
    with pytest.raises(SchemaMismatch, match="it serves clients of schema 9000 and newer") as caught:
        client.for_tenant("beta").search("winch")
    assert caught.value.hint == "Install the version of pgrecall that it has."
    assert client.search("winch").hits


def test_a_version_that_is_too_old(apart: Installation) -> None:
    make(apart, "UPDATE recall.alembic_version SET version_num = '0015'")
    with pytest.raises(SchemaMismatch, match=f"this version needs {OLDEST_SCHEMA} or newer") as caught:
        apart.memory("beta").search("winch")
    assert caught.value.hint == "Run `pgrecall upgrade` for it."


def test_cells_are_upgraded_in_turn(apart: Installation) -> None:
    """An older directory too. While one cell waits for its turn, or is down, the others serve."""
    from pgrecall.cells.upgrading import upgrade_cells

    stale = "UPDATE recall.setting SET value = '\"older\"' WHERE tenant = '*' AND name = 'schema.functions'"
    for number in (0, 1):
        apart.ask(number, stale)
    apart.fleet.directory.run("DROP FUNCTION recall_cells.replica(bigint)")
    with pytest.raises(SchemaMismatch, match="directory of cells has the schema of an older") as caught:
        apart.memory().search("winch")
    assert "pgrecall upgrade" in caught.value.hint
    apart.fleet.directory.install()
    client = apart.memory()
    for turn in upgrade_cells(apart.fleet):
        assert turn.done is not None
        assert turn.done.changed
        for tenant in ("acme", "beta"):
            assert client.for_tenant(tenant).search("winch").hits
    assert not [found for found in apart.fleet.check() if found.level == "fail"]
    away = "UPDATE recall_cells.cell SET address = 'host=/nowhere dbname=x' WHERE number = 0"
    apart.fleet.directory.run(away)
    zero, one = upgrade_cells(apart.fleet)
    assert (zero.done, one.problem) == (None, None)
    with pytest.raises(InvalidInput, match=r"There is no cell 9\."):
        list(upgrade_cells(apart.fleet, only=9))


def test_no_upgrade_while_a_tenant_is_copied(apart: Installation) -> None:
    from pgrecall.cells.upgrading import upgrade_cells

    apart.fleet.directory.run("INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)")
    with pytest.raises(InvalidInput, match=r"^Tenant acme is being copied from cell 0 to 1\."):
        list(upgrade_cells(apart.fleet))
