"""Real sentences and their embeddings: from the documentation of Python's own library and of ours it needs.

Every machine that runs this has them, in English written by hundreds of people about many things. Which there
are depends on versions; ratios within one run do not mind.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pgrecall.search.embedding import Embedder

Vectors = npt.NDArray[np.float32]
"""Rows of unit length."""

_PACKAGES = ("sqlalchemy", "networkx", "numpy", "alembic", "pydantic")
_SKIPPED = {
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "__pycache__",
    "turtledemo",
}
_BLOCK = 1000


def sentences(count: int) -> list[str]:
    """So many different sentences, in an order that is the same each time; an error where there are fewer."""
    found = sorted(set(_all_sentences()))
    if len(found) < count:
        raise SystemExit(f"The libraries here say {len(found):,} sentences; {count:,} are needed.")
    random.Random(20261121).shuffle(found)
    return found[:count]


def _all_sentences() -> Iterator[str]:
    specs = [importlib.util.find_spec(package) for package in _PACKAGES]
    packages = [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    for root in (Path(sysconfig.get_path("stdlib")), *packages):
        for path in root.rglob("*.py"):
            if not _SKIPPED.intersection(path.relative_to(root).parts):
                yield from _sentences_in(path)


def _sentences_in(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # some files are there to be wrong
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                if ">>>" not in paragraph:
                    yield from _split(" ".join(paragraph.split()))


def _split(paragraph: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph):
        if 40 <= len(sentence) <= 300 and len(sentence.split()) >= 6:
            yield sentence


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path) -> Vectors:
    """One vector for each text, made once and kept in the folder ``cache``, a thousand in a file."""
    cache.mkdir(parents=True, exist_ok=True)
    blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
    return np.concatenate([_block(block, embedder, cache) for block in blocks])


def _block(texts: Sequence[str], embedder: Embedder, cache: Path) -> Vectors:
    digest = hashlib.sha256("\n".join([embedder.name, *texts]).encode()).hexdigest()[:16]
    path = cache / f"sentences-{digest}.npy"
    if not path.exists():
        fresh = path.with_suffix(".new.npy")
        np.save(fresh, np.asarray(embedder.embed(texts), dtype=np.float32))
        fresh.replace(path)
    return np.asarray(np.load(path), dtype=np.float32)


def mixed(vectors: Vectors, parts: npt.NDArray[np.int64], dice: np.random.Generator) -> Vectors:
    """Vectors like those of texts that say what these sentences say: their mean, and a quarter of noise.

    Args:
        vectors: of the sentences, (sentences, dimensions).
        parts: which sentences each text holds, (texts, at most so many); -1 where it holds fewer.
    """
    held = (parts >= 0)[:, :, None]
    sums = np.where(held, vectors[parts], 0).sum(axis=1)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    noise = dice.standard_normal(sums.shape, dtype=np.float32)
    noise *= 0.25 / np.linalg.norm(noise, axis=1, keepdims=True)
    sums += noise
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)
