"""Fits coefficients to the order of hits, which decides what is found, instead of to their probabilities.

    python -m benchmarks.relevance_order [--ridge 0.001]

Each judged query of examples/ is searched without vitality. The probability that one of its best 50 hits
answers it is a softmax over their log-odds, to which a multiple of each feature is added; the multiples are
what predicts the hits that answer best. It prints what to add to each coefficient, and recall@5, recall@10
and MRR before and after, by corpora left out. A coefficient that is right for the order can make a search too
sure of itself, so compare the confidence too (`benchmarks.applies`).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.applies.corpora import judged_collections
from benchmarks.harness import fresh_database
from benchmarks.locomo.data import Question
from benchmarks.locomo.scores import Scores
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

Floats = npt.NDArray[np.float64]

FEATURES = ("period", "speaker")
POOL = 50
FOLDS = 8


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of a query: their keys, and their log-odds before :data:`FEATURES`, shape (n, 3)."""

    question: Question
    corpus: str
    keys: Sequence[str]
    design: Floats

    @property
    def target(self) -> Floats:
        answers = self.question.evidence.union(*self.question.groups)
        return np.array([float(key in answers) for key in self.keys])

    def found(self, weights: Floats) -> list[str]:
        return [self.keys[place] for place in np.argsort(-(self.design @ weights), kind="stable")]


def rankings() -> list[Ranking]:
    """The best hits of every judged query that has an answer."""
    settings = load_settings()
    embedder = make_embedder(settings)
    if embedder is None:
        raise SystemExit("There is no embedder; set PGRECALL_EMBEDDER.")
    made = []
    with fresh_database(settings, embedder.dimensions) as url:
        for tenant in (tenant for collection in judged_collections() for tenant in collection.tenants):
            with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                tenant.fill(memory)
                for question in (one for one in tenant.questions if one.evidence):
                    options = cast(
                        SearchOptions, {**question.options, "k": POOL, "log": False, "vitality_mode": "off"}
                    )
                    hits = memory.search(question.text, **options).hits
                    rows = [_row(hit.explanation["relevance"]) for hit in hits]
                    keys = [tenant.key_of(hit.key or "") for hit in hits]
                    if rows:
                        made.append(Ranking(question, tenant.name, keys, np.array(rows)))
    return made


def _row(relevance: Mapping[str, Any]) -> list[float]:
    return [relevance["logit"], *(float(relevance["features"][name]) for name in FEATURES)]


def fitted(some: Sequence[Ranking], ridge: float) -> Floats:
    """The weight of the log-odds and of each feature, after a penalty of their square."""
    used = [one for one in some if one.target.any()]
    starts = np.cumsum([0, *(len(one.keys) for one in used)])[:-1]
    of = np.repeat(np.arange(len(used)), [len(one.keys) for one in used])
    design = np.vstack([one.design for one in used])
    target = np.concatenate([one.target / one.target.sum() for one in used])
    start = np.array([1.0, *(0.0 for _ in FEATURES)])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = design @ weights
        scores = scores - np.maximum.reduceat(scores, starts)[of]
        odds = np.exp(scores)
        sums = np.add.reduceat(odds, starts)[of]
        apart = weights - start
        value = -(target * (scores - np.log(sums))).sum() / len(used) + ridge * (apart**2).sum()
        return value, design.T @ (odds / sums - target) / len(used) + 2 * ridge * apart

    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def told(some: Sequence[Ranking], weights: Sequence[Floats]) -> str:
    scores = Scores()
    for one, given in zip(some, weights, strict=True):
        scores.add(one.question, one.found(given))
    found = {name: mean(values) for name, values in scores.measures().items()}
    return f"recall@5 {found['recall@5']:.3f}, @10 {found['recall@10']:.3f}, MRR {found['mrr']:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ridge", type=float, default=0.001)
    ridge = parser.parse_args().ridge
    some = rankings()
    corpora = sorted({one.corpus for one in some})
    fold = dict(
        zip(np.random.default_rng(0).permutation(corpora), np.arange(len(corpora)) % FOLDS, strict=True)
    )
    apart = [fitted([one for one in some if fold[one.corpus] != left], ridge) for left in range(FOLDS)]
    before = np.array([1.0, *(0.0 for _ in FEATURES)])
    print(f"{len(some)} queries before: {told(some, [before] * len(some))}")
    print(f"fitted, by corpora left out: {told(some, [apart[fold[one.corpus]] for one in some])}")
    weights = fitted(some, ridge)
    for name, value in zip(FEATURES, weights[1:] / weights[0], strict=True):
        print(f"{name}: {value:+.2f}")


if __name__ == "__main__":
    main()
