"""Fits the shipped coefficients to the judged queries under examples/.

    python -m benchmarks.relevance [--reranker FOLDER]

It works like `pgrecall calibration fit`, but over all corpora of examples/ at once, with a prior
of zero and with four weights given. The corpora are our own (CC0); nothing is fitted on LoCoMo, which
`benchmarks.locomo` tests with. With a cross-encoder it fits the coefficients of the reranked probability
instead, for the relevance in force. It prints the coefficients for the defaults of the schema, and how they
do on held-out queries and on held-out corpora.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np

from benchmarks.examples.judged import CORPORA, NOW, Judged, fill, read_judged
from benchmarks.harness import fresh_database
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.nouns.calibration.models import FEATURES, JudgedQuery, Judgement
from pgrecall.nouns.search.models import Hit, SearchRequest, SearchResult
from pgrecall.search.calibration.examples import Examples, Floats, JudgedCandidates
from pgrecall.search.calibration.fitting import (
    Fitter,
    Terms,
    fit,
    fit_relevance,
    held_out,
    relevance_row,
    relevance_terms,
    rerank_terms,
)
from pgrecall.search.calibration.reliability import agreement_of, gain
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings, load_settings

CHOSEN = {"author": 1.5, "period": 2.58, "speaker": 2.85, "graph": 0.3}
"""Not fitted here: how far a question believes the author, the period and the speaker that it names, and how
much of its relevance a memory lends along a link. `benchmarks.relevance_order` fits period and speaker. The
ranking gains with all and the log loss hardly minds; beyond, it does: a false premise is then believed, and
what is beside an answer is taken for one."""

RIDGE = 0.1
"""Weaker than a tenant's: zero is known to be wrong, where what ships is about right."""

RERANK_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Of these the largest ships that is not worse than the best fit, within 95 %: a cross-encoder made for the
purpose reads better than the small one at hand."""

FITTED_ON = "all-MiniLM-L6-v2 over the judged queries of examples/: benchmarks/relevance.py"
CANDIDATES = 50
DEADLINE = 600.0

# The named profiles that ship are derived from the fitted one: a derived profile multiplies some coefficients
# of `balanced` by a factor, and its constants are fitted again, so that its relevance is right on average.
# The factors are chosen, not fitted: there is no judged set for each kind of query. `seed` and `rrf` are
# formulas whose columns are weights.
COLUMNS = (
    "intercept",
    "similarity",
    "no_similarity",
    "token_similarity",
    "no_token_similarity",
    *FEATURES[2:],
)


@dataclass(frozen=True, slots=True)
class Derived:
    """Changes of `balanced`; a ``vitality_weight`` of None keeps the setting."""

    factors: Mapping[str, float] = field(default_factory=dict)
    vitality_weight: float | None = None


PROFILES = {
    "balanced": Derived(),
    # Who or what it is about decides, and a person does not become less so with time.
    "identity": Derived({"name": 1.5, "author": 1.5}, vitality_weight=0.25),
    # What was written down holds until it is replaced; what it links to belongs to the answer.
    "knowledge": Derived({"graph": 1.5}, vitality_weight=0.25),
    # What happened is remembered by what happened with it.
    "episodic": Derived({"cue": 1.5, "graph": 1.5}),
    # What is being worked on now is what is meant. A larger weight harms more often than it helps more.
    "activity": Derived({"cue": 1.5}, vitality_weight=0.65),
}

FORMULAS = """\
    ('*', '*', 'seed', 'seed', 0, 0.5, 0, 0, 0, 0.3, 0, 0.2, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 'multiply',
     'a blend: 0.5 meaning + 0.3 words + 0.2 names, times vitality'),
    ('*', '*', 'rrf', 'rrf', 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL,
     'reciprocal ranks of meaning, words and names, k = 60')"""


def rows(examples: Examples, terms: Terms, balanced: Mapping[str, float], fitted_on: str) -> str:
    """VALUES of all profiles in the order of 99_defaults.sql."""
    lines = []
    for name, profile in PROFILES.items():
        values = balanced if name == "balanced" else _recentred(examples, terms, balanced, profile)
        numbers = ", ".join(f"{values[column]:.2f}" for column in COLUMNS)
        weight = "NULL" if profile.vitality_weight is None else f"{profile.vitality_weight:g}"
        origin = fitted_on if name == "balanced" else f"balanced with {_told(profile.factors)}"
        lines.append(f"    ('*', '*', '{name}', 'logistic', {numbers}, {weight}, NULL,\n     '{origin}')")
    return ",\n".join((*lines, FORMULAS))


def _recentred(
    examples: Examples, terms: Terms, balanced: Mapping[str, float], profile: Derived
) -> dict[str, float]:
    """The profile's coefficients with an intercept and a no_similarity that fit the judged candidates."""
    changed = {name: value * profile.factors.get(name, 1.0) for name, value in balanced.items()}
    features = {name: changed[name] for name in FEATURES}
    # A feature whose coefficient grows must not make every memory more likely.
    return terms.named(fit_relevance(examples, terms.fixed(features)))


def _told(factors: Mapping[str, float]) -> str:
    return ", ".join(f"{name} times {factor:g}" for name, factor in factors.items())


@dataclass(frozen=True, slots=True)
class FitTarget:
    """What is fitted: its terms, how, and the coefficients in force."""

    terms: Terms
    fitter: Fitter
    current: Floats

    def log_odds(self, examples: Examples) -> Floats:
        return self.terms.log_odds(examples.design, self.current)


def relevance_target(memory: Memory) -> FitTarget:
    current = memory.quality.relevance_models("balanced")[0].coefficients
    terms = relevance_terms(dict.fromkeys(current, 0.0), RIDGE).fixed(CHOSEN)
    return FitTarget(terms, fit_relevance, terms.values(current))


def rerank_target(memory: Memory) -> FitTarget:
    current = memory.quality.rerank_models()[-1].coefficients
    terms = rerank_terms(dict.fromkeys(current, 0.0), RIDGE)
    return FitTarget(terms, fit, terms.values(current))


def search(memory: Memory, judged: Judged, *, rerank: bool) -> SearchResult:
    options: SearchOptions = {
        "k": CANDIDATES,
        "vitality_mode": "off",
        "log": False,
        "now": None if "as_of" in judged.options else NOW,
        "profile": "balanced",
        "rerank": rerank,
        "deadline": DEADLINE,
    }
    return memory.search(judged.query, **cast(SearchOptions, {**judged.options, **options}))


def candidates_of(memory: Memory, judged: Judged, *, rerank: bool) -> list[tuple[Hit, list[float]]]:
    """The candidates of a question, each with its row of the design."""
    hits = search(memory, judged, rerank=False).hits
    if not rerank:
        graph = memory.quality.relevance_models("balanced")[0].coefficients["graph"]
        return [(hit, relevance_row(hit.explanation["relevance"], graph)) for hit in hits]
    reread = search(memory, judged, rerank=True)
    assert reread.reranked, reread.skipped
    scores = {hit.id: hit.reranked.score for hit in reread.hits if hit.reranked is not None}
    return [
        (hit, [1.0, scores[hit.id], hit.explanation["relevance"]["logit"]])
        for hit in hits
        if hit.id in scores
    ]


def gather(settings: Settings, *, rerank: bool) -> tuple[FitTarget, dict[str, Examples]]:
    """What is fitted, and the judged candidates of each corpus: those of questions that have words."""
    embedder = make_embedder(settings)
    assert embedder is not None, "relevance is fitted with an embedder"
    found: dict[str, Examples] = {}
    with fresh_database(settings, embedder.dimensions) as url:
        for corpus in CORPORA:
            with Memory(url, tenant=corpus, settings=settings, embedder=embedder) as memory:
                fill(memory, corpus)
                candidates = JudgedCandidates()
                for judged in read_judged():
                    if judged.corpus == corpus and judged.query:
                        answers = tuple(Judgement(key, True) for key in sorted(judged.relevant))
                        asked = JudgedQuery(SearchRequest(judged.query), answers)
                        candidates.add(asked, candidates_of(memory, judged, rerank=rerank))
                print(f"{corpus}: {candidates.missed} judged relevant were no candidates")
                found[corpus] = candidates.examples()
                target = rerank_target(memory) if rerank else relevance_target(memory)
    return target, found


def together(found: Iterable[Examples]) -> Examples:
    """The examples of several corpora as one, their questions numbered apart."""
    parts, first = list(found), 0
    numbers = []
    for part in parts:
        numbers.append(part.query + first)
        first += int(part.query.max()) + 1
    return Examples(
        np.concatenate([part.design for part in parts]),
        np.concatenate([part.relevant for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate(numbers),
    )


def told(what: str, examples: Examples, before: Floats, after: Floats) -> str:
    was, now = agreement_of(examples, before), agreement_of(examples, after)
    fallen, low, high = gain(examples, before, after)
    return (
        f"{what:>12}: log loss {was.log_loss:.4f} -> {now.log_loss:.4f} (falls by {fallen:.4f}, 95 % "
        f"{low:.4f} to {high:.4f}), Brier {was.brier:.4f} -> {now.brier:.4f}, ECE {was.ece:.4f} -> "
        f"{now.ece:.4f}, MRR {was.mrr:.3f} -> {now.mrr:.3f}"
    )


def report(target: FitTarget, found: dict[str, Examples]) -> None:
    fitted_on = {name: examples for name, examples in found.items() if CORPORA[name].fitted}
    everything = together(fitted_on.values())
    relevant, queries = int(everything.relevant.sum()), len(np.unique(everything.query))
    print(f"{queries} queries, {len(everything)} candidates, {relevant} relevant; in force -> held out")
    after = held_out(everything, target.terms, target.fitter)
    print(told("all", everything, target.log_odds(everything), after))
    for corpus, examples in found.items():
        others = together(part for name, part in fitted_on.items() if name != corpus)
        elsewhere = target.terms.log_odds(examples.design, target.fitter(others, target.terms))
        print(told(f"{corpus} by others", examples, target.log_odds(examples), elsewhere))
    fitted = target.terms.named(target.fitter(everything, target.terms))
    if "rerank" in fitted:
        print(", ".join(f"{name} {value:.2f}" for name, value in fitted.items()))
        for weight in RERANK_WEIGHTS:
            print(with_rerank_weight(weight, target, everything, after))
    else:
        print(rows(everything, target.terms, fitted, FITTED_ON))
        for name in FEATURES:
            if not np.ptp(everything.design[:, target.terms.names.index(name)]):
                print(f"Nothing is known of {name}: no candidate has it.")


def with_rerank_weight(weight: float, target: FitTarget, examples: Examples, best: Floats) -> str:
    """How much worse than the best fit a chosen weight of the reranker is, the others fitted to it."""
    held = target.terms.fixed({"rerank": weight})
    logits = held_out(examples, held, target.fitter)
    worse, low, high = gain(examples, logits, best)
    values = held.named(target.fitter(examples, held)).items()
    told_values = ", ".join(f"{name} {value:.2f}" for name, value in values)
    return (
        f"{told_values}: log loss worse by {worse:.4f} (95 % {low:.4f} to {high:.4f}), "
        f"MRR {agreement_of(examples, logits).mrr:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reranker", type=Path, metavar="FOLDER", help="of a cross-encoder")
    arguments = parser.parse_args()
    settings = load_settings()
    if arguments.reranker is not None:
        settings = replace(settings, reranker="local", reranker_model=str(arguments.reranker))
    report(*gather(settings, rerank=arguments.reranker is not None))


if __name__ == "__main__":
    main()
