"""LangChain's own standard tests for retrievers, if FOLDER has `langchain-tests` and what it needs.

The plugins that it brings do not get on with our settings, so it runs alone:

    PYTHONPATH=FOLDER python -m pytest THIS_FILE -p no:benchmark -p no:codspeed -o asyncio_mode=auto \\
        -o asyncio_default_fixture_loop_scope=function -o markers=$'benchmark: no\\nin_turns: no\\nslow: no'
"""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall import Memory

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")

from langchain_tests.integration_tests.retrievers import (  # type: ignore[import-not-found]  # an option
    RetrieversIntegrationTests,
)

from pgrecall.integrations.langchain import PgrecallRetriever

pytestmark = pytest.mark.in_turns


class TestStandard(RetrieversIntegrationTests):  # type: ignore[misc]  # an option
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
