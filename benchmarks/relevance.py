"""Fits the shipped relevance coefficients from the judged queries under examples/.

    python -m benchmarks.relevance

A logistic model over the features that search explains, on the candidates that search gathers. The
corpora are our own (examples/, CC0): nothing is fitted on LoCoMo, which `benchmarks.locomo` tests with.
Prints the row for ``schema/functions/99_defaults.sql`` and cross-validated figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

from benchmarks.database import fresh_database
from pgrecall.client import Memory
from pgrecall.importers import open_source
from pgrecall.search.embedding import make_embedder
from pgrecall.settings import load_settings

EXAMPLES = Path(__file__).parent.parent / "examples"
FEATURES = ("similarity", "coverage", "information", "name", "author")
AUTHOR_WEIGHT = 1.0
"""Chosen, not fitted: how far a question believes the author it names. On our own chats the ranking gains
with it and the log loss hardly minds; beyond 1 it does, since a false premise is then believed."""

ASKED_WITH_MORE = ("as-of", "cue", "hints", "superseded", "window-alone")
"""Kinds whose answer depends on more than words, or on links that are not made here."""

CORPORA = {"vault": EXAMPLES / "vault", "chat": EXAMPLES / "chat.json"}


def judged(corpus: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Queries with the keys that answer them."""
    for line in (EXAMPLES / "judged" / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["kind"] in ASKED_WITH_MORE:
            continue
        sample = f"{entry['sample_id']}/" if "sample_id" in entry else ""
        yield entry["query"], frozenset(f"{sample}{key}" for key in entry["relevant"])


def features(explanation: Mapping[str, Any], by_named_author: bool) -> list[float]:
    arms = explanation["arms"]
    lexical, named = arms.get("lexical", {}), arms.get("name", {})
    return [
        arms["semantic"]["similarity"],
        lexical.get("coverage", 0.0),
        float(np.log1p(lexical.get("strength", 0.0))),
        named.get("likeness", 0.0) * (2 if named.get("alone") else 1),
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


def fit(x: np.ndarray, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Intercept and weights of a logistic model with a fixed offset and a slight ridge."""
    design = np.column_stack([np.ones(len(x)), x])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = design @ weights + offset
        penalty = 0.05 * weights[1:]
        gradient = design.T @ (1 / (1 + np.exp(-margin)) - y)
        gradient[1:] += 2 * penalty
        return float(np.logaddexp(0, margin).sum() - (y * margin).sum() + penalty @ weights[1:]), gradient

    return np.asarray(minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS").x)


def probabilities(x: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-(weights[0] + x @ weights[1:] + offset))))


def held_out_loss(x: np.ndarray, y: np.ndarray, groups: np.ndarray, offset: np.ndarray) -> float:
    """Log loss over five folds, no query in two of them."""
    predicted = np.empty(len(y))
    for train, test in GroupKFold(5).split(x, y, groups):
        predicted[test] = probabilities(x[test], fit(x[train], y[train], offset[train]), offset[test])
    return float(log_loss(y, predicted))


def main() -> None:
    x, y, groups = gather()
    print(f"{len(y)} candidates, {int(y.sum())} relevant, {len(set(groups))} queries")
    print(f"log loss: base rate {log_loss(y, np.full(len(y), y.mean())):.4f}, ", end="")
    author = FEATURES.index("author")
    others = np.delete(x, author, axis=1)
    for weight in (0.0, AUTHOR_WEIGHT, 2.0):
        print(f"author {weight:g}: {held_out_loss(others, y, groups, weight * x[:, author]):.4f}; ", end="")
    offset = AUTHOR_WEIGHT * x[:, author]
    weights = fit(others, y, offset)
    bare = fit(np.empty((len(y), 0)), y, others[:, 1:] @ weights[2:] + offset)
    names = [name for name in FEATURES if name != "author"]
    print(f"\nintercept {weights[0]:.2f}, no_similarity {bare[0] - weights[0]:.2f}, ", end="")
    print(
        ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, weights[1:], strict=True)), end=", "
    )
    print(f"author {AUTHOR_WEIGHT:g} (chosen)")


if __name__ == "__main__":
    main()
