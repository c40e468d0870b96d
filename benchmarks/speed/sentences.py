"""Real sentences and their embeddings, from the documentation of Python's library and of dependencies.

Every machine that runs this has them: English by hundreds of people about many topics. The set depends on
versions, which does not affect ratios within one run.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import random
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pgrecall.search.embed.embedder import Embedder

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

NOISE = 0.42
"""The length of the noise relative to that of the sentences."""


def sentences(count: int, cache: Path) -> list[str]:
    """So many different sentences in a fixed order. Raises an error if there are fewer.

    The texts of the libraries are read once and kept in the folder ``cache``.
    """
    said_by = " ".join([sys.version, *(f"{package} {version(package)}" for package in _PACKAGES)])
    kept = cache / f"sentences-{hashlib.sha256(said_by.encode()).hexdigest()[:16]}.json"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        found = sorted(set(_all_sentences()))
        random.Random(20261121).shuffle(found)
        fresh = kept.with_suffix(".new")
        fresh.write_text(json.dumps(found), encoding="utf-8")
        fresh.replace(kept)
    known: list[str] = json.loads(kept.read_text(encoding="utf-8"))
    if len(known) < count:
        raise SystemExit(f"The libraries here say {len(known):,} sentences; {count:,} are needed.")
    return known[:count]


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
    except (SyntaxError, ValueError):  # some files are invalid on purpose
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
    """One vector for each text, computed once and kept in the folder ``cache``, a thousand in a file."""
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
    """Vectors like those of texts that paraphrase these sentences.

    They are weighted sums of the vectors of the sentences plus noise with the covariance of sentences, which
    keeps them in the region of real texts. Two texts with the same single sentence have a cosine of about
    0.85.

    Args:
        vectors: of the sentences, (sentences, dimensions).
        parts: the sentences of each text, (texts, at most so many); -1 for none.
    """
    shares = dice.uniform(0.5, 1.5, parts.shape).astype(np.float32)
    shares[parts < 0] = 0
    sums = np.einsum("tp,tpd->td", shares, vectors[parts], optimize=True)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    values, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    along = (directions * np.sqrt(np.maximum(values, 0))).astype(np.float32)
    noise = dice.standard_normal(sums.shape, dtype=np.float32) @ along.T
    sums += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)
