"""Replicas with another log: of another cluster, or of a primary whose place another one has taken.

Such a server may have replayed more bytes than are required, and still lack what was written, or hold
memories of others under the same tenant.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.faults.victim import Victim
from tests.integration.replicas.conftest import Opened, Pair
from tests.integration.replicas.test_search_on_replica import by_replica
from tests.server_folders import server_folder
from tests.waiting import until

OTHER_LOG = "it follows another primary, or has not caught up since the last promotion"
SECRET = "The winch belongs to somebody else"


def position(server: Victim) -> int:
    query = (
        "SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() "
        "ELSE pg_current_wal_lsn() END, '0/0')::bigint"
    )
    with server.admin() as admin:
        [found] = admin.execute(query.encode()).fetchone() or (0,)
    return int(found)


def write_beyond(server: Victim, end: int) -> None:
    """Has a primary write until its log is longer."""
    with server.admin() as admin:
        while position(server) < end:
            admin.execute("SELECT pg_logical_emit_message(false, 'test', 'more'), pg_switch_wal()")


@pytest.fixture
def promoted(pair: Pair) -> Iterator[Victim]:
    """A second standby that has become a primary, while the first standby still follows the old one."""
    pair.catch_up()
    with server_folder() as folder, ExitStack() as stack:
        pair.standby.stop()
        three = folder / "three"
        subprocess.run(["cp", "-a", str(pair.standby.server.data_dir), str(three)], check=True)
        shutil.rmtree(three / "run", ignore_errors=True)
        pair.standby.start()
        server = Victim(stack.enter_context(EmbeddedServer.start(three)), "postgres", "")
        with server.admin() as admin:
            admin.execute("SELECT pg_promote()")
        yield server


def test_a_standby_of_the_old_primary_is_not_believed_after_a_promotion(
    opened: Opened, pair: Pair, promoted: Victim
) -> None:
    with Memory(
        promoted.url,
        replica=pair.standby.url,
        settings=Settings(tenant="after-promotion", embedder="hash", replica_lag=60),
        embedder=HashEmbedder(DIMENSIONS),
    ) as client:
        client.remember("The winch is new")
        write_beyond(pair.primary, position(promoted) + 2**20)
        pair.catch_up()
        assert position(pair.standby) > position(promoted)
        result = client.search("winch")
        assert [hit.body for hit in result.hits] == ["The winch is new"]
        assert result.staleness is None
        [reason] = result.skipped
        assert reason == f"replica: the primary answered: {OTHER_LOG}"
        status = client.status().replica
    assert status is not None
    assert "another primary" in status.problem


@pytest.fixture
def stranger(pair: Pair) -> Iterator[Victim]:
    """A standby of another installation, whose log is longer, with a tenant of the same name."""
    with server_folder() as folder, ExitStack() as stack:
        data = folder / "stranger"
        with EmbeddedServer.start(data, fast=True) as server:
            migrate.upgrade(server.url, dimensions=DIMENSIONS)
            victim = Victim(server, "postgres", "")
            settings = Settings(tenant="twins", embedder="hash", database_url=server.url)
            with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
                client.remember(SECRET)
            write_beyond(victim, position(pair.primary) + 2**26)
        (data / "postgres" / "standby.signal").touch()
        yield Victim(stack.enter_context(EmbeddedServer.start(data)), "postgres", "")


def test_an_address_that_leads_to_another_installation_later(
    pair: Pair, stranger: Victim, tmp_path: Path
) -> None:
    """As when a name is resolved anew, or a port is taken over: what was checked once is checked again."""
    way = Path(str(conninfo_to_dict(stranger.url)["host"])).parent / "way"
    way.symlink_to(str(conninfo_to_dict(pair.standby.url)["host"]))
    address = make_conninfo(pair.standby.url, host=str(way))
    with Memory(
        pair.primary.url,
        replica=address,
        settings=Settings(tenant="twins", embedder="hash", replica_lag=60),
        embedder=HashEmbedder(DIMENSIONS),
    ) as client:
        client.remember("The winch is ours")
        pair.catch_up()
        by_replica(client)
        way.unlink()
        way.symlink_to(str(conninfo_to_dict(stranger.url)["host"]))
        assert position(stranger) > position(pair.primary)
        with pair.standby.admin() as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            )
        for _ in range(3):
            result = client.search("winch")
            assert SECRET not in {hit.body for hit in result.hits}
            assert [hit.body for hit in result.hits] == ["The winch is ours"]
            assert result.staleness is None
        until(lambda: client.search("winch").skipped, "a reason")
