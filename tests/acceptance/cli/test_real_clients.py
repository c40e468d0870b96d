"""The real clients of editors read what `pgrecall connect` writes, and those that try servers reach ours.

They are looked for in the folder that PGRECALL_TEST_CLIENTS names, and on the PATH. Nothing is installed. A
double on this machine answers in the place of their models.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.faces.editors.hooks import HOOKS, HookedEditor
from tests.acceptance.cli.editor_tools import FERRY, Editor, editor, stop, warm
from tests.acceptance.cli.test_connect import Home
from tests.http_endpoint import Endpoint, Reply
from tests.waiting import PATIENCE, until

FOLDER = os.environ.get("PGRECALL_TEST_CLIENTS", "")
CLIENTS = {"claude": "Connected", "codex": "enabled", "gemini": "Connected"}
"""Each client with how it says that it can use a server. Codex starts none for its list."""

OURS = re.compile(r"\bpgrecall\b.*\bmcp\b")


ASKED, ANSWER = "Where does the ferry berth?", "At the north quay, as you know."


def program_of(client: str) -> str:
    program = shutil.which(client, path=os.pathsep.join([FOLDER, os.environ.get("PATH", "")]))
    if program is None:
        pytest.skip(f"There is no {client}; PGRECALL_TEST_CLIENTS can name its folder.")
    return program


def listed(home: Home, client: str) -> str:
    """What `CLIENT mcp list` prints, without colours."""
    program = program_of(client)
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PGRECALL_", "PYTEST_"))
    }
    variables |= {"HOME": str(home.home), "GEMINI_CLI_TRUST_WORKSPACE": "true", "CI": "1"}
    done = subprocess.run(
        [program, "mcp", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=variables, cwd=home.project, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout.decode(errors="replace"))


@pytest.fixture
def home(tmp_path: Path, database_url: str) -> Home:
    return Home(tmp_path, database_url)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_lists_our_server_until_it_is_disconnected(client: str, home: Home) -> None:
    assert not OURS.search(listed(home, client))
    done = home.run("--database-url", home.url, "connect", client, "--yes")
    assert done.code == 0, done.err
    text = listed(home, client)
    [line] = [one for one in text.splitlines() if OURS.search(one)] or [text]
    assert CLIENTS[client] in line
    assert home.run("connect", client, "--undo", "--yes").code == 0
    assert not OURS.search(listed(home, client))


def streamed(*events: dict[str, Any]) -> Reply:
    named = ((f"event: {one['type']}\n" if "type" in one else "", json.dumps(one)) for one in events)
    text = "".join(f"{name}data: {data}\n\n" for name, data in named)
    return Reply(body=text.encode(), headers={"Content-Type": "text/event-stream"})


def claude_answer(_: object) -> Reply:
    said = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    return streamed(
        {"type": "message_start", "message": said},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )


def codex_answer(_: object) -> Reply:
    content = [{"type": "output_text", "text": ANSWER}]
    item = {"type": "message", "role": "assistant", "id": "m", "content": content}
    use = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return streamed(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": use}},
    )


def gemini_answer(_: object) -> Reply:
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    return streamed({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})


PROVIDER = 'model_providers.double={{name="double",base_url="{}/v1",env_key="KEY",wire_api="responses"}}'
TURNS: dict[HookedEditor, tuple[Callable[[object], Reply], tuple[str, ...]]] = {
    "claude": (claude_answer, ("-p", ASKED)),
    "codex": (codex_answer, (
        "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "-c", PROVIDER,
        "-c", 'model_provider="double"', "-c", 'model="m"', ASKED,
    )),
    "gemini": (gemini_answer, ("-m", "gemini-2.5-flash", "-p", ASKED)),
}  # fmt: skip
"""What the model of each client answers, and the options of a turn without a screen."""


@pytest.fixture
def made(client: HookedEditor, tmp_path: Path, database_url: str) -> Iterator[Editor]:
    program_of(client)
    made = editor(client, tmp_path, database_url, "--capture")
    yield made
    stop(made)


@pytest.mark.parametrize("client", TURNS)
def test_a_turn_gets_what_answers_it_and_is_captured_without_it(
    client: HookedEditor, made: Editor, memory: Memory
) -> None:
    memory.remember(FERRY)
    warm(made)
    answer, options = TURNS[client]
    endpoint = Endpoint(answer)
    variables = made.variables | {
        "PATH": os.environ["PATH"], "KEY": "k", "IS_SANDBOX": "1", "CI": "1",
        "ANTHROPIC_BASE_URL": endpoint.url, "ANTHROPIC_API_KEY": "k", "DISABLE_TELEMETRY": "1",
        "GOOGLE_GEMINI_BASE_URL": endpoint.url, "GEMINI_API_KEY": "k", "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    if client == "gemini":
        file = made.home / HOOKS[client].user
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        file.write_text(json.dumps(json.loads(file.read_text()) | auth))
    try:
        done = subprocess.run(
            [program_of(client), *(one.format(endpoint.url) if one is PROVIDER else one for one in options)],
            stdin=subprocess.DEVNULL, capture_output=True, env=variables, cwd=made.home, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    finally:
        endpoint.stop()
    assert ANSWER in done.stdout.decode(), done.stderr.decode()[-2000:]
    assert FERRY in json.dumps(endpoint.requests)
    source = HOOKS[client].source

    def bodies() -> set[str]:
        return {one.body for one in memory.list(sources=(source,))}

    assert until(lambda: len(bodies()) > 1 and bodies(), "the import of the session") == {ASKED, ANSWER}
