"""Fits the coefficients of relevance to judged candidates.

The model is logistic, log-odds = design @ coefficients, fitted by maximum a posteriori: weighted log loss
plus a ridge that pulls each coefficient towards a prior, so that coefficients without evidence stay at it.
Features that can never lower the relevance of a memory have coefficients of at least zero (L-BFGS-B: R. H.
Byrd, P. Lu, J. Nocedal and C. Zhu, SIAM J. Sci. Comput. 16, 1995).

One term can lend instead of add, as the links of a memory do: with odds o without links and l = coefficient
times the lent amount, the probability is 1 - (1 - o / (1 + o)) (1 - l), which is odds of (o + l) / (1 - l).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np

from pgrecall.nouns.calibration.models import CONSTANTS, FEATURES
from pgrecall.search.calibration.examples import Examples, Floats

FOLDS = 5
RIDGE = 0.5
"""The penalty is half of it times the squared distance of a coefficient from its prior: a normal prior with a
standard deviation of 1.4 log-odds a unit."""
MAX_LENT = 1 - 1e-9
"""Beyond it, log-odds would not be finite."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The columns of a design: names, the ``prior`` and ``ridge`` of each coefficient, and its bounds.

    ``lending`` is the column that lends, if one does.
    """

    names: tuple[str, ...]
    prior: Floats
    ridge: Floats
    lower: Floats
    upper: Floats
    lending: int | None = None

    def named(self, coefficients: Floats) -> dict[str, float]:
        return {name: float(value) for name, value in zip(self.names, coefficients, strict=True)}

    def values(self, coefficients: Mapping[str, float]) -> Floats:
        return np.array([coefficients[name] for name in self.names])

    def at_zero(self, coefficients: Floats) -> tuple[str, ...]:
        """The names of the coefficients that are at their lower bound of zero."""
        kept = (coefficients <= self.lower) & (self.lower < self.upper)
        return tuple(name for name, at in zip(self.names, kept, strict=True) if at)

    def fixed(self, coefficients: Mapping[str, float]) -> Self:
        """The same terms with these coefficients fixed."""
        given = np.array([name in coefficients for name in self.names])
        value = np.array([coefficients.get(name, 0.0) for name in self.names])
        prior, lower, upper = (
            np.where(given, value, bound) for bound in (self.prior, self.lower, self.upper)
        )
        return replace(self, prior=prior, lower=lower, upper=upper)

    def log_odds(self, design: Floats, coefficients: Floats) -> Floats:
        """Log-odds of each row of a design with these coefficients."""
        return _log_odds(design, coefficients, self.lending)[0]


Fitter = Callable[["Examples", "Terms"], Floats]


def relevance_terms(prior: Mapping[str, float], ridge: float = RIDGE) -> Terms:
    """The terms of a relevance. Only intercept and constants may have negative coefficients."""
    free = ("intercept", *CONSTANTS.values())
    names = (*free, *FEATURES)
    ridges = np.array([0.0] + [ridge] * (len(names) - 1))
    lower = np.array([-math.inf] * len(free) + [0.0] * len(FEATURES))
    values = np.array([prior[name] for name in names])
    return Terms(names, values, ridges, lower, np.full(len(names), math.inf), names.index("graph"))


def relevance_row(relevance: Mapping[str, Any], graph: float, author: float = 1.0) -> list[float]:
    """A candidate's row of the design, from ``explanation["relevance"]``.

    Args:
        graph: the coefficient in force, to recover the lent amount from its effect.
        author: the setting ``search.author_weight``, by which the author's coefficient is multiplied.
    """
    features = relevance["features"]
    missing = [float(features[name] is None) for name in CONSTANTS]
    signs = {"author": author, "question": -1.0, "no_number": -1.0}
    known = [float(features.get(name) or 0.0) * signs.get(name, 1.0) for name in FEATURES[:-1]]
    # Explanations of earlier versions have neither.
    linked = relevance["logit"] - relevance.get("answer", 0.0) - relevance.get("directive", 0.0)
    own = linked - relevance["graph"]
    lent = -math.expm1(np.logaddexp(0.0, own) - np.logaddexp(0.0, linked))
    return [1.0, *missing, *known, max(0.0, lent / graph) if graph > 0 else 0.0]


def rerank_terms(prior: Mapping[str, float], ridge: float = RIDGE) -> Terms:
    """The terms of a reranked probability: intercept, the reranker's logit, the fused one."""
    names = ("intercept", "rerank", "fused")
    lower = np.array([-math.inf, 0.0, 0.0])
    values = np.array([prior[name] for name in names])
    return Terms(names, values, np.array([0.0, ridge, ridge]), lower, np.full(3, math.inf))


def fit(examples: Examples, terms: Terms) -> Floats:
    """The coefficients with the highest posterior."""
    from scipy.optimize import minimize

    signs = np.where(examples.relevant, 1.0, -1.0)

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        log_odds, slopes = _log_odds(examples.design, coefficients, terms.lending)
        distance = coefficients - terms.prior
        value = examples.weight @ np.logaddexp(0.0, -signs * log_odds) + 0.5 * terms.ridge @ distance**2
        pull = examples.weight * signs * logistic(-signs * log_odds)
        return float(value), terms.ridge * distance - slopes.T @ pull

    bounds = [
        (low if math.isfinite(low) else None, high if math.isfinite(high) else None)
        for low, high in zip(terms.lower, terms.upper, strict=True)
    ]
    start = np.clip(terms.prior, terms.lower, terms.upper)
    # Threads only wait for each other over ten coefficients.
    with _thread_pools().limit(limits=1, user_api="blas"):
        done: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_EXACT)
    return np.asarray(done.x, dtype=np.float64)


@cache
def _thread_pools() -> Any:
    """The thread pools of the libraries that are loaded; finding them takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_EXACT = {"ftol": 1e-13, "gtol": 1e-6, "maxiter": 10_000, "maxfun": 100_000, "maxcor": 30}


def _log_odds(design: Floats, coefficients: Floats, lending: int | None) -> tuple[Floats, Floats]:
    """Log-odds of each row, and their slopes by each coefficient."""
    if lending is None:
        return design @ coefficients, design
    slopes = design.copy()
    slopes[:, lending] = 0.0
    own = slopes @ coefficients
    lends = np.flatnonzero(design[:, lending] > 0)
    offered = coefficients[lending] * design[lends, lending]
    lent = np.minimum(offered, MAX_LENT)
    with np.errstate(divide="ignore"):  # nothing lent has a logarithm of minus infinity, which is meant
        sum_of_odds = np.logaddexp(own[lends], np.log(lent))
    log_odds = own.copy()
    log_odds[lends] = sum_of_odds - np.log1p(-lent)
    slopes[lends] *= np.exp(own[lends] - sum_of_odds)[:, None]
    rise = np.exp(-sum_of_odds) + 1.0 / (1.0 - lent)
    slopes[lends, lending] = np.where(offered < MAX_LENT, rise * design[lends, lending], 0.0)
    return log_odds, slopes


def fit_relevance(examples: Examples, terms: Terms) -> Floats:
    """Like ``fit``, with priors for the constants if there are candidates with similarities.


    The prior of ``no_token_similarity`` is the intercept with which all features but that of the tokens are
    calibrated, minus the intercept; with ``no_similarity`` added, all but both similarities are. So relevance
    stays calibrated without the embedder, even if it was available for every judged query.
    """
    coefficients = fit(examples, terms)
    rest = {name: value for name, value in terms.named(coefficients).items() if name != "intercept"}
    prior = terms.prior.copy()
    lacking: dict[str, float] = {}
    before = coefficients[0]
    for feature in ("token_similarity", "similarity"):
        missing = terms.names.index(CONSTANTS[feature])
        known = examples.of(examples.design[:, missing] == 0)
        if not len(known):
            break
        lacking[feature] = 0.0
        bare = fit(known, terms.fixed(rest | lacking))[0]
        prior[missing] = bare - before
        before = bare
    return fit(examples, replace(terms, prior=prior))


def held_out(examples: Examples, terms: Terms, fitter: Fitter) -> Floats:
    """Returns the log-odds of each row by coefficients that were fitted without its query."""
    from sklearn.model_selection import GroupKFold

    logits = np.empty(len(examples))
    splits = GroupKFold(FOLDS).split(examples.design, examples.relevant, examples.query)
    for train, test in splits:
        logits[test] = terms.log_odds(examples.design[test], fitter(examples.of(train), terms))
    return logits


def logistic(logits: Floats) -> Floats:
    """Probabilities of log-odds, without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))
