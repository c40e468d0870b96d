"""Secrets stay out of whatever is said: every setting holds a canary, every face is run into failures.

A canary is looked for in standard output and error, in answers, logs, representations, tracebacks, and in
the command lines of all processes.
"""

from __future__ import annotations

import gc
import json
import logging
import stat
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import RecallError
from pgrecall.schema import migrate
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.rerank.reranker import make_reranker
from pgrecall.settings import Settings, load_settings
from tests.acceptance.cli.command_tools import DIMENSIONS, Command
from tests.acceptance.http.http_tools import Served, member, serving
from tests.http_endpoint import Endpoint, Reply

CANARY = "sekrit9canary"
NOWHERE = "127.0.0.1:9"

SECRETS = {
    "embedder_url": f"http://me:{CANARY}@{NOWHERE}/v1?key={CANARY}",
    "embedder_key": CANARY,
    "embedder_model": "m",
    "reranker_url": f"http://me:{CANARY}@{NOWHERE}/r?key={CANARY}",
    "reranker_key": CANARY,
    "reranker_model": "m",
    "llm_url": f"http://me:{CANARY}@{NOWHERE}/v1?key={CANARY}",
    "llm_key": CANARY,
    "llm_model": "m",
    "server": f"http://me:{CANARY}@{NOWHERE}",
    "role_password": CANARY,
}
"""All but the database's URL; services that nobody is."""

UNUSABLE = (
    f"postgresql://someone:{CANARY}@{NOWHERE}/db",
    f"postgresql://someone:{CANARY}@nowhere.invalid/db",
    f"postgresql://someone:{CANARY}@[bad",
    f"postgresql://someone:{CANARY}%zz@{NOWHERE}/db",
    f"postgresql://someone:{CANARY}@{NOWHERE}/db?unknown={CANARY}",
    f"postgresql://someone:p@{CANARY}@{NOWHERE}/db",
    f"postgresql://someone:p/{CANARY}@{NOWHERE}/db",
    f"postgresql://someone:p?{CANARY}@{NOWHERE}/db",
    f"postgresql://someone:p#{CANARY}@{NOWHERE}/db",
    f"postgresql://someone:p:{CANARY}@{NOWHERE}/db",
    f"host=127.0.0.1 port=9 password={CANARY} unknown=1",
    f"host=127.0.0.1 port=9 password='{CANARY}",
    f"mysql://someone:{CANARY}@{NOWHERE}/db",
    CANARY,
)
"""Databases that cannot be reached, and addresses that cannot be read, as an unescaped password makes."""


def hidden(*told: object) -> bool:
    return not any(CANARY in str(one) for one in told)


def failure(doing: Callable[[], object]) -> str:
    """What an error of ours says with all that led to it, as an unhandled one is printed."""
    with pytest.raises(RecallError) as failed:
        doing()
    error = failed.value
    told = "".join(traceback.TracebackException.from_exception(error).format())
    return f"{told}{error!r}{error.args}{getattr(error, 'hint', '')}"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Whatever any library logs, down to the least; but the wire, on which httpcore shows each header."""
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.INFO, "httpcore"):
        yield caplog


def test_settings_show_no_secret(log: pytest.LogCaptureFixture) -> None:
    settings = Settings(
        database_url=SecretStr(UNUSABLE[0]), embedder="http", reranker="http", **_typed(SECRETS)
    )
    assert hidden(repr(settings), settings)
    assert hidden(repr(make_embedder(settings)), repr(make_reranker(settings)))
    assert hidden(failure(lambda: load_settings(database_url=UNUSABLE[0], pool_size="many", tenant="*")))
    assert hidden(log.text)


def _typed(settings: dict[str, str]) -> dict[str, Any]:
    return dict(settings)


@pytest.mark.parametrize("url", UNUSABLE)
def test_a_database_url_is_not_repeated(url: str, log: pytest.LogCaptureFixture) -> None:
    settings = Settings(database_url=SecretStr(url), embedder="none", connect_timeout=2)
    assert hidden(failure(lambda: Memory(settings=settings)))
    assert hidden(failure(lambda: migrate.upgrade(url, dimensions=DIMENSIONS)))
    assert hidden(log.text)


COMMANDS = (
    ("status", "--json"),
    ("doctor", "--json"),
    ("search", "harbour"),
    ("init",),
    ("serve", "--port", "0"),
    ("worker",),
    ("roles", "create", "someone", "--for", "acme"),
)


@pytest.mark.parametrize("url", [UNUSABLE[0], UNUSABLE[5]], ids=["unreachable", "unreadable"])
def test_no_command_prints_a_secret_without_a_database(bare_pgrecall: Command, url: str) -> None:
    told = {"embedder": "http", "reranker": "http", "connect_timeout": "2", "database_url": url}
    for command in COMMANDS:
        ended = bare_pgrecall(*command, **SECRETS, **told)
        assert ended.code != 0, command
        assert hidden(ended.out, ended.err), command


ANSWERS: tuple[Reply, ...] = (
    Reply(401, json.dumps({"error": {"message": f"Incorrect API key provided: {CANARY}"}}).encode()),
    Reply(400, json.dumps({"error": {"message": f"no such key {CANARY}"}}).encode()),
    Reply(500, f"Bearer {CANARY} broke".encode()),
    Reply(302, b"", {"Location": f"http://{NOWHERE}/?key={CANARY}"}),
    Reply(200, json.dumps({"data": [{"embedding": [CANARY]}]}).encode()),
)
"""What a service says that quotes the key, or breaks."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint(lambda _: Reply())
    yield running
    running.stop()


def with_models_at(endpoint: Endpoint) -> dict[str, str]:
    address = endpoint.url.replace("http://", f"http://me:{CANARY}@") + f"/v1?key={CANARY}"
    return SECRETS | {"embedder_url": address, "reranker_url": address, "llm_url": address, "server": "off"}


@pytest.fixture
def tidied() -> Iterator[None]:
    """What a test leaves behind is collected in it, not in whichever runs when Python next looks."""
    yield
    gc.collect()


@pytest.mark.usefixtures("tidied")
@pytest.mark.filterwarnings(  # a command that ends leaves its connections to the system
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer.status} {answer.body[:12].decode()}")
def test_no_error_of_a_model_service_reveals_its_key(
    pgrecall: Command, endpoint: Endpoint, answer: Reply, log: pytest.LogCaptureFixture
) -> None:
    endpoint.replies = [Reply(answer.status, answer.body, {**answer.headers, "Retry-After": "0"})]
    told = with_models_at(endpoint) | {"embedder": "http", "reranker": "http"}
    pgrecall("import", "-", **told)
    for command in (
        ("search", "harbour"),
        ("search", "harbour", "--rerank", "--explain", "--json"),
        ("search", "harbour", "--plan"),
        ("doctor", "--json"),
        ("status", "--json"),
        ("jobs", "run", "embed", "--json"),
    ):
        ended = pgrecall(*command, **told)
        assert hidden(ended.out, ended.err), command
    assert hidden(log.text)
    assert endpoint.requests


@pytest.fixture
def served(database_url: str, endpoint: Endpoint, tmp_path: Path) -> Iterator[tuple[Served, str]]:
    """A service all of whose secrets are the canary, and whose models refuse; and a key to it."""
    endpoint.replies = [ANSWERS[0]]
    with member(database_url) as memory:
        memory.remember("The harbour master signs on Friday.", key="harbour")
        key = memory.keys.create("editor").secret
    url = make_conninfo(database_url, password=CANARY)
    told = with_models_at(endpoint) | {
        "embedder": "http",
        "reranker": "http",
        "data_dir": str(tmp_path / "data"),
    }
    with serving(url, **told) as running:
        yield running, key


def _requests(wrong: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Requests that show a key wherever one could put it."""
    paths = (
        "/v1/status",
        "/v1/memories/harbour",
        "/",
        "/overview",
        "/mcp/",
        "/healthz",
        "/metrics",
        "/nowhere",
    )
    for path in paths:
        for headers in (
            {},
            {"Authorization": f"Bearer {wrong}"},
            {"Authorization": f"Basic {wrong}"},
            {"Authorization": wrong},
            {"Cookie": f"pgrecall_session={wrong}"},
            {"X-Api-Key": wrong},
        ):
            yield "GET", path, {"headers": headers}
        yield "GET", path, {"params": {"key": wrong, "token": wrong}}
    yield "GET", f"/{wrong}", {}
    yield "POST", "/v1/search", {"headers": {"Authorization": f"Bearer {wrong}"}, "content": b"{"}
    yield "POST", "/sign-in", {"data": {"key": wrong, "next": "/"}}


def test_a_service_reveals_neither_its_secrets_nor_its_callers(
    served: tuple[Served, str], tmp_path: Path
) -> None:
    service, key = served
    for wrong in (CANARY, f"pgr_{CANARY}", key):
        for method, path, given in _requests(wrong):
            answer = service.client.request(method, path, **given)
            told = f"{answer.text}{answer.headers}"
            if wrong not in str(answer.request.url):  # of which the caller is told
                assert hidden(told), (method, path)
                assert key not in told, (method, path)
    with service.as_holder(key) as holder:
        for body in ({"query": "harbour"}, {"query": "harbour", "rerank": True, "explain": True}):
            answer = holder.post("/v1/search", json=body)
            assert answer.status_code == 200
            assert answer.json()["skipped"]  # its models refuse
            assert hidden(answer.text)
    for line in service.logged():
        assert hidden(line)
        assert key not in str(line)
    for file in tmp_path.rglob("service-*.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert hidden(file.read_text())
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert any("serve --port 0" in line for line in lines)
    assert hidden(*lines)
    assert not any(key in line for line in lines)


def test_a_password_of_a_role_stands_in_no_log_of_the_server(
    pgrecall: Command, embedded: EmbeddedServer, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as admin:
        [(database,)] = admin.execute("SELECT current_database()").fetchall()
        admin.execute(f"ALTER DATABASE {database} SET log_statement = 'all'".encode())
        role = f"someone_{database}"
        try:
            log = embedded.data_dir / "postgres.log"
            before = log.stat().st_size
            ended = pgrecall("roles", "create", role, "--for", "acme", role_password=CANARY)
            assert ended.code == 0
            # Others write to it too, whatever they are given to say.
            said = log.read_bytes()[before:].decode(errors="replace")
            stored = admin.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (role,)).fetchall()
        finally:
            admin.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
    assert "recall.new_password" in said
    assert str(stored[0][0]).startswith("SCRAM-SHA-256$")
    assert hidden(ended, stored, said)
