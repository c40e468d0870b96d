"""Keys of the HTTP service: whose they are, what is kept of them, and when they open nothing."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.models.keys import KeyHolder
from tests.conftest import Query

pytestmark = pytest.mark.in_turns


def test_a_key_acts_for_its_tenant_and_is_kept_as_a_digest(memory: Memory, query: Query) -> None:
    issued = memory.create_key("  the crane's agent ")
    assert issued.key.name == "the crane's agent"
    assert issued.secret.startswith("pgr_")
    assert len(issued.secret) == 47
    assert memory.key_holder(issued.secret) == KeyHolder("acme", issued.key.id)
    [row] = query("SELECT * FROM recall.api_key")
    assert row["hash"] == hashlib.sha256(issued.secret.encode()).digest()
    assert not any(issued.secret in str(value) for value in row.values())
    assert issued.secret not in repr(issued)


def test_no_two_keys_are_alike(memory: Memory) -> None:
    assert len({memory.create_key("agent").secret for _ in range(20)}) == 20


@pytest.mark.parametrize("secret", ["", "pgr_", "pgr_unknown", "\ud800", "\x00"])
def test_an_unknown_key_has_no_holder(memory: Memory, secret: str) -> None:
    memory.create_key("agent")
    assert memory.key_holder(secret) is None


def test_a_revoked_key_has_no_holder_and_stays_in_the_list(memory: Memory, now: datetime) -> None:
    first, second = memory.create_key("first", now=now), memory.create_key("second", now=now)
    assert memory.revoke_key(first.key.id, now=now + timedelta(days=1))
    assert not memory.revoke_key(first.key.id, now=now + timedelta(days=2))
    assert memory.key_holder(first.secret) is None
    assert memory.key_holder(second.secret) is not None
    assert [(key.name, key.revoked_at) for key in memory.api_keys()] == [
        ("second", None),
        ("first", now + timedelta(days=1)),
    ]


def test_keys_of_another_tenant_are_neither_seen_nor_revoked(memory: Memory) -> None:
    issued = memory.create_key("ours")
    other = memory.for_tenant("other")
    assert other.api_keys() == ()
    with pytest.raises(InvalidInput, match=f"There is no key {issued.key.id} in this tenant"):
        other.revoke_key(issued.key.id)
    # Whom a key acts for does not depend on who asks.
    assert other.key_holder(issued.secret) == KeyHolder("acme", issued.key.id)


def test_a_use_is_noted_once_a_minute(memory: Memory, now: datetime) -> None:
    secret = memory.create_key("agent", now=now).secret
    for seconds in (0, 30, 59):
        memory.key_holder(secret, now=now + timedelta(seconds=seconds))
        assert memory.api_keys()[0].last_used_at == now
    memory.key_holder(secret, now=now + timedelta(seconds=61))
    assert memory.api_keys()[0].last_used_at == now + timedelta(seconds=61)


def test_a_key_is_recognised_where_nothing_can_be_written(memory: Memory, database_url: str) -> None:
    issued = memory.create_key("agent")
    hashed = hashlib.sha256(issued.secret.encode()).digest()
    with psycopg.connect(database_url) as connection:
        connection.read_only = True
        found = connection.execute("SELECT * FROM recall.key_holder(%s)", (hashed,)).fetchall()
    assert found == [("acme", issued.key.id)]
    assert memory.api_keys()[0].last_used_at is None


def test_whether_there_is_any_key(memory: Memory) -> None:
    other = memory.for_tenant("other")
    assert not memory.any_key()
    key = other.create_key("agent").key.id
    assert memory.any_key()
    other.revoke_key(key)
    assert not memory.any_key()


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x00b", "\ud800"])
def test_a_name_that_cannot_be_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.create_key(name)
    assert memory.api_keys() == ()


@pytest.mark.parametrize("key", [-1, 0, 99, 2**63, -(2**70)])
def test_an_unknown_key_cannot_be_revoked(memory: Memory, key: int) -> None:
    with pytest.raises(InvalidInput, match="There is no key"):
        memory.revoke_key(key)


def test_a_digest_is_a_digest(memory: Memory, query: Query) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="32 bytes"):
        query("SELECT * FROM recall.create_key('agent', 'pgr_the_key_itself')")


def test_the_census_tells_of_all_tenants_and_of_none(memory: Memory) -> None:
    memory.remember("A note on tides.", layer="episodic")
    memory.for_tenant("other").remember("A note on cranes.", layer="episodic")
    memory.for_tenant("other").forget(memory.for_tenant("other").remember("Gone.").id)
    memory.run_job("vitality", all_tenants=True)
    census = memory.census()
    assert [(zone.layer, zone.zone, zone.memories) for zone in census.zones] == [("episodic", "active", 2)]
    assert (census.archived, census.awaiting_embedding) == (1, 0)
    [job] = census.jobs
    assert (job.job, job.tenants, job.running, job.failed) == ("vitality", 2, 0, 0)
    assert job.done_at is not None
    assert "other" not in repr(census)


def test_the_census_tells_zones_with_the_floor_that_holds_now(memory: Memory) -> None:
    held, left = (memory.remember(body, layer="episodic").id for body in ("Held.", "Left."))
    assert [(zone.zone, zone.memories) for zone in memory.census().zones] == [(None, 2)]
    memory.pin(held)
    memory.run_job("vitality", now=datetime.now(UTC) + timedelta(days=3650))
    assert [(zone.zone, zone.memories) for zone in memory.census().zones] == [("archived", 1), ("stale", 1)]
    memory.pin(left)
    assert [(zone.zone, zone.memories) for zone in memory.census().zones] == [("stale", 2)]


def test_the_state_of_the_schema_is_that_of_this_version(memory: Memory) -> None:
    from pgrecall.schema import migrate

    state = memory.schema_state()
    assert (state.revision, state.functions) == (migrate.head_revision(), migrate.functions_fingerprint())
