"""The retriever in LangChain's own chains."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.integrations.retrieval import hit_metadata
from pgrecall.nouns.search.models import Passage
from pgrecall.settings import Settings

pytest.importorskip(
    "langchain_core", reason="langchain-core is not installed: pip install 'pgrecall[langchain]'"
)

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from pgrecall.integrations.langchain import PgrecallRetriever

pytestmark = pytest.mark.in_turns


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.remember("The gate code is 4711.", key="gate", tags=("house",))
    memory.remember("Mira feeds the heron.", key="heron", layer="episodic", author="Odile")
    return memory


def test_documents_are_hits(filled: Memory) -> None:
    [document] = PgrecallRetriever(memory=filled, options={"k": 1}).invoke("what is the gate code?")
    stored = filled.get("gate")
    assert (document.page_content, document.id) == ("The gate code is 4711.", str(stored.id))
    facts = document.metadata
    assert (facts["key"], facts["layer"], facts["tags"], facts["rank"]) == ("gate", "knowledge", ["house"], 1)
    assert 0 < facts["relevance"] < 1
    assert filled.used(facts["search_id"], [facts["id"]]) == 1


def test_the_passage_of_a_long_memory_is_in_the_metadata(filled: Memory) -> None:
    result = filled.search("gate code", k=1)
    [hit] = result.hits
    assert hit_metadata(hit, result)["passage"] is None
    of_a_long_one = replace(hit, passage=Passage(4, 13, "gate code"))
    passage = hit_metadata(of_a_long_one, result)["passage"]
    assert json.loads(json.dumps(passage)) == {"start": 4, "end": 13, "text": "gate code"}


def test_options_are_those_of_a_search(filled: Memory) -> None:
    retriever = PgrecallRetriever(memory=filled, options={"layers": ("episodic",)})
    assert [document.metadata["author"] for document in retriever.invoke("heron gate code")] == ["Odile"]


def test_the_number_of_documents_is_given_where_langchain_gives_it(filled: Memory) -> None:
    """In the constructor or for one call, as LangChain's own tests of retrievers do."""
    query = "the gate code and the heron"
    assert len(PgrecallRetriever(memory=filled).invoke(query)) == 2
    assert len(PgrecallRetriever(memory=filled, k=1).invoke(query)) == 1
    assert len(PgrecallRetriever(memory=filled, k=1, options={"k": 2}).invoke(query)) == 1
    assert len(PgrecallRetriever(memory=filled, k=1).invoke(query, k=2)) == 2
    assert len(asyncio.run(PgrecallRetriever(memory=filled).ainvoke(query, k=1))) == 1
    with pytest.raises(ValueError, match="kk"):
        PgrecallRetriever(memory=filled, kk=1)  # type: ignore[call-arg]  # what a person mistypes


def test_in_a_chain_and_in_batches(filled: Memory) -> None:
    def written(documents: list[Document]) -> str:
        return documents[0].page_content

    retriever = PgrecallRetriever(memory=filled)
    chain = {"context": retriever | RunnableLambda(written), "question": RunnablePassthrough()}
    answer = RunnableLambda(lambda given: f"{given['question']} {given['context']}")
    assert (chain | answer).invoke("The gate code?") == "The gate code? The gate code is 4711."
    batch = retriever.batch(["gate code", "heron"])
    assert [documents[0].metadata["key"] for documents in batch] == ["gate", "heron"]


def test_awaited(filled: Memory, settings: Settings) -> None:
    async def scenario() -> None:
        in_a_thread = await PgrecallRetriever(memory=filled).ainvoke("gate code")
        async with AsyncMemory(settings=settings) as memory:
            retriever = PgrecallRetriever(memory=memory)
            [document, *_] = await retriever.ainvoke("gate code")
            assert document.page_content == in_a_thread[0].page_content == "The gate code is 4711."
            with pytest.raises(InvalidInput, match="Call ainvoke, or give it a Memory"):
                retriever.invoke("gate code")

    asyncio.run(scenario())


HIDDEN = """
import sys
from importlib import import_module
from pgrecall import MissingExtra
for module, library in ("langchain", "langchain_core"), ("langgraph", "langgraph"), ("llama_index",) * 2:
    sys.modules[library] = None
    try:
        import_module(f"pgrecall.integrations.{module}")
    except MissingExtra as error:
        print(error)
"""


def test_a_missing_library_is_named_with_its_extra() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        str(MissingExtra(package, extra))
        for package, extra in (
            ("langchain-core", "langchain"),
            ("langgraph", "langgraph"),
            ("llama-index-core", "llamaindex"),
        )
    ]
