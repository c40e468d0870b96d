"""Loading models in silence: what the local embedder and the rerankers share."""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pgrecall.errors import MissingExtra

HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
"""What can be the name of a model on the Hugging Face hub."""


def require_package(package: str, extra: str) -> None:
    """Raises MissingExtra unless the package can be imported; it is not imported."""
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(package.replace("_", "-"), extra)


def readable(text: str) -> str:
    """The text without the lone surrogates that tokenizers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")


def first_line(error: Exception) -> str:
    """What an error says, short enough for a sentence of ours."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def places(config: Mapping[str, Any]) -> int:
    """Tokens that a transformer with this config.json can place; its tokenizer may promise more."""
    limit = int(config.get("max_position_embeddings") or sys.maxsize)
    if "roberta" in config.get("model_type", ""):  # whose places begin after the one of padding
        limit -= int(config.get("pad_token_id") or 0) + 1
    return limit


@contextmanager
def quiet() -> Iterator[None]:
    """Loads without the libraries' progress bars, warnings and log lines; failures still raise."""
    loggers = [
        logging.getLogger(name) for name in ("transformers", "sentence_transformers", "huggingface_hub")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as transformers_logging

        bars: Any = transformers_logging  # whose functions are untyped
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
