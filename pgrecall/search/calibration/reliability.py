"""Agreement of probabilities with judgements: log loss, Brier score, expected calibration error, MRR."""

from __future__ import annotations

import numpy as np

from pgrecall.nouns.calibration.models import Agreement, ReliabilityBin
from pgrecall.search.calibration.examples import Examples, Floats
from pgrecall.search.calibration.fitting import logistic
from pgrecall.search.probabilities import wilson_interval

BINS = 10
RESAMPLES = 2000


def agreement_of(examples: Examples, logits: Floats) -> Agreement:
    """Computes the measures of these log-odds. Candidates have their weights; each query counts once for
    MRR."""
    from sklearn.metrics import brier_score_loss, log_loss

    probabilities = logistic(logits)
    return Agreement(
        log_loss=float(
            log_loss(examples.relevant, probabilities, sample_weight=examples.weight, labels=[False, True])
        ),
        brier=float(brier_score_loss(examples.relevant, probabilities, sample_weight=examples.weight)),
        ece=calibration_error(examples, probabilities),
        mrr=_mean_reciprocal_rank(examples, logits),
    )


def reliability(examples: Examples, logits: Floats) -> tuple[ReliabilityBin, ...]:
    """Computes predicted and observed shares in ten bins of the predicted probability; omits empty bins."""
    probabilities = logistic(logits)
    tenth = _tenths(probabilities)
    return tuple(
        _bin(probabilities[inside], examples.relevant[inside], examples.weight[inside])
        for inside in (tenth == number for number in np.unique(tenth))
    )


def gain(examples: Examples, before: Floats, after: Floats) -> tuple[float, float, float]:
    """The decrease of the mean log loss from ``before`` to ``after``, and its 95 % interval.

    The interval is a bootstrap over queries, since candidates of a query are not independent.
    """
    signs = np.where(examples.relevant, 1.0, -1.0)
    fallen = examples.weight * (np.logaddexp(0.0, -signs * before) - np.logaddexp(0.0, -signs * after))
    _, query = np.unique(examples.query, return_inverse=True)
    sums, weights = np.bincount(query, fallen), np.bincount(query, examples.weight)
    drawn = np.random.default_rng(1).integers(0, len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / weights[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(sums.sum() / weights.sum()), float(low), float(high)


def _bin(probabilities: Floats, relevant: Floats, weight: Floats) -> ReliabilityBin:
    observed = float(np.average(relevant, weights=weight))
    # Kish's effective sample size of unequal weights.
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    low, high = wilson_interval(observed, effective)
    predicted = float(np.average(probabilities, weights=weight))
    return ReliabilityBin(len(weight), predicted, observed, low, high)


def calibration_error(examples: Examples, probabilities: Floats) -> float:
    """Mean distance between predicted and observed shares over tenths of the probability, by weight."""
    tenth = _tenths(probabilities)
    surplus = np.bincount(tenth, examples.weight * (probabilities - examples.relevant), BINS)
    return float(np.abs(surplus).sum() / examples.weight.sum())


def _tenths(probabilities: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)


def _mean_reciprocal_rank(examples: Examples, logits: Floats) -> float:
    """Returns the mean over queries with a relevant candidate; ties count against it."""
    ranks = []
    for query in np.unique(examples.query[examples.relevant]):
        mine = examples.query == query
        best = logits[mine & examples.relevant].max()
        others = mine & ~examples.relevant
        ranks.append(1 / (1 + int((logits[others] >= best).sum())))
    return float(np.mean(ranks)) if ranks else 0.0
