"""The ONNX reranker: a cross-encoder in ONNX Runtime on the CPU, without torch.

To keep imports fast, onnxruntime and tokenizers are imported when a model is first needed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.errors import RerankerError
from pgrecall.search.model_loading import (
    SharedModels,
    first_line,
    max_positions,
    model_folder,
    open_session,
    require_package,
    without_surrogates,
)
from pgrecall.search.rerank.batching import MAX_PAIRS, BatchingReranker, BatchingRules, Scorer
from pgrecall.search.rerank.local import CHARACTERS_PER_TOKEN, MAX_TOKENS, require_tokens
from pgrecall.search.rerank.scores import Scale
from pgrecall.settings import cpu_threads

_HINT = (
    "Make a folder with `pgrecall models export-onnx`, or download one that holds tokenizer.json and "
    "model.onnx, and give it as PGRECALL_RERANKER_MODEL."
)
# Each pair is run separately by one thread, one pair per core. This avoids padding. In a batch, 8-bit
# activations would be scaled together, so that a pair's score would depend on the others. Threads that share
# one pair wait for each other: two on two busy cores took twice the processor time of one.
_PAIRS_PER_CORE = 2

_FEATURES = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


class OnnxReranker(BatchingReranker):
    """A folder with ``tokenizer.json`` and ``model.onnx``, or ``onnx/model_qint8*.onnx`` as on the hub.

    The model is loaded once per process, on first use or by ``warm_up()``, and shared by every OnnxReranker
    of that folder.

    Args:
        folder: the folder of the model.
        pairs: maximum number of candidates to read.
        tokens: maximum number of tokens of a pair, including the query; the model's own limit applies too.
        scale: probability if the graph ends in a sigmoid.

    Raises:
        InvalidInput: a number is invalid.
        MissingExtra: pgrecall[local] is not installed.
        RerankerError: the folder lacks a file.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        pairs: int = MAX_PAIRS,
        tokens: int = MAX_TOKENS,
        scale: Scale = "logit",
    ) -> None:
        require_package("onnxruntime", "local")
        require_package("tokenizers", "local")
        given = model_folder(folder)
        self._key = _ModelKey(given, model_file(given), require_tokens(tokens))
        self._rules = BatchingRules(given.name, scale, pairs=pairs, characters=CHARACTERS_PER_TOKEN * tokens)

    def __repr__(self) -> str:
        return f"OnnxReranker({self.name!r})"

    def warm_up(self) -> None:
        """Loads the model and reads one pair, so that the first search is as fast as later ones."""
        self._scorer().score("query", ["answer"])

    def _scorer(self) -> Scorer:
        model = _models.get(self._key)
        return Scorer(model.score, _PAIRS_PER_CORE * cpu_threads())


def model_file(folder: Path) -> Path:
    """Returns the graph to run: ``model.onnx``, else the 8-bit one for this kind of CPU, else any other.

    Raises:
        RerankerError: there is none, or no ``tokenizer.json``.
    """
    kinds = ["arm64"] if platform.machine().lower() in ("arm64", "aarch64") else ["avx512_vnni", "avx"]
    wanted = ["model.onnx", *(f"onnx/model_q*int8*{kind}*.onnx" for kind in kinds), "onnx/model_q*int8*.onnx"]
    found = [file for pattern in (*wanted, "onnx/model.onnx") for file in sorted(folder.glob(pattern))]
    if not found or not (folder / "tokenizer.json").is_file():
        lacking = "tokenizer.json" if found else "model.onnx"
        raise RerankerError(f"The folder {folder} holds no {lacking}.", hint=_HINT)
    return found[0]


@dataclass(frozen=True, slots=True)
class _ModelKey:
    """Everything that determines which model is loaded, and how."""

    folder: Path
    file: Path
    tokens: int


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model; threads may share it, because its tokenizer's settings never change."""

    source: Path
    run: Callable[[str, str], Any]
    cores: ThreadPoolExecutor

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        cleaned = without_surrogates(query)
        return list(self.cores.map(lambda text: self._one(cleaned, without_surrogates(text)), texts))

    def _one(self, query: str, text: str) -> float:
        logits = self.run(query, text)
        if logits.shape != (1, 1):
            raise RerankerError(
                f"The model {self.source} answers a pair with numbers of shape {logits.shape}, not with "
                "one score.",
                hint=_HINT,
            )
        return float(logits[0, 0])


def _load(key: _ModelKey) -> _Model:
    import numpy as np

    try:
        tokenizer, session = _tokenizer(key), open_session(str(key.file), threads=1)
    except Exception as error:  # a broken file or installation may raise anything
        raise RerankerError(
            f"The model {key.file} could not be loaded: {first_line(error)}.", hint=_HINT
        ) from error
    features = {item.name: _FEATURES.get(item.name, "") for item in session.get_inputs()}
    if strange := sorted(name for name, feature in features.items() if not feature):
        raise RerankerError(
            f"The model {key.file} needs {' and '.join(strange)}, which no cross-encoder does.", hint=_HINT
        )

    def run(query: str, text: str) -> Any:
        encoded = tokenizer.encode(query, text)
        fed = {name: np.array([getattr(encoded, part)], dtype=np.int64) for name, part in features.items()}
        return session.run(None, fed)[0]

    return _Model(key.file, run, ThreadPoolExecutor(cpu_threads(), "pgrecall onnx"))


_models = SharedModels(_load)


def _tokenizer(key: _ModelKey) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(key.folder / "tokenizer.json"))
    limit_in_folder = _json(key.folder / "tokenizer_config.json").get("model_max_length") or key.tokens
    limit = min(key.tokens, max_positions(_json(key.folder / "config.json")), int(limit_in_folder))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer


def _json(file: Path) -> dict[str, Any]:
    values = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return values if isinstance(values, dict) else {}
