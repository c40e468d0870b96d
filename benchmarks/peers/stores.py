"""The compared stores, each configured as its documentation recommends.

Packages are imported when a store is created, since each environment has only one of them. All use
precomputed vectors and call no model.
"""

from __future__ import annotations

import logging
import os
import tempfile
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from benchmarks.peers.worker import Known

FOUND, CANDIDATES, EF_SEARCH, BATCH, CLIENTS = 10, 50, 100, 500, 8
BACKGROUND = "background/"
"""The prefix of the keys of memories that no question is about."""
Rows = Sequence[dict[str, str]]
"""Rows with ``key`` and ``text``."""


class Store(Protocol):
    packages: ClassVar[tuple[str, ...]] = ()
    setup: ClassVar[str] = ""

    def __init__(self, known: Known, database: dict[str, str]) -> None:
        """Opens the store in a database, which is empty until it is loaded."""

    def load(self, rows: Rows) -> None:
        """Stores all rows and creates the indexes."""

    def search(self, question: str) -> list[str]:
        """The keys found, best first."""

    def close(self) -> None: ...


class LlamaIndex(Store):
    """PGVectorStore in hybrid mode; QueryFusionRetriever fuses its two lists, as its guide recommends."""

    packages = ("llama-index-vector-stores-postgres", "llama-index-core")
    setup = (
        f"hybrid_search, HNSW m 16, ef_construction 64, made before the rows; QueryFusionRetriever "
        f"relative_score over {CANDIDATES} + {CANDIDATES}, num_queries 1"
    )

    def __init__(self, known: Known, database: dict[str, str]) -> None:
        core, schema = import_module("llama_index.core"), import_module("llama_index.core.schema")
        postgres = import_module("llama_index.vector_stores.postgres")
        self._known, self._node, self._query = known, schema.TextNode, schema.QueryBundle
        url = "postgresql+{}://{user}@/{dbname}?host={host}&port={port}"
        self._store = postgres.PGVectorStore.from_params(
            connection_string=url.format("psycopg2", **database),
            async_connection_string=url.format("asyncpg", **database),
            table_name="memories", embed_dim=known.dimensions, hybrid_search=True,
            text_search_config="english", use_jsonb=True,
            create_engine_kwargs={"pool_size": CLIENTS},
            hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": EF_SEARCH,
                         "hnsw_dist_method": "vector_cosine_ops"},
        )  # fmt: skip
        index = core.VectorStoreIndex.from_vector_store(
            self._store, embed_model=core.MockEmbedding(embed_dim=known.dimensions)
        )
        arms = [
            index.as_retriever(vector_store_query_mode=mode, similarity_top_k=CANDIDATES)
            for mode in ("default", "sparse")
        ]
        self._retriever = import_module("llama_index.core.retrievers").QueryFusionRetriever(
            arms, llm=import_module("llama_index.core.llms").MockLLM(), similarity_top_k=FOUND,
            num_queries=1, mode="relative_score", use_async=False,
        )  # fmt: skip

    def load(self, rows: Rows) -> None:
        for start in range(0, len(rows), BATCH):
            self._store.add(
                [
                    self._node(id_=row["key"], text=row["text"], embedding=self._known.vector(row["text"]))
                    for row in rows[start : start + BATCH]
                ]
            )

    def search(self, question: str) -> list[str]:
        asked = self._query(question, embedding=self._known.vector(question))
        return [hit.node.node_id for hit in self._retriever.retrieve(asked)]

    def close(self) -> None:
        self._store.client.dispose()


class LangChain(Store):
    """PGVectorStore with a hybrid search configuration, a new one for each question, because a configuration
    given to the store keeps the words of the first question."""

    packages = ("langchain-postgres", "langchain-core")
    setup = (
        f"HybridSearchConfig, weighted sum over {CANDIDATES} + {CANDIDATES}; "
        "HNSW m 16, ef_construction 64, and the words' index made after the rows"
    )

    def __init__(self, known: Known, database: dict[str, str]) -> None:
        langchain = import_module("langchain_postgres")
        self._config = import_module("langchain_postgres.v2.hybrid_search_config").HybridSearchConfig
        self._indexes = import_module("langchain_postgres.v2.indexes")
        url = "postgresql+psycopg://{user}@/{dbname}?host={host}&port={port}".format(**database)
        self._engine = langchain.PGEngine.from_connection_string(url=url, pool_size=CLIENTS)
        self._known, self._create = known, langchain.PGVectorStore.create_sync

    @cached_property
    def _store(self) -> Any:
        return self._create(
            self._engine, _LangChainEmbedder(self._known), "memories", k=FOUND,
            hybrid_search_config=self._hybrid(),
        )  # fmt: skip

    def _hybrid(self) -> Any:
        return self._config(tsv_column="content_tsv", primary_top_k=CANDIDATES, secondary_top_k=CANDIDATES)

    def load(self, rows: Rows) -> None:
        hybrid = self._hybrid()
        self._engine.init_vectorstore_table("memories", self._known.dimensions, hybrid_search_config=hybrid)
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            self._store.add_texts(
                [row["text"] for row in some],
                metadatas=[{"key": row["key"]} for row in some],
                ids=[str(uuid.uuid5(uuid.NAMESPACE_URL, row["key"])) for row in some],
            )
        self._store.apply_vector_index(self._indexes.HNSWIndex(m=16, ef_construction=64))
        self._store.apply_hybrid_search_index()

    def search(self, question: str) -> list[str]:
        found = self._store.similarity_search(question, k=FOUND, hybrid_search_config=self._hybrid())
        return [document.metadata["key"] for document in found]

    def close(self) -> None:
        self._engine._run_as_sync(self._engine._pool.dispose())


class _LangChainEmbedder:
    def __init__(self, known: Known) -> None:
        self._known = known

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._known.vector(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self._known.vector(text)


class Mem0(Store):
    """mem0 with its pgvector store and no language model."""

    packages = ("mem0ai", "psycopg", "spacy")
    setup = (
        "vector_store pgvector, hnsw (m 16, ef_construction 64), made before the rows; "
        f"{CLIENTS} threads add rows with infer=False"
    )

    def __init__(self, known: Known, database: dict[str, str]) -> None:
        self._home = tempfile.TemporaryDirectory()
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": self._home.name}
        logging.getLogger("mem0").setLevel(logging.ERROR)
        # A fake key: the constructor creates both models, and neither is called.
        model = {"provider": "openai", "config": {"api_key": "none"}}
        url = "postgresql://{user}@/{dbname}?host={host}&port={port}".format(**database)
        self._memory = import_module("mem0").Memory.from_config(
            {
                "llm": model,
                "embedder": model,
                "history_db_path": f"{self._home.name}/history.db",
                "vector_store": {
                    "provider": "pgvector",
                    "config": {
                        "connection_string": url, "collection_name": "memories", "hnsw": True,
                        "embedding_model_dims": known.dimensions, "maxconn": CLIENTS,
                    },
                },
            }
        )  # fmt: skip
        self._memory.embedding_model = _Mem0Embedder(known)

    def load(self, rows: Rows) -> None:
        self._add(rows[0])  # creates the table once, before threads try to
        with ThreadPoolExecutor(CLIENTS) as threads:
            list(threads.map(self._add, rows[1:]))

    def _add(self, row: dict[str, str]) -> None:
        self._memory.add(row["text"], user_id="bench", metadata={"key": row["key"]}, infer=False)

    def search(self, question: str) -> list[str]:
        found = self._memory.search(question, top_k=FOUND, filters={"user_id": "bench"}, threshold=0.0)
        return [hit["metadata"]["key"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.close()
        self._home.cleanup()


class _Mem0Embedder:
    def __init__(self, known: Known) -> None:
        self._known = known

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        return self._known.vector(text)


class Pgrecall(Store):
    """``Memory`` of this checkout without a reranker, with the same rows as the others."""

    packages = ("pgrecall", "psycopg")
    setup = "Memory.import_drafts, refresh_statistics; Memory.search as it is, which logs what it shows"

    def __init__(self, known: Known, database: dict[str, str]) -> None:
        settings = import_module("pgrecall.settings")
        self._draft = import_module("pgrecall").Draft
        self._conversations = known.folder / "conversations.json"
        url = "postgresql://{user}@/{dbname}?host={host}&port={port}".format(**database)
        import_module("pgrecall.schema.migrate").upgrade(url, dimensions=known.dimensions)
        self._memory = import_module("pgrecall").Memory(
            url,
            settings=settings.Settings(reranker="none", pool_size=CLIENTS),
            embedder=_PgrecallEmbedder(known),
        )

    def load(self, rows: Rows) -> None:
        drafts = [self._drafted(row) for row in rows]
        self._memory.import_drafts(drafts, source="bench", strict=True)
        self._memory.maintenance.refresh_statistics()

    def _drafted(self, row: dict[str, str]) -> Any:
        return self._draft(row["text"], key=row["key"])

    def search(self, question: str) -> list[str]:
        return [hit.key or "" for hit in self._memory.search(question, k=FOUND).hits]

    def close(self) -> None:
        self._memory.close()


class PgrecallTurns(Pgrecall):
    """The same, with conversations imported as transcripts."""

    setup = "the same; turns as read_transcript has them: author, session, time and links to the next"

    def load(self, rows: Rows) -> None:
        others = [self._drafted(row) for row in rows if row["key"].startswith(BACKGROUND)]
        read_transcript = import_module("pgrecall.importers.chat").read_transcript
        turns = read_transcript(self._conversations, source="bench")
        self._memory.import_drafts([*turns, *others], source="bench", strict=True)
        self._memory.maintenance.refresh_statistics()


class _PgrecallEmbedder:
    name = "given"

    def __init__(self, known: Known) -> None:
        self.dimensions = known.dimensions
        self._known = known

    @property
    def max_tokens(self) -> int:
        return 510

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """None: every text counts as one that fits, as for the others, so that none gets passages."""
        del text
        return []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._known.vector(text) for text in texts]


STORES: dict[str, type[Store]] = {
    "pgrecall": Pgrecall,
    "pgrecall, transcripts": PgrecallTurns,
    "LlamaIndex": LlamaIndex,
    "LangChain": LangChain,
    "mem0": Mem0,
}
