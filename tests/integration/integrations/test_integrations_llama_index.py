"""The retriever in LlamaIndex's own engine."""

from __future__ import annotations

import asyncio
import importlib.util

import pytest

from pgrecall.client import AsyncMemory, Memory
from pgrecall.errors import InvalidInput
from pgrecall.settings import Settings

# Imported by the tests, as it takes seconds: each worker of a run would have it at the collection.
pytestmark = [
    pytest.mark.in_turns,
    pytest.mark.skipif(
        importlib.util.find_spec("llama_index") is None,
        reason="llama-index-core is not installed: pip install 'pgrecall[llamaindex]'",
    ),
]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember("The gate code is 4711.", key="gate")
    memory.remember("Mira feeds the heron.", key="heron", layer="episodic")
    return memory


def test_nodes_are_hits(filled: Memory) -> None:
    from llama_index.core.schema import MetadataMode

    from pgrecall.integrations.llama_index import PgrecallRetriever

    [found] = PgrecallRetriever(filled, k=1).retrieve("what is the gate code?")
    [hit] = filled.search("what is the gate code?", k=1, log=False).hits
    assert (found.node.node_id, found.node.metadata["key"]) == (str(hit.id), "gate")
    assert found.score == pytest.approx(
        hit.score, abs=0.05
    )  # it was shown meanwhile, which makes it livelier
    assert found.node.get_content(MetadataMode.LLM) == "The gate code is 4711."


def test_in_a_query_engine(filled: Memory) -> None:
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import get_response_synthesizer

    from pgrecall.integrations.llama_index import PgrecallRetriever

    synthesizer = get_response_synthesizer(llm=MockLLM())
    engine = RetrieverQueryEngine(PgrecallRetriever(filled, layers=("knowledge",)), synthesizer)
    response = engine.query("what is the gate code?")
    assert "The gate code is 4711." in str(response)
    assert [source.node.metadata["key"] for source in response.source_nodes] == ["gate"]


def test_awaited(filled: Memory, settings: Settings) -> None:
    from pgrecall.integrations.llama_index import PgrecallRetriever

    async def scenario() -> None:
        in_a_thread = await PgrecallRetriever(filled).aretrieve("gate code")
        async with AsyncMemory(settings=settings) as memory:
            retriever = PgrecallRetriever(memory)
            found = await retriever.aretrieve("gate code")
            assert found[0].node.node_id == in_a_thread[0].node.node_id
            with pytest.raises(InvalidInput, match="Call aretrieve, or give it a Memory"):
                retriever.retrieve("gate code")

    asyncio.run(scenario())
