"""`pgrecall serve` is told to stop in the middle of anything: it ends, and leaves no half of a write.

What hangs here hangs for longer than a test waits: an end that waited for it would not come.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from tests.acceptance.cli.command_tools import command_line, environment
from tests.acceptance.http.http_tools import PLAIN, Served, waiting
from tests.conftest import DIMENSIONS
from tests.faults.conftest import Inject
from tests.faults.stopped_scenes import ACCEPT, INITIALIZE, TROUBLES, Scene, scene_of, write_waits
from tests.faults.test_models import NAME, honest  # noqa: F401 (the fixture `endpoint` asks the module)
from tests.faults.victim import Victim
from tests.faults.wire import wire
from tests.given_server import own_server_only
from tests.http_endpoint import Endpoint, Reply
from tests.server_folders import server_folder
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.fault

NEVER = 3 * PATIENCE
HANGS = Reply(before=NEVER)
BY_HTTP = {
    "embedder": "http",
    "embedder_model": NAME,
    "embedder_dimensions": str(DIMENSIONS),
    "embedder_timeout": str(NEVER),
}


def stop(served: Served, signals: Sequence[signal.Signals] = (signal.SIGTERM,)) -> None:
    """Stops it; it ends by itself, in good order."""
    for number in signals:
        served.process.send_signal(number)
    assert served.process.wait(PATIENCE) == 0


def judge(scene: Scene, inject: Inject) -> None:
    """Everybody has an answer or an end, nothing goes on, and a write is there as a whole or not at all."""
    inject("stop of a service")
    until(lambda: len(scene.answers) == scene.asked, "an answer or an end for everybody")
    until(lambda: waiting(scene.url) == 0, "the end in Postgres")
    scene.stack.close()
    done = [answer for answer in scene.answers if answer is not None and answer.status_code < 300]
    if not done:
        assert scene.stored() == 0
    assert children_of(scene.served) == []


def children_of(served: Served) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(served.process.pid).children(recursive=True)
    return []


@pytest.mark.parametrize("trouble", TROUBLES)
def test_it_ends_in_the_middle_of_anything(trouble: str, database_url: str, inject: Inject) -> None:
    with scene_of(database_url) as scene:
        TROUBLES[trouble](scene)
        stop(scene.served)
        judge(scene, inject)


@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM,) * 2, (signal.SIGTERM, signal.SIGINT), (signal.SIGINT,) * 3], ids=str
)
@pytest.mark.parametrize("trouble", ["nothing", "a write waits", "an open stream"])
def test_it_is_told_more_than_once(
    trouble: str, signals: Sequence[signal.Signals], database_url: str, inject: Inject
) -> None:
    with scene_of(database_url) as scene:
        TROUBLES[trouble](scene)
        stop(scene.served, signals)
        judge(scene, inject)


def test_it_is_told_while_its_model_is_loading(database_url: str, endpoint: Endpoint, inject: Inject) -> None:
    endpoint.replies = [HANGS]
    with scene_of(database_url, **BY_HTTP, embedder_url=endpoint.url) as scene:
        until(lambda: endpoint.requests, "the first request")
        stop(scene.served)
        judge(scene, inject)


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/search"])
def test_an_embedder_hangs_in_the_middle_of_a_request(
    path: str, database_url: str, endpoint: Endpoint, inject: Inject
) -> None:
    with scene_of(database_url, **BY_HTTP, embedder_url=endpoint.url) as scene:
        until(lambda: scene.served.client.get("/readyz").status_code == 200, "its models")
        endpoint.replies = [HANGS]
        many = len(endpoint.requests)
        body = {"body": "The gate code is 4711.", "key": "gate"} if "mem" in path else {"query": "gate"}
        scene.ask("POST", path, json=body)
        until(lambda: len(endpoint.requests) > many, "its question")
        stop(scene.served)
        judge(scene, inject)


@pytest.mark.parametrize("how", ["stall", "go_dead", "cut"])
def test_the_way_to_the_database_is_gone(how: str, database_url: str, inject: Inject) -> None:
    with wire(database_url) as line, scene_of(line.url) as scene:
        scene.url = database_url
        scene.locked()
        scene.remember()
        until(lambda: waiting(database_url) == 1, "a wait")
        getattr(line, how)()
        stop(scene.served)
        until(lambda: len(scene.answers) == 1, "an answer or an end")
        scene.stack.close()
        inject(f"the way to the database: {how}")


def test_the_server_was_killed(victim: Victim, inject: Inject) -> None:
    with scene_of(victim.url) as scene:
        write_waits(scene)
        victim.kill()
        stop(scene.served)
        with suppress(psycopg.Error):
            scene.stack.close()
    victim.start()
    inject("a killed server of a service")


@contextmanager
def starting(
    *arguments: str, stdin: int = subprocess.DEVNULL, **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A command of which nobody waits until it serves; killed at the end where it still runs."""
    process = subprocess.Popen(
        command_line(*arguments),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**settings),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_it_is_told_before_it_serves(database_url: str, inject: Inject) -> None:
    """It waits for the database, which it asks whether there are keys."""
    with psycopg.connect(database_url) as blocking:
        blocking.execute("LOCK TABLE recall.api_key IN ACCESS EXCLUSIVE MODE")
        with starting("serve", "--port", "0", database_url=database_url, tenant="acme") as process:
            until(lambda: waiting(database_url) == 1, "its question")
            process.send_signal(signal.SIGTERM)
            said, complained = process.communicate(timeout=PATIENCE)
        assert (process.returncode, said, complained) == (128 + signal.SIGTERM, b"", b"")
        until(lambda: waiting(database_url) == 0, "the end in Postgres")
    inject("a stop at the start")


@pytest.mark.parametrize("late", [False, True], ids=["while it starts", "when it serves"])
def test_its_own_server_ends_with_it(late: bool, inject: Inject) -> None:
    own_server_only("starts and stops an embedded server")
    with (
        server_folder() as folder,
        starting("serve", "--port", "0", data_dir=str(folder / "data"), tenant="acme") as process,
    ):
        assert process.stdout is not None
        if late:
            url = process.stdout.readline().decode().strip()
            assert httpx.get(f"{url}/healthz", **PLAIN).status_code == 200
        else:
            until(lambda: server_processes(folder), "the beginning of a server")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == (0 if late else 128 + signal.SIGTERM)
        assert server_processes(folder) == []
    inject("a stop with an embedded server")


def server_processes(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(folder) in process.cwd():
                found.append(process)
    return found


def test_a_child_of_an_editor_ends_though_its_embedder_hangs(
    database_url: str, endpoint: Endpoint, inject: Inject
) -> None:
    endpoint.replies = [HANGS]
    hang = {**BY_HTTP, "embedder_url": endpoint.url, "database_url": database_url, "tenant": "acme"}
    with starting("mcp", stdin=subprocess.PIPE, **hang) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        search = {"name": "search", "arguments": {"query": "gate"}}
        for line in (INITIALIZE, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        until(lambda: endpoint.requests, "its question")
        process.stdin.close()
        process.stdin = None
        assert process.wait(PATIENCE) == 0
    inject("the end of an editor")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_mcp_over_http_ends_though_its_embedder_hangs(
    number: signal.Signals, database_url: str, endpoint: Endpoint, inject: Inject
) -> None:
    endpoint.replies = [HANGS]
    hang = {**BY_HTTP, "embedder_url": endpoint.url, "database_url": database_url, "tenant": "acme"}
    with starting("mcp", "--http", "--port", "0", **hang) as process, ThreadPoolExecutor() as threads:
        assert process.stderr is not None
        while b"MCP at " not in (line := process.stderr.readline()):
            assert line, "it ended and never served"
        url = line.decode().split()[2].rstrip(";")
        with httpx.Client(headers=ACCEPT, timeout=NEVER, trust_env=False) as client:
            client.headers["Mcp-Session-Id"] = client.post(url, json=INITIALIZE).headers["mcp-session-id"]
            search = {"name": "search", "arguments": {"query": "gate"}}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}
            answer = threads.submit(client.post, url, json=call)
            until(lambda: endpoint.requests, "its question")
            process.send_signal(number)
            assert process.wait(PATIENCE) == 0
            with suppress(httpx.HTTPError):
                answer.result(PATIENCE)
    inject("the end of a server of MCP")
