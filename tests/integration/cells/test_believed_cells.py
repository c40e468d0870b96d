"""What a cell says of a tenant counts only if the directory places the tenant in that cell."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall import Memory
from pgrecall.errors import DatabaseError, DatabaseUnavailable
from pgrecall.nouns.keys.operations import new_token
from tests.given_server import Server
from tests.integration.cells.conftest import Installation, installed

RESTORED = "UPDATE recall.resident SET state = 'here', cell = NULL WHERE tenant = 'acme'"
"""The state of cell 0 after it was restored to before acme left it. Its old keys were not swept yet."""


def forged(installation: Installation, cell: int, tenant: str, secret: str) -> None:
    """Makes a cell know a key of a tenant, and say that the tenant lives there."""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    installation.ask(cell, f"INSERT INTO recall.resident (tenant) VALUES ('{tenant}')")
    installation.ask(
        cell,
        "INSERT INTO recall.api_key (tenant, name, hash, created_at) "
        f"VALUES ('{tenant}', 'forged', '\\x{digest}', now())",
    )


def moved_with_key(installation: Installation) -> tuple[Memory, str]:
    """Acme's key and session opened it in cell 0; it has moved, without its key; cell 0 was restored."""
    client = installation.memory()
    secret = client.keys.create("old").secret
    assert client.keys.open_session(secret, "cookie", 60)
    assert client.keys.holder(secret) is not None
    installation.flip("acme", 0, 1)
    assert client.status().cell == 1
    installation.ask(0, RESTORED)
    return client, secret


def test_a_revoked_key_stays_revoked_when_an_old_cell_is_restored(apart: Installation) -> None:
    client, secret = moved_with_key(apart)
    assert client.keys.holder(secret) is None
    assert apart.memory("beta").keys.holder(secret) is None
    assert not client.keys.open_session(secret, "another", 60)
    assert client.keys.session_tenant("cookie") is None


def test_a_client_that_knew_the_old_place_asks_the_directory_again(
    apart: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cells.routes.PLACE_KNOWN", 0.0)
    client = apart.memory()
    secret = client.keys.create("old").secret
    assert client.keys.holder(secret) is not None
    apart.flip("acme", 0, 1)
    apart.ask(0, RESTORED)
    assert client.keys.holder(secret) is None
    assert client.status().cell == 1


def test_a_cell_makes_no_key_for_a_tenant_of_another(apart: Installation) -> None:
    forged(apart, 1, "acme", "pgr_forged")
    client = apart.memory()
    assert client.keys.holder("pgr_forged") is None
    assert not client.keys.open_session("pgr_forged", "cookie", 60)
    assert client.keys.session_tenant("cookie") is None


def test_a_cell_makes_no_tenant(apart: Installation) -> None:
    forged(apart, 1, "nobody", "pgr_forged")
    assert apart.memory().keys.holder("pgr_forged") is None
    assert "nobody" not in {place.tenant for place in apart.fleet.directory.places()}


def claimed(installation: Installation, secret: str) -> None:
    """Makes cell 1 know a key of acme as one of beta, and say that its session is one of beta's."""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    installation.ask(
        1,
        "INSERT INTO recall.api_key (tenant, name, hash, created_at) "
        f"VALUES ('beta', 'claimed', '\\x{digest}', now())",
    )


def numbers(installation: Installation, cell: int) -> list[int]:
    rows = installation.ask(cell, "SELECT id FROM recall.api_key ORDER BY id")
    return [int(str(row["id"])) for row in rows]


def test_a_key_that_two_cells_know_for_different_tenants_opens_none(apart: Installation) -> None:
    """Whoever administers a cell learns digests, and could have the key's next writes."""
    client = apart.memory()
    secret = client.keys.create("key").secret
    claimed(apart, secret)
    for fresh in (apart.memory(), apart.memory("beta")):
        with pytest.raises(DatabaseError, match="Cells 0, 1 know this key or session for") as refused:
            fresh.keys.holder(secret)
        assert "cell check" in refused.value.hint
        with pytest.raises(DatabaseError, match="for different tenants"):
            fresh.keys.open_session(secret, "cookie", 60)
    [found] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert found.message == (
        f"Key {numbers(apart, 0)[0]} of tenant acme in cell 0 has the same digest as "
        f"key {numbers(apart, 1)[0]} of tenant beta in cell 1: one was claimed."
    )
    for cell, tenant in enumerate(("acme", "beta")):
        assert f"pgrecall --tenant {tenant} keys revoke {numbers(apart, cell)[0]}" in found.fix
        apart.memory(tenant).keys.revoke(numbers(apart, cell)[0])
    assert not [found for found in apart.fleet.check() if found.level == "fail"]


def test_a_claimed_session_opens_nothing(apart: Installation) -> None:
    secrets = {tenant: apart.memory(tenant).keys.create("key").secret for tenant in ("acme", "beta")}
    assert apart.memory().keys.open_session(secrets["acme"], "cookie", 60)
    digest = hashlib.sha256(b"cookie").hexdigest()
    apart.ask(
        1,
        "INSERT INTO recall.page_session (tenant, digest, key_id, ends_at) SELECT tenant, "
        f"'\\x{digest}', id, now() + interval '1 hour' FROM recall.api_key",
    )
    with pytest.raises(DatabaseError, match="for different tenants"):
        apart.memory().keys.session_tenant("cookie")
    [found] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert found.message.startswith(f"A session of key {numbers(apart, 0)[0]} of tenant acme in cell 0 has")


def test_a_key_that_is_in_use_is_not_lost_to_a_claim(apart: Installation) -> None:
    client = apart.memory()
    secret = client.keys.create("key").secret
    assert client.keys.holder(secret) is not None
    claimed(apart, secret)
    assert (holder := client.keys.holder(secret)) is not None
    assert holder.tenant == "acme"


def test_a_claim_of_a_revoked_key_is_named(apart: Installation) -> None:
    """Nobody can prove whose a digest is: the claim opens the claiming tenant, and nothing of the key's."""
    own = apart.memory("beta").status().memories
    client = apart.memory()
    client.remember("Mira signs the harbour contract.", key="contract")
    key = client.keys.create("key")
    client.keys.revoke(key.key.id)
    claimed(apart, key.secret)
    assert (found := client.keys.holder(key.secret)) is not None
    assert found.tenant == "beta"
    assert apart.memory(found.tenant).status().memories == own
    [claim] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert claim.fix.endswith(f": pgrecall --tenant beta keys revoke {numbers(apart, 1)[0]}")


def test_a_session_ends_where_its_tenant_lives(apart: Installation) -> None:
    client = apart.memory()
    secret = client.keys.create("key").secret
    assert client.keys.open_session(secret, "cookie", 60)
    apart.ask(1, "INSERT INTO recall.resident (tenant) VALUES ('acme')")
    for table in ("api_key", "page_session"):
        [row] = apart.ask(0, f"SELECT to_jsonb(t)::text AS held FROM recall.{table} t")
        record = f"jsonb_populate_record(NULL::recall.{table}, '{row['held']}')"
        apart.ask(1, f"INSERT INTO recall.{table} OVERRIDING SYSTEM VALUE SELECT * FROM {record}")
    elsewhere = apart.memory("beta")
    elsewhere.keys.holder(elsewhere.keys.create("beta's").secret)
    assert elsewhere.keys.close_session("cookie")
    assert apart.ask(0, "SELECT FROM recall.page_session") == []
    assert elsewhere.keys.session_tenant("cookie") is None


def test_a_grant_is_found_and_exchanged_where_its_tenant_lives(apart: Installation) -> None:
    client, elsewhere = apart.memory(), apart.memory("beta")
    elsewhere.keys.holder(elsewhere.keys.create("beta's").secret)
    assert client.keys.open_session(client.keys.create("key").secret, "cookie", 60)
    code = new_token("c")
    assert client.keys.open_grant("cookie", code, {"client_id": "agent"}, 60)
    found = elsewhere.keys.grant(code)
    assert found is not None
    assert (found.tenant, found.terms, found.usable) == ("acme", {"client_id": "agent"}, True)
    refresh, access = new_token("r", code[5:27]), new_token("a", code[5:27])
    assert not elsewhere.keys.exchange_grant(code, refresh, access, 60, 60)  # it is none of beta's
    assert not elsewhere.keys.close_grant(code)
    assert client.keys.exchange_grant(code, refresh, access, 60, 60)
    assert [found.usable for token in (code, access) if (found := elsewhere.keys.grant(token))] == [
        False,
        True,
    ]
    assert not client.keys.exchange_grant(code, refresh, access, 60, 60)
    assert elsewhere.keys.grant(access) is None


def test_a_tenant_that_is_just_moving_keeps_its_keys(
    apart: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = apart.memory("beta")
    secret = apart.memory().keys.create("key").secret
    assert client.keys.holder(secret) is not None
    [row] = apart.ask(0, "SELECT to_jsonb(t)::text AS held FROM recall.api_key t")
    record = f"jsonb_populate_record(NULL::recall.api_key, '{row['held']}')"
    apart.ask(1, f"INSERT INTO recall.api_key OVERRIDING SYSTEM VALUE SELECT * FROM {record}")
    apart.ask(1, "INSERT INTO recall.resident (tenant) VALUES ('acme')")
    apart.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1")
    flip = "UPDATE recall_cells.place SET cell = 1, version = DEFAULT WHERE tenant = 'acme'"
    monkeypatch.setattr(
        "pgrecall.client._sync.tenant_finder.sync_sleep", lambda _: apart.fleet.directory.run(flip)
    )
    holder = client.keys.holder(secret)
    assert holder is not None
    assert holder.tenant == "acme"


def test_keys_of_a_tenant_that_has_left_are_no_keys(apart: Installation) -> None:
    client = apart.memory()
    client.keys.create("old")
    assert client.keys.any()
    apart.flip("acme", 0, 1)
    assert not client.keys.any()


def test_without_the_directory_known_tenants_keep_their_keys(
    apart: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cells.routes.PLACE_KNOWN", 0.0)
    client = apart.memory()
    secrets = {tenant: client.for_tenant(tenant).keys.create("key").secret for tenant in ("acme", "beta")}
    fresh = apart.memory()
    assert fresh.keys.holder(secrets["acme"]) is not None
    name = conninfo_to_dict(apart.directory)["dbname"]
    with psycopg.connect(make_conninfo(apart.directory, dbname="postgres"), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    holder = fresh.keys.holder(secrets["acme"])
    assert holder is not None
    assert holder.tenant == "acme"
    with pytest.raises(DatabaseUnavailable, match="The directory of cells cannot be reached"):
        fresh.keys.holder(secrets["beta"])  # nobody can say where beta lives


def test_keys_of_a_cell_that_was_just_added_are_found(
    server: Server, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cells.routes.CELLS_KNOWN", 0.0)
    with installed(server, template, 2) as made:
        made.add(0)
        client = made.memory()
        assert client.keys.holder("pgr_unknown") is None  # so that it knows the cells
        made.add(1).fleet.place("beta", 1)
        secret = made.memory("beta").keys.create("new").secret
        holder = client.keys.holder(secret)
        assert holder is not None
        assert holder.tenant == "beta"


def test_a_cell_that_answers_late_keeps_no_key_of_another(apart: Installation) -> None:
    secrets = {tenant: apart.memory(tenant).keys.create("key").secret for tenant in ("acme", "beta")}
    client = apart.memory("beta", connect_timeout=1.0)
    with psycopg.connect(apart.cells[0]) as late:
        late.execute("LOCK TABLE recall.api_key IN ACCESS EXCLUSIVE MODE")
        holder = client.keys.holder(secrets["beta"])
        assert holder is not None
        assert holder.tenant == "beta"
        with pytest.raises(DatabaseUnavailable):  # it may be a key of the late one: it is not unknown
            client.keys.holder(secrets["acme"])
    late.close()


WRONG = {
    "it refuses": "BEGIN RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'no such key'; END",
    "it is broken": "BEGIN RAISE EXCEPTION 'broken'; END",
    "it may not": "BEGIN RAISE EXCEPTION USING ERRCODE = '42501'; END",
    "it is of another version": None,
    "it names nobody": "BEGIN RETURN QUERY SELECT ''::text, 1::bigint; END",
    "it names everybody": "BEGIN RETURN QUERY SELECT '*'::text, 1::bigint; END",
    "it names another's tenant": "BEGIN RETURN QUERY SELECT 'beta'::text, 1::bigint; END",
    "it names a tenant that is none": "BEGIN RETURN QUERY SELECT repeat('x', 100000), 1::bigint; END",
    "it names many": (
        "BEGIN RETURN QUERY SELECT e'a\\x1b\\n'::text, 1::bigint FROM generate_series(1, 9); END"
    ),
}
"""What a cell may answer when it is asked for the holder of a key: the body of the function."""


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_answer_of_one_cell_closes_no_other(apart: Installation, answer: str) -> None:
    secret = apart.memory("beta").keys.create("key").secret
    body = WRONG[answer]
    apart.ask(0, "DROP FUNCTION recall.key_holder(bytea, timestamptz)")
    if body is not None:
        apart.ask(
            0,
            "CREATE FUNCTION recall.key_holder(p_hash bytea, p_now timestamptz DEFAULT now()) "
            f"RETURNS TABLE (tenant text, id bigint) LANGUAGE plpgsql AS $$ {body} $$",
        )
    client = apart.memory("beta")
    holder = client.keys.holder(secret)
    assert holder is not None
    assert holder.tenant == "beta"
    with suppress(DatabaseError):  # it may be known to the cell that does not say so
        assert client.keys.holder("pgr_unknown") is None
