"""Fits the confidence of a search, and the threshold below which it says that nothing answers.

    python -m benchmarks.confidence [--write]

Every judged query of examples/ is searched in its corpus, and queries of other corpora are searched there
too, whose answer it cannot hold. A search found an answer if one of its ten most relevant memories is judged
relevant. The confidence is a logistic model of two features (`recall_private.search_confidence`),
fitted here with
each story left out in turn. It prints false alarms (there is no answer, but the search claims one) against
misses (an answer was found, but the search says there is none) for each threshold, and the settings that
ship. --write stores the figures that docs/explanation/figures draws.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from benchmarks.examples.judged import CORPORA, NOW, Judged, fill, read_judged
from benchmarks.harness import fresh_database
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.calibration.examples import Examples, Floats
from pgrecall.search.calibration.fitting import Terms, fit, logistic
from pgrecall.search.calibration.reliability import agreement_of, calibration_error, reliability
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.probabilities import logit_of
from pgrecall.settings import load_settings

FIGURES = Path(__file__).parents[1] / "docs" / "explanation" / "figures" / "confidence.json"
NAMES = ("intercept", "relevance", "size")
RIDGE = 0.1
FOREIGN = 3
"""Of the queries of other stories every third is searched too."""

THRESHOLDS = tuple(step / 20 for step in range(21))
SHIPPED = 0.2
ASKED = 10
DRAWS = 400
"""Outcomes drawn by lot, for the calibration error of a confidence that is right."""


@dataclass(frozen=True, slots=True)
class Searched:
    """One search: the features of its confidence, whether its query is one of the corpus, and what is known
    of the answer: whether there is one, and whether it was found."""

    corpus: str
    own: bool
    features: tuple[float, ...]
    answerable: bool
    found: bool


def story(corpus: str) -> str:
    """Corpora of one story share people and places, so that each may answer queries of the other."""
    name = corpus.split("-")[0]
    return "vault" if name == "harbor" else name


def questions(corpus: str) -> Iterator[tuple[Judged, bool]]:
    """The queries to search in a corpus, each with whether it is the corpus's own."""
    others = 0
    for judged in read_judged():
        if not judged.query:
            continue
        if judged.corpus == corpus:
            yield judged, True
        elif story(judged.corpus) != story(corpus):
            others += 1
            if others % FOREIGN == 0:
                yield Judged(judged.id, "foreign", corpus, judged.query, frozenset()), False


def search_all() -> list[Searched]:
    settings = load_settings()
    embedder = make_embedder(settings)
    assert embedder is not None, "confidence is fitted with an embedder"
    searched = []
    with fresh_database(settings, embedder.dimensions) as url:
        for corpus in CORPORA:
            with Memory(url, tenant=corpus, settings=settings, embedder=embedder) as memory:
                fill(memory, corpus)
                memory.maintenance.refresh_statistics(now=NOW)
                size = math.log1p(sum(layer.memories for layer in memory.status().layers))
                searched += [_search(memory, judged, size, own) for judged, own in questions(corpus)]
    return searched


def _search(memory: Memory, judged: Judged, size: float, own: bool) -> Searched:
    options: SearchOptions = {
        "k": ASKED, "vitality_mode": "off", "explain": False, "log": False, "profile": "balanced",
        "now": None if "as_of" in judged.options else NOW,
    }  # fmt: skip
    result = memory.search(judged.query, **cast(SearchOptions, {**judged.options, **options}))
    hits = result.hits
    assert result.confidence is not None, "a query has a confidence"
    # What the search takes for evidence: a question or an acknowledgement is none, a lifted directive half.
    shipped = {setting.name: setting.value for setting in memory.settings.list()}
    intercept, relevance, weight = (shipped[f"confidence.{name}"] for name in NAMES)
    best = (logit_of(result.confidence) - intercept - weight * size) / relevance
    keys = {key for hit in hits for key in (hit.key or "", (hit.key or "").partition("#")[0])}
    return Searched(
        judged.corpus, own, (1.0, best, size), bool(judged.relevant), bool(keys & judged.relevant)
    )


def examples_of(searched: Sequence[Searched]) -> Examples:
    count = len(searched)
    return Examples(
        np.array([one.features for one in searched]),
        np.array([one.found for one in searched]),
        np.ones(count),
        np.arange(count),
    )


def confidence_terms() -> Terms:
    least = np.array([-math.inf, 0.0, -math.inf])
    ridge = np.array([0.0, RIDGE, RIDGE])
    return Terms(NAMES, np.zeros(3), ridge, least, np.full(3, math.inf))


def left_out(searched: Sequence[Searched]) -> Floats:
    """The log-odds of each search by coefficients fitted without its story."""
    terms, logits = confidence_terms(), np.empty(len(searched))
    stories = np.array([story(one.corpus) for one in searched])
    examples = examples_of(searched)
    for name in np.unique(stories):
        inside = stories == name
        logits[inside] = terms.log_odds(examples.design[inside], fit(examples.of(~inside), terms))
    return logits


def trade_off(searched: Sequence[Searched], confidence: Floats) -> list[dict[str, float]]:
    """For each threshold: false alarms of the searches without an answer, near (queries over the corpus
    itself) and far (over another story), and misses of those that found one."""
    found = np.array([one.found for one in searched])
    near = np.array([one.own and not one.answerable for one in searched])
    far = np.array([not one.own for one in searched])
    return [
        {
            "threshold": least,
            "near": float((confidence[near] >= least).mean()),
            "far": float((confidence[far] >= least).mean()),
            "misses": float((confidence[found] < least).mean()),
        }
        for least in THRESHOLDS
    ]


def by_chance(confidence: Floats) -> tuple[float, float]:
    """The calibration error that these confidences would have if they were right: the mean, and the 95 %
    point. It is not 0, because so few searches scatter around them."""
    chance, count = np.random.default_rng(1), len(confidence)
    drawn = [
        Examples(np.empty((count, 0)), chance.random(count) < confidence, np.ones(count), np.arange(count))
        for _ in range(DRAWS)
    ]
    errors = [calibration_error(examples, confidence) for examples in drawn]
    return float(np.mean(errors)), float(np.quantile(errors, 0.95))


def report(searched: Sequence[Searched]) -> dict[str, object]:
    examples, logits = examples_of(searched), left_out(searched)
    confidence = logistic(logits)
    for name in CORPORA:
        inside = np.array([one.corpus == name for one in searched])
        agreement = agreement_of(examples.of(inside), logits[inside])
        part = [one for one in searched if one.corpus == name]
        at = trade_off(part, confidence[inside])[THRESHOLDS.index(SHIPPED)]
        chance, bound = by_chance(confidence[inside])
        print(
            f"{name:>12}: log loss {agreement.log_loss:.3f}, ECE {agreement.ece:.3f} "
            f"(by chance {chance:.3f}, 95 % below {bound:.3f}), {_described(at)}"
        )
    curve = trade_off(searched, confidence)
    for at in curve:
        print(_described(at))
    bins = reliability(examples, logits)
    for one in bins:
        print(f"confidence {one.predicted:.2f}: {one.observed:.2f} of {one.count}")
    print(f"all: ECE {agreement_of(examples, logits).ece:.4f}")
    fitted = confidence_terms().named(fit(examples, confidence_terms()))
    print(", ".join(f"confidence.{name} {value:.2f}" for name, value in fitted.items()))
    return {"curve": curve, "reliability": [(one.predicted, one.observed, one.count) for one in bins]}


def _described(at: dict[str, float]) -> str:
    return (
        f"at {at['threshold']:.2f}: false alarms {at['near']:.3f} near, {at['far']:.3f} far; "
        f"misses {at['misses']:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="store the figures for the documentation")
    arguments = parser.parse_args()
    figures = report(search_all())
    if arguments.write:
        FIGURES.write_text(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
