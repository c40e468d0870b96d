"""The local embedder: a model in this process, all-MiniLM-L6-v2 or any of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.nouns.embedding import TokenSigns
from pgrecall.search.embed.embedder import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    Embedder,
    Vectors,
    is_default_model,
)
from pgrecall.search.embed.minilm import load_minilm, require_minilm
from pgrecall.search.embed.query_adapter import AdaptedQueries
from pgrecall.search.embed.sentence_transformer import (
    MODEL_HINT,
    load_sentence_transformer,
    require_sentence_transformers,
)
from pgrecall.search.embed.vector_checks import check_vectors
from pgrecall.search.model_loading import HUB_NAME, SharedModels, model_folder, without_surrogates
from pgrecall.settings import EmbedderPrecision

# A model reads a few hundred tokens, but some tokenizers read the whole text (1 MB: 1.4 s).
_MAX_CHARACTERS = 200_000
# Of one batch, which bounds its memory: 16 long texts at a time are as fast as 64.
_BATCH_CHARACTERS = 16_000
_LONG_TEXT = 1_000  # characters that fill most models


class LocalEmbedder:
    """A model on this machine: without ``model`` all-MiniLM-L6-v2, which runs without torch.

    Another ``model`` is a folder or a name on the Hugging Face hub, and runs under sentence-transformers.
    The default and folders never touch the network; a hub name may download once, unless
    ``local_files_only``. The model is loaded on first use and shared by every LocalEmbedder of the process
    that names it. With ``precision`` int8 the default model multiplies 8-bit integers; its vectors then have
    another name. Its queries are adapted (see ``query_adapter``).

    Raises:
        MissingExtra: pgrecall[local] is not installed, or for another model pgrecall[torch].
        InvalidInput: ``precision`` is int8 for another model.
        EmbedderError: ``model`` is neither the folder of a model nor a possible hub name.
    """

    def __init__(
        self,
        model: str | None = None,
        batch: int = 64,
        *,
        dimensions: int | None = None,
        local_files_only: bool = False,
        precision: EmbedderPrecision = "float32",
    ) -> None:
        if batch < 1:
            raise InvalidInput(f"A batch cannot hold {batch} texts.", hint="Give at least 1.")
        self._batch = batch
        self._dimensions = dimensions
        self._local_files_only = local_files_only
        self._precision = precision
        if model is None or is_default_model(model):
            require_minilm()
            self.name = DEFAULT_MODEL if precision == "float32" else f"{DEFAULT_MODEL} in 8 bits"
            self._source = None
            self._dimensions = dimensions or DEFAULT_DIMENSIONS
            return
        if precision != "float32":
            raise InvalidInput(
                f"Only {DEFAULT_MODEL} runs in 8 bits, not {model}.",
                hint="Leave PGRECALL_EMBEDDER_PRECISION unset, or PGRECALL_EMBEDDER_MODEL.",
            )
        require_sentence_transformers()
        self.name = self._source = model
        if not HUB_NAME.fullmatch(model) or Path(model).is_dir():
            folder = _model_folder(model)
            self.name, self._source = folder.name, str(folder)

    def __repr__(self) -> str:
        return f"LocalEmbedder({self.name!r})"

    @property
    def for_queries(self) -> Embedder:
        """The embedder of queries: that of the default model adapts their vectors."""
        return self if self._source else AdaptedQueries(self, self.name, self.dimensions)

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            [vector], _ = self._model().run(["dimensions"], 0)
            self._dimensions = len(vector)
        return self._dimensions

    @property
    def known_dimensions(self) -> int | None:
        """The dimensions, None if the model has to be loaded to know them."""
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads; the rest has no part in the vector. Loads the model."""
        return self._model().max_tokens

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token of the whole text, in characters. Loads the model."""
        # A surrogate is replaced by one character, so that the places stay those of the text.
        return self._model().token_spans(without_surrogates(text))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [vector for vector, _ in self.embed_with_tokens(texts, 0)]

    def embed_with_tokens(self, texts: Sequence[str], max_signs: int) -> list[tuple[list[float], TokenSigns]]:
        if not texts:
            return []
        model = self._model()
        made: list[tuple[list[float], TokenSigns]] = [([], ())] * len(texts)
        for places in self._batches([len(text) for text in texts]):
            read = [without_surrogates(texts[i][:_MAX_CHARACTERS]) for i in places]
            encoded, signs = model.run(read, max_signs)
            checked = check_vectors(encoded, len(places), self.dimensions, self.name)
            for place, vector, kept in zip(places, checked, signs, strict=True):
                made[place] = (vector, kept)
        return made

    def _batches(self, lengths: list[int]) -> Iterator[list[int]]:
        """Yields the indices of texts of similar length, which saves padding; the longest first, so that
        memory runs out immediately or never."""
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        start = 0
        while start < len(order):
            fitting = _BATCH_CHARACTERS // max(1, min(lengths[order[start]], _LONG_TEXT))
            size = max(1, min(self._batch, fitting))
            yield order[start : start + size]
            start += size

    def _model(self) -> _Model:
        return _models.get(_ModelKey(self._source, self._precision, self._local_files_only))


def _model_folder(given: str) -> Path:
    folder = model_folder(given)
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise EmbedderError(f"The folder {folder} holds no sentence-transformers model.", hint=MODEL_HINT)
    return folder


class _Model(Protocol):
    """A loaded model; threads may share it."""

    max_tokens: int

    def run(self, texts: Sequence[str], max_signs: int) -> tuple[Vectors, list[TokenSigns]]: ...

    def token_spans(self, text: str) -> list[tuple[int, int]]: ...


@dataclass(frozen=True, slots=True)
class _ModelKey:
    """Everything that determines which model is loaded."""

    source: str | None
    precision: EmbedderPrecision
    local_files_only: bool = field(compare=False)


def _load(key: _ModelKey) -> _Model:
    if key.source is None:
        return load_minilm(key.precision)
    return load_sentence_transformer(key.source, key.local_files_only)


_models = SharedModels(_load)
