"""Any other model: a folder or a name on the Hugging Face hub, under sentence-transformers.

To keep imports fast, torch and sentence-transformers are imported when a model is first needed.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgrecall.errors import EmbedderError
from pgrecall.search.embed.token_signs import KeptPieces, signs_of
from pgrecall.search.model_loading import first_line, require_package, silence_libraries

if TYPE_CHECKING:
    from pgrecall.nouns.embedding import TokenSigns

MODEL_HINT = (
    "Give the folder of a downloaded sentence-transformers model as PGRECALL_EMBEDDER_MODEL, "
    "or unset it to use all-MiniLM-L6-v2."
)


def require_sentence_transformers() -> None:
    """Raises MissingExtra unless other models than the default can be loaded; nothing is imported."""
    require_package("sentence_transformers", "torch")
    require_package("torch", "torch")


def load_sentence_transformer(source: str, local_files_only: bool) -> SentenceTransformerModel:
    """The model of this folder or name.

    Raises:
        EmbedderError: it cannot be loaded.
    """
    try:
        with silence_libraries():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(source, local_files_only=local_files_only or Path(source).is_dir())
            return SentenceTransformerModel(source, model)
    except Exception as error:  # a broken model or installation may raise anything
        raise EmbedderError(
            f"The model {source} could not be loaded: {first_line(error)}.", hint=MODEL_HINT
        ) from error


class SentenceTransformerModel:
    """A loaded model, used by one thread at a time because tokenizers of transformers are not thread-safe."""

    def __init__(self, source: str, model: Any) -> None:
        self._source = source
        self._model = model
        self._tokenizer = tokenizer = model.tokenizer
        self._lock = threading.Lock()
        self._kept: KeptPieces | None = None
        special = 0
        # Models of whole words have a tokenizer of their own, and their tokens have no context to compare.
        if hasattr(tokenizer, "convert_ids_to_tokens"):
            self._kept = KeptPieces(frozenset(tokenizer.all_special_ids), tokenizer.convert_ids_to_tokens)
            special = tokenizer.num_special_tokens_to_add()
        self.max_tokens: int = (model.max_seq_length or sys.maxsize) - special

    def run(self, texts: Sequence[str], max_signs: int) -> tuple[list[list[float]], list[TokenSigns]]:
        """The vectors of the texts, and at most ``max_signs`` token signs of each."""
        try:
            with self._lock:
                return self._encode(texts, max_signs)
        except RuntimeError as error:
            raise EmbedderError(
                f"The model {self._source} failed on {len(texts)} texts: {first_line(error)}.",
                hint="If memory ran out, lower PGRECALL_EMBEDDER_BATCH.",
            ) from error

    def _encode(self, texts: Sequence[str], max_signs: int) -> tuple[list[list[float]], list[TokenSigns]]:
        encoded: Any = self._model.encode(
            texts,
            batch_size=len(texts),
            output_value=None if max_signs and self._kept else "sentence_embedding",
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        if not max_signs or self._kept is None:
            return encoded.tolist(), [()] * len(texts)
        signs = []
        for row in encoded:
            read = row["attention_mask"].bool()  # without the padding
            states = row["token_embeddings"][read].float().cpu().numpy()
            signs.append(signs_of(states, self._kept.places(row["input_ids"][read].tolist()), max_signs))
        return [row["sentence_embedding"].tolist() for row in encoded], signs

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token of the whole text, in characters; of each word if the tokenizer has no
        places."""
        if not getattr(self._tokenizer, "is_fast", False):
            return [word.span() for word in re.finditer(r"\S+", text)]
        with self._lock, silence_libraries():
            encoded = self._tokenizer(
                text, add_special_tokens=False, truncation=False, return_offsets_mapping=True
            )
        return [(start, end) for start, end in encoded["offset_mapping"]]
