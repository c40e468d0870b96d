"""Functions for loading models, also under ONNX Runtime, that the local embedder and the rerankers share."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.search.foreign_words import message_of
from pgrecall.setting_types import expand_home
from pgrecall.settings import set_for_libraries

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)
Model = TypeVar("Model")

HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
"""A possible name of a model on the Hugging Face hub."""


class SharedModels(Generic[Key, Model]):
    """Models that this process has loaded, by everything that determines one; threads may share it.

    A forked process loads its own: the threads of a model do not survive a fork, and a lock may be held.
    """

    def __init__(self, load: Callable[[Key], Model]) -> None:
        self._load = load
        self._models: dict[tuple[int, Key], Model] = {}
        self._loading: dict[int, threading.Lock] = {}

    def get(self, key: Key) -> Model:
        """Returns the model, loaded by the first call; others wait for it. Raises whatever loading raises."""
        process = os.getpid()
        with self._loading.setdefault(process, threading.Lock()):
            if (process, key) not in self._models:
                self._models[process, key] = self._load(key)
            return self._models[process, key]


def require_package(package: str, extra: str) -> None:
    """Raises MissingExtra unless the package can be imported; it is not imported."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(package.replace("_", "-"), extra)


def model_folder(given: str | Path) -> Path:
    """The absolute path of a model's folder, which need not exist.

    Raises:
        InvalidInput: it begins with a home directory that does not exist.
    """
    try:
        return expand_home(given).resolve()
    except ValueError as error:
        raise InvalidInput(f"The folder {str(given)!r} {error}.", hint="Give an absolute path.") from None


def without_surrogates(text: str) -> str:
    """Replaces lone surrogates, which tokenizers refuse, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def first_line(error: Exception) -> str:
    """The first line of an error's message, without its full stop."""
    return message_of(error) or type(error).__name__


def max_positions(config: Mapping[str, Any]) -> int:
    """Returns the maximum number of tokens for a transformer with this config.json; its tokenizer may claim
    more."""
    limit = int(config.get("max_position_embeddings") or sys.maxsize)
    if "roberta" in config.get("model_type", ""):  # positions begin after that of the padding token
        limit -= int(config.get("pad_token_id") or 0) + 1
    return limit


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Suppresses the libraries' progress bars, warnings and log lines; errors are still raised."""
    loggers = [
        logging.getLogger(name) for name in ("transformers", "sentence_transformers", "huggingface_hub")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as transformers_logging

        bars: Any = transformers_logging  # its functions are untyped
        shown = bars.is_progress_bar_enabled()
        levels = [logger.level for logger in loggers]
        try:
            bars.disable_progress_bar()
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if shown:
                bars.enable_progress_bar()


def load_runtime() -> Any:
    """Imports onnxruntime without telemetry.

    Its official builds report each process, with a device id that they keep in the user's cache, unless this
    variable is set before the import. A value that is set already is kept.
    """
    set_for_libraries("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_session(graph: bytes | str, threads: int, weights: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """A session, which threads may share; it raises whatever ONNX Runtime raises.

    Args:
        graph: the content of a file, or its path.
        threads: threads for each operator.
        weights: the tensors that the graph names and does not hold.
    """
    onnxruntime = load_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors, which are raised as well
    options.intra_op_num_threads = threads
    # Threads that wait for the next operator give their core to others, Postgres among them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
