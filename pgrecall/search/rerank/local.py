"""The local reranker: a cross-encoder of sentence-transformers in this process.

To keep imports fast, torch and sentence-transformers are imported when a model is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.model_loading import (
    HUB_NAME,
    SharedModels,
    first_line,
    max_positions,
    model_folder,
    require_package,
    silence_libraries,
    without_surrogates,
)
from pgrecall.search.rerank.batching import MAX_PAIRS, BatchingReranker, BatchingRules, Scorer
from pgrecall.search.rerank.first_token import read_first_token_only
from pgrecall.search.rerank.scores import Scale

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
MAX_TOKENS = 512
CHARACTERS_PER_TOKEN = 16
"""Characters of a text to tokenize for each token read. No language has words so long, and tokenizing a
megabyte takes a second."""

Precision = Literal["auto", "float32", "bfloat16"]

CPU_BATCH = 13
"""Half a group. For 50 chat turns on one idle core, batches of 13 cost .68 of one padded batch and batches of
4 cost .61. But torch's threads wait for each other at every step: on busy cores, batches of 4 took nearly
three times as long as the padded one."""

_HINT = "Give the name or the folder of a cross-encoder with one score as PGRECALL_RERANKER_MODEL."


class LocalReranker(BatchingReranker):
    """A cross-encoder on this machine: a folder, or a name on the Hugging Face hub.

    The model is loaded once per process, on first use or by ``warm_up()``, and shared by every LocalReranker
    that names it.

    Args:
        model: the folder or name; None is ``DEFAULT_MODEL``.
        pairs: maximum number of candidates to read.
        tokens: maximum number of tokens of a pair, including the query; the model's own limit applies too.
        scale: probability if the model itself ends in a sigmoid. The activation that the configuration of the
            model names is not applied.
        precision: auto is bfloat16 where the hardware supports it, which changes logits in the third digit,
            else float32.
        local_files_only: False downloads a model that is not on this machine.

    Raises:
        InvalidInput: a number is invalid.
        MissingExtra: pgrecall[torch] is not installed.
        RerankerError: ``model`` is neither the folder of a model nor a possible name on the hub.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        pairs: int = MAX_PAIRS,
        tokens: int = MAX_TOKENS,
        scale: Scale = "logit",
        precision: Precision = "auto",
        local_files_only: bool = True,
    ) -> None:
        require_package("sentence_transformers", "torch")
        require_package("torch", "torch")
        source = model or DEFAULT_MODEL
        name = source
        if not HUB_NAME.fullmatch(source) or Path(source).is_dir():
            folder = _model_folder(source)
            source, name = str(folder), folder.name
        self._key = _ModelKey(source, require_tokens(tokens), precision, local_files_only)
        self._rules = BatchingRules(name, scale, pairs=pairs, characters=CHARACTERS_PER_TOKEN * tokens)

    def __repr__(self) -> str:
        return f"LocalReranker({self.name!r})"

    def warm_up(self) -> None:
        """Loads the model and reads one pair, so that the first search is as fast as later ones."""
        self._scorer().score("query", ["answer"])

    def _scorer(self) -> Scorer:
        model = _models.get(self._key)
        return Scorer(model.score, model.batch)


def require_tokens(tokens: int) -> int:
    """Returns the same number; raises InvalidInput if it is too small for a query and part of a text."""
    if tokens < 16:
        raise InvalidInput(f"A reranker cannot read pairs of {tokens} tokens.", hint="Give at least 16.")
    return tokens


@dataclass(frozen=True, slots=True)
class _ModelKey:
    """Everything that determines which model is loaded, and how."""

    source: str
    tokens: int
    precision: Precision
    local_files_only: bool = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model, used by one thread at a time because tokenizers are not thread-safe."""

    source: str
    batch: int
    run: Callable[[list[tuple[str, str]]], list[float]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        cleaned = without_surrogates(query)
        try:
            with self.lock:
                return self.run([(cleaned, without_surrogates(text)) for text in texts])
        except RuntimeError as error:
            raise RerankerError(
                f"The cross-encoder {self.source} failed on {len(texts)} pairs: {first_line(error)}.",
                hint="If memory ran out, lower PGRECALL_RERANKER_TOKENS.",
            ) from error


def _load(key: _ModelKey) -> _Model:
    import torch

    model = _cross_encoder(key)
    read_first_token_only(model.model, model.tokenizer)
    limit = min(key.tokens, max_positions(model.config.to_dict()), model.tokenizer.model_max_length)
    # The name of the limit in sentence-transformers 6, and its previous name.
    setattr(model, "max_seq_length" if hasattr(model, "max_seq_length") else "max_length", limit)
    device = str(model.device).partition(":")[0]
    bare = torch.nn.Identity()

    def autocast() -> AbstractContextManager[Any]:
        lower = key.precision == "bfloat16" or (key.precision == "auto" and _has_bfloat16(device))
        return torch.autocast(device, dtype=torch.bfloat16) if lower else nullcontext()

    def run(pairs: list[tuple[str, str]]) -> list[float]:
        with autocast():
            scored = model.predict(pairs, batch_size=len(pairs), activation_fn=bare, show_progress_bar=False)
        scores: list[float] = scored.tolist()
        return scores

    return _Model(key.source, CPU_BATCH if device == "cpu" else MAX_PAIRS, run)


_models = SharedModels(_load)


def _cross_encoder(key: _ModelKey) -> Any:
    named = not Path(key.source).is_dir()
    try:
        with silence_libraries():
            from sentence_transformers import CrossEncoder

            local = key.local_files_only or not named
            model = CrossEncoder(key.source, local_files_only=local)
            _require_single_score(model, key.source)
    except RerankerError:
        raise
    except OSError as error:
        if not (named and key.local_files_only):
            raise _unloadable(key, error) from error
        raise RerankerError(
            f"The cross-encoder {key.source} is not on this machine.", hint=_download(key.source)
        ) from error
    except Exception as error:  # a broken model or installation may raise anything
        raise _unloadable(key, error) from error
    return model


def _unloadable(key: _ModelKey, error: Exception) -> RerankerError:
    return RerankerError(
        f"The cross-encoder {key.source} could not be loaded: {first_line(error)}.", hint=_HINT
    )


def _download(source: str) -> str:
    return (
        f"Download it once with `hf download {source}`, or give the folder of a cross-encoder as "
        "PGRECALL_RERANKER_MODEL."
    )


def _require_single_score(model: Any, source: str) -> None:
    """Refuses other models; the libraries would give them a head with random weights."""
    names = getattr(model.config, "architectures", None) or [""]
    if not names[0].endswith(("ForSequenceClassification", "ForCausalLM")):
        raise RerankerError(f"The model {source} is not a cross-encoder but a {names[0]}.", hint=_HINT)
    if model.num_labels != 1:
        raise RerankerError(
            f"The model {source} sorts pairs into {model.num_labels} classes and gives no score.",
            hint=_HINT,
        )


def _has_bfloat16(device: str) -> bool:
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device == "cpu" and hasattr(torch.cpu, "get_capabilities"):
        return bool(torch.cpu.get_capabilities().get("amx_bf16", False))
    return False


def _model_folder(given: str) -> Path:
    folder = model_folder(given)
    if not (folder / "config.json").is_file():
        raise RerankerError(f"The folder {folder} holds no cross-encoder.", hint=_HINT)
    return folder
