"""Keys of the HTTP service: whose they are, what is kept of them, and when they open nothing."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.nouns.keys.models import KeyHolder
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def test_a_key_acts_for_its_tenant_and_is_kept_as_a_digest(memory: Memory, query: Query) -> None:
    issued = memory.keys.create("  the crane's agent ")
    assert issued.key.name == "the crane's agent"
    assert issued.secret.startswith("pgr_")
    assert len(issued.secret) == 47
    assert memory.keys.holder(issued.secret) == KeyHolder("acme", issued.key.id)
    [row] = query("SELECT * FROM recall.api_key")
    assert row["hash"] == hashlib.sha256(issued.secret.encode()).digest()
    assert not any(issued.secret in str(value) for value in row.values())
    assert issued.secret not in repr(issued)


def test_no_two_keys_are_alike(memory: Memory) -> None:
    assert len({memory.keys.create("agent").secret for _ in range(20)}) == 20


@pytest.mark.parametrize("secret", ["", "pgr_", "pgr_unknown", "\ud800", "\x00"])
def test_an_unknown_key_has_no_holder(memory: Memory, secret: str) -> None:
    memory.keys.create("agent")
    assert memory.keys.holder(secret) is None


def test_a_revoked_key_has_no_holder_and_stays_in_the_list(memory: Memory, now: datetime) -> None:
    first, second = memory.keys.create("first", now=now), memory.keys.create("second", now=now)
    assert memory.keys.revoke(first.key.id, now=now + timedelta(days=1))
    assert not memory.keys.revoke(first.key.id, now=now + timedelta(days=2))
    assert memory.keys.holder(first.secret) is None
    assert memory.keys.holder(second.secret) is not None
    assert [(key.name, key.revoked_at) for key in memory.keys.list()] == [
        ("second", None),
        ("first", now + timedelta(days=1)),
    ]


def test_keys_of_another_tenant_are_neither_seen_nor_revoked(memory: Memory) -> None:
    issued = memory.keys.create("ours")
    other = memory.for_tenant("other")
    assert other.keys.list() == ()
    with pytest.raises(InvalidInput, match=f"There is no key {issued.key.id} in this tenant"):
        other.keys.revoke(issued.key.id)
    # Whom a key acts for does not depend on who asks.
    assert other.keys.holder(issued.secret) == KeyHolder("acme", issued.key.id)


def test_a_use_is_noted_once_a_minute(memory: Memory, now: datetime) -> None:
    secret = memory.keys.create("agent", now=now).secret
    for seconds in (0, 30, 59):
        memory.keys.holder(secret, now=now + timedelta(seconds=seconds))
        assert memory.keys.list()[0].last_used_at == now
    memory.keys.holder(secret, now=now + timedelta(seconds=61))
    assert memory.keys.list()[0].last_used_at == now + timedelta(seconds=61)


def test_a_key_is_recognised_where_nothing_can_be_written(memory: Memory, database_url: str) -> None:
    issued = memory.keys.create("agent")
    hashed = hashlib.sha256(issued.secret.encode()).digest()
    with psycopg.connect(database_url) as connection:
        connection.read_only = True
        found = connection.execute("SELECT * FROM recall.key_holder(%s)", (hashed,)).fetchall()
    assert found == [("acme", issued.key.id, [])]
    assert memory.keys.list()[0].last_used_at is None


def test_whether_there_is_any_key(memory: Memory) -> None:
    other = memory.for_tenant("other")
    assert not memory.keys.any()
    key = other.keys.create("agent").key.id
    assert memory.keys.any()
    other.keys.revoke(key)
    assert not memory.keys.any()


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x00b", "\ud800"])
def test_a_name_that_cannot_be_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.keys.create(name)
    assert memory.keys.list() == ()


@pytest.mark.parametrize("key", [-1, 0, 99, 2**63, -(2**70)])
def test_an_unknown_key_cannot_be_revoked(memory: Memory, key: int) -> None:
    with pytest.raises(InvalidInput, match="There is no key"):
        memory.keys.revoke(key)


def test_a_digest_is_a_digest(memory: Memory, query: Query) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="32 bytes"):
        query("SELECT * FROM recall.create_key('agent', 'pgr_the_key_itself')")


def test_the_census_counts_all_tenants_and_names_none(memory: Memory) -> None:
    memory.remember("A note on tides.", layer="episodic")
    memory.for_tenant("other").remember("A note on cranes.", layer="episodic")
    memory.for_tenant("other").forget(memory.for_tenant("other").remember("Gone.").id)
    memory.jobs.run("vitality", all_tenants=True)
    census = memory.service.census()
    assert [(zone.layer, zone.zone, zone.memories) for zone in census.zones] == [("episodic", "active", 2)]
    assert (census.archived, census.awaiting_embedding) == (1, 0)
    [job] = census.jobs
    assert (job.job, job.tenants, job.running, job.failed) == ("vitality", 2, 0, 0)
    assert job.done_at is not None
    assert "other" not in repr(census)


def test_the_census_counts_zones_with_the_current_floor(memory: Memory) -> None:
    held, left = (memory.remember(body, layer="episodic").id for body in ("Held.", "Left."))
    assert [(zone.zone, zone.memories) for zone in memory.service.census().zones] == [(None, 2)]
    memory.pin(held)
    memory.jobs.run("vitality", now=datetime.now(UTC) + timedelta(days=3650))
    assert [(zone.zone, zone.memories) for zone in memory.service.census().zones] == [
        ("dormant", 1),
        ("stale", 1),
    ]
    memory.pin(left)
    assert [(zone.zone, zone.memories) for zone in memory.service.census().zones] == [("stale", 2)]


def test_the_state_of_the_schema_is_that_of_this_version(memory: Memory) -> None:
    from pgrecall.schema import migrate

    state = memory.service.schema()
    assert (state.revision, state.functions) == (migrate.head_revision(), migrate.functions_fingerprint())
