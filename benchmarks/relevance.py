"""Fits the shipped relevance coefficients from the judged queries under examples/.

    python -m benchmarks.relevance

A logistic model over the features that search explains, on the candidates that search gathers. The
corpora are our own (examples/, CC0), so that LoCoMo stays unseen: `benchmarks.locomo` is the test.
Prints the row for ``schema/functions/99_defaults.sql`` and cross-validated figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.database import fresh_database
from pgrecall.client import Memory
from pgrecall.importers import open_source
from pgrecall.search.embedding import make_embedder
from pgrecall.settings import load_settings

EXAMPLES = Path(__file__).parent.parent / "examples"
FEATURES = ("similarity", "coverage", "information", "name", "author")
CORPORA = {"vault": EXAMPLES / "vault", "chat": EXAMPLES / "chat.json"}


def judged(corpus: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Queries with the keys that answer them."""
    for line in (EXAMPLES / "judged" / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        sample = f"{entry['sample_id']}/" if "sample_id" in entry else ""
        yield entry["query"], frozenset(f"{sample}{key}" for key in entry["relevant"])


def features(explanation: Mapping[str, Any], by_named_author: bool) -> list[float]:
    arms = explanation["arms"]
    lexical = arms.get("lexical", {})
    return [
        arms["semantic"]["similarity"],
        lexical.get("coverage", 0.0),
        float(np.log1p(lexical.get("strength", 0.0))),
        arms.get("name", {}).get("likeness", 0.0),
        float(by_named_author),
    ]


def gather() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and query numbers of every candidate of every judged query."""
    rows: list[list[float]] = []
    labels: list[bool] = []
    groups: list[int] = []
    settings = load_settings()
    embedder = make_embedder(settings)
    assert embedder is not None, "relevance is fitted with an embedder"
    with fresh_database(settings, embedder.dimensions) as url:
        for corpus, path in CORPORA.items():
            with Memory(url, tenant=corpus, settings=settings, embedder=embedder) as memory:
                memory.import_drafts(open_source(path), source=corpus)
                for number, (query, relevant) in enumerate(judged(corpus)):
                    for hit in memory.search(query, k=50, vitality_mode="off").hits:
                        author = hit.explanation["relevance"]["author"] != 0
                        rows.append(features(hit.explanation, author))
                        labels.append((hit.key or "").split("#")[0] in relevant)
                        groups.append(number + 1000 * len(corpus))
    return np.array(rows), np.array(labels), np.array(groups)


def intercept_without_similarity(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """The best intercept when the other weights stay and similarity is unknown."""
    rest = x[:, 1:] @ weights[1:]

    def loss(intercept: float) -> float:
        return float(log_loss(y, 1 / (1 + np.exp(-(intercept + rest)))))

    return float(minimize_scalar(loss, bounds=(-15, 5), method="bounded").x)


def main() -> None:
    x, y, groups = gather()
    model = LogisticRegression(C=10, max_iter=1000)
    held_out = cross_val_predict(model, x, y, groups=groups, cv=GroupKFold(5), method="predict_proba")[:, 1]
    model.fit(x, y)
    weights = model.coef_[0]
    intercept = float(model.intercept_[0])
    bare = intercept_without_similarity(x, y, weights)
    print(f"{len(y)} candidates, {int(y.sum())} relevant, {len(set(groups))} queries")
    print(f"log loss, 5 folds by query: {log_loss(y, held_out):.4f}; base rate: ", end="")
    print(f"{log_loss(y, np.full(len(y), y.mean())):.4f}")
    print(f"intercept {intercept:.2f}, no_similarity {bare - intercept:.2f}, ", end="")
    print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(FEATURES, weights, strict=True)))


if __name__ == "__main__":
    main()
