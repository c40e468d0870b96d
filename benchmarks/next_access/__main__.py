"""How well vitality predicts the next access.

    python -m benchmarks.next_access PATH [--json] [--evaluations 250]

PATH is an access log NAME.csv.gz (see benchmarks/next_access/access_log.py) or a folder of them. Each log is
replayed through the SQL functions in a tenant of its own. The first fifth of the batches is warm-up. Of the
later batches that use known items, evenly spread ones are evaluated: just before such a batch every live
memory is scored by `recall.vitality` and by the other predictors. Relevant are the memories that the batch
uses, and, for the second set of measures, those used within seven days, including the batch. Ties count by
their expectation.

Of a batch that uses several items, one is then the cue of a search, which is judged by the others
(benchmarks/next_access/cued.py).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import pgrecall
from benchmarks.harness import fresh_database
from benchmarks.intervals import RESAMPLES, percentile_interval
from benchmarks.next_access.access_log import AccessLog, find_logs, read_log
from benchmarks.next_access.cued import CUED
from benchmarks.next_access.predictors import DECAY, SEED_DECAY
from benchmarks.next_access.ranking_measures import MEASURES, block_length, mean_of, resampled_means
from benchmarks.next_access.replay import PRODUCT, WARM_UP, Outcome, eligible, replay
from pgrecall.database.pool import Database
from pgrecall.errors import InvalidInput
from pgrecall.settings import load_settings
from pgrecall.vitality.activation import MIN_AGE_DAYS

EVALUATIONS = 250
DIMENSIONS = 8
"""Dimensions of embeddings; there are none."""
BASELINE = "seed_o1"


def summary(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """Figures by predictor: the mean over these logs, each resampled separately."""
    reciprocal = {
        name: np.mean(
            [resampled_means(outcome.judged[name][:, 0], seed) for seed, outcome in enumerate(outcomes)],
            axis=0,
        )
        for name in outcomes[0].judged
    }
    return {
        name: {
            **{
                measure: _mean([mean_of(outcome.judged[name][:, column]) for outcome in outcomes])
                for column, measure in enumerate(MEASURES)
            },
            "mrr_95": _rounded(percentile_interval(reciprocal[name])),
            "mrr_over_seed_o1_95": _rounded(percentile_interval(reciprocal[name] - reciprocal[BASELINE])),
        }
        for name in reciprocal
    }


def cued(outcome: Outcome) -> dict[str, Any]:
    """The MRR of each predictor that has a cue, and of how many batches."""
    means = {name: _mean(outcome.cued[:, column].tolist()) for column, name in enumerate(CUED)}
    return {**means, "batches": len(outcome.cued)}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def report(outcomes: Sequence[Outcome], postgres: str, most: int) -> dict[str, Any]:
    return {
        "logs": {outcome.log.name: summary([outcome]) for outcome in outcomes},
        "mean": summary(outcomes),
        "cued": {outcome.log.name: cued(outcome) for outcome in outcomes},
        "replays": {
            outcome.log.name: {
                "memories": outcome.log.memories,
                "accesses": outcome.log.accesses,
                "batches": len(outcome.log.batches),
                "eligible": outcome.eligible,
                "evaluated": len(outcome.judged[PRODUCT]),
                "seconds": round(outcome.seconds, 1),
                "microseconds_a_vitality": round(outcome.microseconds_a_vitality, 1),
            }
            for outcome in outcomes
        },
        "settings": {
            "evaluations": most,
            "warm_up": WARM_UP,
            "layer": "knowledge",
            "decay": DECAY,
            "seed_decay": SEED_DECAY,
            "min_age_seconds": round(MIN_AGE_DAYS * 86_400),
            "bootstrap": {
                "resamples": RESAMPLES,
                "block": {
                    outcome.log.name: block_length(len(outcome.judged[PRODUCT])) for outcome in outcomes
                },
            },
        },
        "versions": {"pgrecall": pgrecall.__version__, "postgres": postgres, "numpy": np.__version__},
    }


def table(results: dict[str, Any]) -> Table:
    replays = results["replays"]
    shown = Table(title="Next access: every living memory ranked just before each evaluated batch")
    for column in ("log", "predictor", "MRR", "95 %", "over O(1), 95 %", "AUC", "recall@10", "AUC 7 d"):
        shown.add_column(column, justify="left" if column in ("log", "predictor") else "right")
    sections = {**results["logs"], **({"mean": results["mean"]} if len(replays) > 1 else {})}
    for section, figures in sections.items():
        shown.add_section()
        for predictor, figure in figures.items():
            mrr, *others = ("-" if (value := figure[m]) is None else f"{value:.3f}" for m in MEASURES)
            low, high = figure["mrr_95"]
            less, more = figure["mrr_over_seed_o1_95"]
            gain = "" if predictor == BASELINE else f"{less:+.3f} to {more:+.3f}"
            label = section if predictor == PRODUCT else ""
            shown.add_row(label, predictor, mrr, f"{low:.3f} to {high:.3f}", gain, *others)
    return shown


def run(logs: Sequence[AccessLog], most: int, screen: Console) -> dict[str, Any]:
    """Replays the logs in a fresh database, with progress on a terminal."""
    settings = load_settings()
    with fresh_database(settings, DIMENSIONS) as url:
        database = Database(url, pool_size=1, connect_timeout=settings.connect_timeout)
        database.open()
        try:
            postgres = database.facts().version_text
            outcomes = []
            with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
                for log in logs:
                    task = progress.add_task(log.name, total=len(log.batches))
                    outcomes.append(replay(log, database, most, partial(progress.advance, task)))
        finally:
            database.close()
    return report(outcomes, postgres, most)


def read_all(path: Path) -> list[AccessLog]:
    """The logs at this path. Raises InvalidInput for one that cannot be used."""
    logs = [read_log(file) for file in find_logs(path)]
    for log in logs:
        if not eligible(log):
            raise InvalidInput(
                f"The log {log.name} is too short: nothing known is used after its first fifth."
            )
    return logs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="at most so many a log")
    chosen = parser.parse_args(arguments)
    if chosen.evaluations < 1:
        parser.error("--evaluations must be at least 1")
    try:
        logs = read_all(chosen.path)
    except InvalidInput as error:
        parser.exit(2, f"{error}\n")
    results = run(logs, chosen.evaluations, Console(stderr=True))
    if chosen.json:
        print(json.dumps(results, indent=2))
    else:
        console = Console(width=120)
        console.print(table(results))
        for name, figures in results["replays"].items():
            console.print(
                f"{name}: {figures['memories']:,} memories, {figures['accesses']:,} accesses, "
                f"{figures['evaluated']} of {figures['eligible']} eligible batches evaluated in "
                f"{figures['seconds']} s, {figures['microseconds_a_vitality']} µs a vitality",
                highlight=False,
            )
            told = results["cued"][name]
            ranks = ", ".join(f"{one} {told[one] or 0:.3f}" for one in CUED)
            console.print(f"{name}: MRR from one item of {told['batches']} batches: {ranks}", highlight=False)


if __name__ == "__main__":
    main()
