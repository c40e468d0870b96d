"""LangChain's own standard tests for retrievers, if `langchain-tests` is installed."""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall import Memory

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")

from langchain_tests.integration_tests.retrievers import (  # type: ignore[import-not-found]
    RetrieversIntegrationTests,
)

from pgrecall.integrations.langchain import PgrecallRetriever

pytestmark = pytest.mark.in_turns


class TestStandard(RetrieversIntegrationTests):  # type: ignore[misc]  # it is not installed
    """Inherited tests of what every retriever of LangChain does."""

    @pytest.fixture(autouse=True)
    def _filled(self, memory: Memory) -> None:
        self.memory = memory
        for quay in ("north", "south", "east", "west"):
            memory.remember(f"The ferry berths at the {quay} quay.")

    @property
    def retriever_constructor(self) -> type[PgrecallRetriever]:
        """What is tested."""
        return PgrecallRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Its arguments."""
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        """A query with more than three answers."""
        return "Where does the ferry berth?"
