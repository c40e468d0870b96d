"""Our tools in an agent of the OpenAI Agents SDK, called by a model double; skipped without the package."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from typing import Any

import pytest

from pgrecall import AsyncMemory
from pgrecall.settings import Settings
from tests.acceptance.deploy.compose_tools import ROOT

agents = pytest.importorskip("agents", reason="There is no package openai-agents.")


def example() -> Any:
    spec = importlib.util.spec_from_file_location("agent", ROOT / "clients" / "openai-agents" / "agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model_that_calls(calls: list[tuple[str, Any]]) -> Any:
    """Calls these tools one after the other, then answers. Arguments may be a function of the last result."""
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Double(Model):
        offered: set[str]
        told: list[Any]

        async def get_response(self, *given: Any, **named: Any) -> Any:
            said = dict(zip(("instructions", "input", "settings", "tools"), given, strict=False)) | named
            self.offered = {tool.name for tool in said["tools"]}
            self.told = [json.loads(one["output"]) for one in said["input"] if "output" in one]
            step = len(self.told)
            output: Any
            if step < len(calls):
                name, arguments = calls[step]
                if callable(arguments):
                    arguments = arguments(self.told[-1])
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                output = ResponseFunctionToolCall(
                    type="function_call", call_id=f"call-{step}", name=name, arguments=text
                )
            else:
                text = ResponseOutputText(type="output_text", text="Tom.", annotations=[])
                output = ResponseOutputMessage(
                    id="1", type="message", role="assistant", status="completed", content=[text]
                )
            return agents.ModelResponse(output=[output], usage=agents.Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Double()


def run(url: str, calls: list[tuple[str, Any]]) -> Any:
    """The model double after a run in which it calls these tools."""

    async def play() -> Any:
        double, module = model_that_calls(calls), example()
        agents.set_tracing_disabled(True)
        async with AsyncMemory(url, tenant="acme", settings=Settings(embedder="none")) as memory:
            agent = agents.Agent(
                name="Helper",
                instructions=module.INSTRUCTIONS,
                model=double,
                tools=module.memory_tools(memory),
            )
            result = await agents.Runner.run(agent, "Who mends the winch?")
            assert result.final_output == "Tom."
        return double

    return asyncio.run(play())


def test_an_agent_remembers_finds_and_uses(database_url: str) -> None:
    def used(found: Any) -> Any:
        return {"search_id": found["search_id"], "memories": [found["hits"][0]["id"]]}

    double = run(
        database_url,
        [
            ("remember", {"body": "Tom mends the winch."}),
            ("search", {"query": "who mends the winch?"}),
            ("used", used),
        ],
    )
    assert double.offered == {"context", "search", "remember", "used", "forget"}
    stored, found, recorded = double.told
    assert stored["outcome"] == "created"
    assert found["hits"][0]["id"] == stored["id"]
    assert recorded["recorded"] == 1


@pytest.mark.parametrize("arguments", ["{", "[]", {"query": ""}, {"query": "x", "k": "many"}])
def test_a_wrong_call_is_told_to_the_model(database_url: str, arguments: Any) -> None:
    [told] = run(database_url, [("search", arguments)]).told
    assert set(told) == {"error"}


def test_only_tools_that_exist_are_offered(database_url: str) -> None:
    with pytest.raises(KeyError, match="forgive"):
        example().memory_tools(AsyncMemory(database_url), ["forgive"])
