"""The programs of docs/howto/agent-turn.md, in Python and in TypeScript, against a double of the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pgrecall import Memory
from tests.acceptance.cli.command_tools import environment
from tests.acceptance.deploy.compose_tools import ROOT
from tests.acceptance.http.http_tools import member, serving
from tests.acceptance.typescript.node_tools import CLIENT, install, node
from tests.acceptance.typescript.test_typescript import blocks
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, judging, said

PAGE = (ROOT / "docs" / "howto" / "agent-turn.md").read_text(encoding="utf-8")
ANSWER = "Forty tonnes [1]."
TURNS = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello, how can I help?"}]
MESSAGE = "How much does the harbour crane lift?"


def honest(request: dict[str, Any]) -> Reply:
    """Plans, judges, or answers the agent."""
    if "response_format" not in request:
        return said(ANSWER)
    form = request["response_format"]["json_schema"]["schema"]["properties"]
    if "queries" in form:
        return answering({"queries": ["crane load"]})
    return judging(lambda text: 0.9 if "forty" in text else 0.1)(request)


@pytest.fixture
def model(endpoint: Endpoint) -> dict[str, str]:
    return {"llm_url": endpoint.url, "llm_model": "m", "reranker": "llm"}


@pytest.fixture
def told(database_url: str) -> Iterator[Memory]:
    with member(database_url) as memory:
        memory.remember("The tide gauge is painted red.", key="gauge")
        memory.remember("The harbour crane lifts forty tonnes.", key="crane")  # the newest comes first
        yield memory


def check(endpoint: Endpoint, told: Memory, answers: list[str]) -> None:
    """After the turns MESSAGE and 'And who uses it?'."""
    assert answers == [ANSWER, ANSWER]
    prompts = [request["messages"] for request in endpoint.requests if "response_format" not in request]
    assert [len(prompt) for prompt in prompts] == [4, 6], "the system, and the turns"
    assert "> The harbour crane lifts forty tonnes." in prompts[0][0]["content"]
    assert "Forty tonnes" not in prompts[1][0]["content"], "a turn of the prompt is no memory in it"
    assert told.get("crane").access_counts.used >= 1
    stored = {one.body: one.role for one in told.list()}
    assert (stored[MESSAGE], stored[ANSWER]) == ("user", "assistant")


def test_in_python(
    told: Memory,
    database_url: str,
    endpoint: Endpoint,
    model: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [code] = blocks("python", PAGE)
    assert len(code.partition("def turn")[2].splitlines()) <= 30
    for name, value in environment(database_url=database_url, tenant="acme", **model).items():
        monkeypatch.setenv(name, value)
    program: dict[str, Any] = {}
    exec(compile(code, "agent-turn.md", "exec"), program)
    turns = [*TURNS]
    with Memory() as memory:
        answers = [program["turn"](memory, turns, message) for message in (MESSAGE, "And who uses it?")]
        assert len(turns) == 6
        check(endpoint, told, answers)
        assert program["turn"](memory, turns * 30, MESSAGE), "a long chat goes on"


def test_in_typescript(
    told: Memory,
    database_url: str,
    endpoint: Endpoint,
    model: dict[str, str],
    tmp_path: Path,
    run_folder: Path,
) -> None:
    install()
    [code] = blocks("ts", PAGE)
    assert len(code.partition("export async function turn")[2].splitlines()) <= 30
    page = CLIENT / "page" / "agent-turn.ts"
    with FileLock(str(run_folder / "typescript.lock")):  # another process may be compiling what is there
        page.parent.mkdir(exist_ok=True)
        page.write_text(code.replace('"pgrecall"', '"../src/index.js"'))
        node("node_modules/typescript/bin/tsc", "--outDir", str(tmp_path))
        page.unlink()
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = """
        import { turn } from "./page/agent-turn.js";
        import { Memory } from "./src/index.js";
        const [turns, ...messages] = JSON.parse(process.argv[1]);
        const answers = [];
        for (const message of messages) answers.push(await turn(new Memory(), turns, message));
        console.log(JSON.stringify(answers));
    """
    with serving(database_url, **model) as served:
        variables = {
            "PGRECALL_SERVICE_URL": served.url,
            "PGRECALL_LLM_URL": endpoint.url,
            "PGRECALL_LLM_MODEL": "m",
        }
        given = json.dumps([TURNS, MESSAGE, "And who uses it?"])
        done = node("--input-type=module", "--eval", script, given, folder=tmp_path, **variables)
    check(endpoint, told, json.loads(done.stdout))
