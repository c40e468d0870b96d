"""docker-compose.yml as processes: from an empty database to a search, a restart and an upgrade."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from psycopg import sql

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema.state import head_revision
from tests.acceptance.deploy.compose_tools import ROOT, Compose, interpolated, services
from tests.migration.old_schemas import REVISIONS, fill, take_to
from tests.waiting import PATIENCE, until

pytestmark = [
    pytest.mark.skipif(shutil.which("bash") is None, reason="the health checks need bash, as in the image"),
]

# Signs that break a URL, a shell or SQL where they are not kept apart.
DOTENV = {
    "POSTGRES_PASSWORD": "ad@min:/ %41'\"",
    "PGRECALL_APP_PASSWORD": "app $HOME `id` '\\",
    "PGRECALL_WORKER_PASSWORD": "wörker;--",
    "PGRECALL_TENANT": "acme",
    "PGRECALL_EMBEDDER": "hash",
    "PGRECALL_EMBEDDER_DIMENSIONS": "64",
}
SERVICES = ("worker", "server")
PASSWORDS_ASKED = "local all postgres trust\nlocal all all scram-sha-256\n"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return str(found.getsockname()[1])


@pytest.fixture
def database(open_folder: Path) -> Iterator[EmbeddedServer]:
    """A server as the image `db` makes it on a new volume: its administrator, and an empty database."""
    with EmbeddedServer.start(open_folder / "data", fast=True) as server:
        database = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["db"]["environment"]
        made = interpolated(database, DOTENV)
        with psycopg.connect(server.url, autocommit=True) as connection:
            user, name = sql.Identifier(made["POSTGRES_USER"]), sql.Identifier(made["POSTGRES_DB"])
            password = sql.Literal(made["POSTGRES_PASSWORD"])
            connection.execute(sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(user, password))
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, user))
            (server.data_dir / "postgres" / "pg_hba.conf").write_text(PASSWORDS_ASKED)
            connection.execute("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def compose(database: EmbeddedServer, tmp_path: Path) -> Iterator[Compose]:
    socket_folder = psycopg.conninfo.conninfo_to_dict(database.url)["host"]
    ports = {"8766": free_port(), "8767": free_port()}
    compose = Compose(DOTENV, str(socket_folder), ports, tmp_path)
    with compose.stack:
        yield compose


def up(compose: Compose) -> None:
    """``docker compose up --wait``: each service once those that it depends on are done or healthy."""
    migrated = compose.run("migrate")
    assert migrated.returncode == 0, migrated.stdout + migrated.stderr
    for service in SERVICES:
        assert not compose.healthy(service)
        compose.start(service)
    for service in SERVICES:
        until(partial(compose.healthy, service), f"the health of {service}", pause=0.2)


def down(compose: Compose) -> None:
    assert {compose.stop(service) for service in list(compose.running)} == {0}


def asking(compose: Compose, port: str = "8766") -> Callable[..., httpx.Response]:
    address = f"http://127.0.0.1:{compose.ports[port]}"

    def ask(method: str, path: str, **options: Any) -> httpx.Response:
        return httpx.request(method, address + path, timeout=PATIENCE, trust_env=False, **options)

    return ask


def figures(compose: Compose) -> str:
    return asking(compose, "8767")("GET", "/metrics").text


def found(compose: Compose, key: str, query: str) -> list[Any]:
    answer = asking(compose)(
        "POST", "/v1/search", json={"query": query}, headers={"Authorization": f"Bearer {key}"}
    )
    assert answer.status_code == 200, answer.text
    hits: list[Any] = answer.json()["hits"]
    return hits


def test_an_empty_volume_becomes_a_service_that_answers(compose: Compose, database: EmbeddedServer) -> None:
    up(compose)
    ask = asking(compose)

    # Nobody gets in before there is a key, and the answer names the way to one.
    for method, path in (("GET", "/v1/status"), ("POST", "/v1/search"), ("POST", "/mcp"), ("GET", "/mcp")):
        refused = ask(method, path)
        assert refused.status_code == 401
        assert "pgrecall keys create" in refused.json()["detail"]
    assert "pgrecall keys create" in ask("GET", "/", follow_redirects=True).text

    made = compose.run("server", "pgrecall", "keys", "create", "editor")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    header = {"Authorization": f"Bearer {key}"}
    assert ask("GET", "/v1/status").status_code == 401  # the first key opens the service for its holder alone
    stored = ask("POST", "/v1/memories", json={"body": "Mira signs the harbour contract."}, headers=header)
    assert stored.status_code == 200, stored.text
    assert ask("GET", "/v1/status", headers=header).json()["tenant"] == "acme"
    assert [hit["body"] for hit in found(compose, key, "harbour contract")] == [
        "Mira signs the harbour contract."
    ]

    counted = 'pgrecall_worker_run_seconds_count{job="partitions",state="done"} 1.0'
    until(lambda: counted in figures(compose), "a run of a job in the worker's metrics", pause=0.2)
    assert "acme" not in figures(compose)
    checked = compose.run("server", "pgrecall", "doctor")
    assert checked.returncode == 0, checked.stdout

    # Both checks see a database that is away, and that it is back.
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE pgrecall ALLOW_CONNECTIONS false")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'pgrecall'"
        )
        for service in SERVICES:
            until(lambda name=service: not compose.healthy(name), f"the report of {service}", pause=0.2)
        connection.execute("ALTER DATABASE pgrecall ALLOW_CONNECTIONS true")
    for service in SERVICES:
        until(partial(compose.healthy, service), f"the health of {service}", pause=0.2)

    # `up` again, with a new password: the schema is left as it is, and keys and memories are still there.
    down(compose)
    compose.configure(PGRECALL_APP_PASSWORD="another one")
    up(compose)
    assert found(compose, key, "harbour contract")
    down(compose)


def test_an_older_release_is_upgraded(compose: Compose, database: EmbeddedServer) -> None:
    """The volume as an earlier revision left it: `up` upgrades it before worker and service start."""
    administrator = database.url.replace("@/postgres", "@/pgrecall")
    take_to(administrator, REVISIONS[-3])
    fill(administrator, REVISIONS[-3])
    up(compose)
    with psycopg.connect(administrator) as connection:
        assert connection.execute("SELECT revision FROM recall.installation()").fetchone() == (
            head_revision(),
        )
    made = compose.run("server", "pgrecall", "keys", "create", "editor")
    assert found(compose, made.stdout.strip(), "harbour")
    down(compose)


@pytest.mark.parametrize("name", ["POSTGRES_PASSWORD", "PGRECALL_APP_PASSWORD", "PGRECALL_WORKER_PASSWORD"])
def test_without_a_password_nothing_starts(name: str) -> None:
    with pytest.raises(KeyError, match="set it in the environment"):
        services({**DOTENV, name: ""})
