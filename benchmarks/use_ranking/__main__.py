"""What use is worth to a question, and when it harms.

    python -m benchmarks.use_ranking PATH [--questions 60] [--thin .12] [--cache FOLDER] [--json]

PATH is a history NAME.json.gz (benchmarks/use_ranking/history.py tells the format) or a folder of them. Files
become memories when they were made, commits are uses, and the subject of a commit is a question just before
it: the files that it changes answer. Each history is replayed through the client in a tenant of its own.

MRR: mean over histories, with the paired difference to `off` and its 95 % interval (histories are resampled,
then questions). harm: the first hit is right without use and wrong with it; help: the reverse. planted: a
wrong memory of the ranks 2 to 10 is used a minute ago; how often it passes the right first one, and how often
where it has less than an eighth of the right one's odds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.harness import fresh_database
from benchmarks.intervals import RESAMPLES, percentile_interval
from benchmarks.locomo.data import RememberedVectors
from benchmarks.use_ranking.history import History, find_histories, read_history
from benchmarks.use_ranking.replay import FAR_BEHIND, OFF, PLANTED, WAYS, Replayed, replay
from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

KINDS = ("new", "same", "changed")


class KeptVectors(RememberedVectors):
    """Embeds each text once and keeps the vectors in a folder, so that a second run is fast."""

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        super().__init__(embedder)
        name = hashlib.sha256(embedder.name.encode()).hexdigest()[:12]
        self._file = folder / f"{name}.npz" if folder else None
        if self._file and self._file.is_file():
            with np.load(self._file) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"].tolist(), strict=True))

    def save(self) -> None:
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            vectors = np.array(list(self._known.values()), dtype=np.float32)
            np.savez_compressed(self._file, texts=np.array(list(self._known)), vectors=vectors)


def summary(replayed: Sequence[Replayed]) -> dict[str, dict[str, Any]]:
    """Figures by way of asking: means over histories."""
    return {way: _figures(replayed, way) for way in WAYS}


def _figures(replayed: Sequence[Replayed], way: str) -> dict[str, Any]:
    off = [np.array(one.ranks[OFF]) for one in replayed]
    ranks = [np.array(one.ranks[way]) for one in replayed]
    tops = [(np.array(one.first[OFF]), np.array(one.first[way])) for one in replayed]
    gains = [mine - other for mine, other in zip(ranks, off, strict=True)]
    low, high = percentile_interval(_resampled(gains))
    kinds = [np.array(one.kinds) for one in replayed]
    figures: dict[str, Any] = {
        "mrr": _mean([float(one.mean()) for one in ranks]),
        "gain": _mean([float(one.mean()) for one in gains]),
        "gain_95": [round(low, 4), round(high, 4)],
        "harm": _mean([float((was & ~now).mean()) for was, now in tops]),
        "help": _mean([float((~was & now).mean()) for was, now in tops]),
        **{
            f"mrr_{kind}": _mean(
                [
                    float(one[mask == kind].mean())
                    for one, mask in zip(ranks, kinds, strict=True)
                    if kind in mask
                ]
            )
            for kind in KINDS
        },
    }
    if way in PLANTED:
        plants = [plant for one in replayed for plant in one.plants]
        far = [plant for plant in plants if plant.ratio > FAR_BEHIND]
        figures["planted"] = _mean([float(plant.passed[way]) for plant in plants])
        figures["planted_far_behind"] = _mean([float(plant.passed[way]) for plant in far])
        figures["plants"] = [len(plants), len(far)]
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _resampled(gains: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Means of resamples: histories with replacement, then the questions of each."""
    chance = np.random.default_rng(1)
    return np.array(
        [
            np.mean(
                [
                    chance.choice(gains[drawn], len(gains[drawn])).mean()
                    for drawn in chance.integers(0, len(gains), len(gains))
                ]
            )
            for _ in range(RESAMPLES)
        ]
    )


def run(histories: Sequence[History], cache: Path | None, screen: Console) -> list[Replayed]:
    """Replays the histories one after the other; progress shows on a terminal."""
    settings = load_settings()
    inner = make_embedder(settings)
    embedder = KeptVectors(inner, cache) if inner else None
    replayed = []
    with (
        fresh_database(settings, embedder.dimensions if embedder else 384) as url,
        Progress(console=screen, transient=True) as bar,
    ):
        for history in histories:
            task = bar.add_task(history.name, total=len(history.subjects))
            with Memory(url, tenant=history.name, settings=settings, embedder=embedder) as memory:
                replayed.append(replay(history, url, memory, embedder, partial(bar.advance, task)))
            if embedder:
                embedder.save()
            screen.print(f"{history.name}: {_line(summary(replayed[-1:]))}", style="dim")
    return replayed


def _line(figures: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{way} {one['mrr']:.3f}" for way, one in figures.items())


def table(figures: dict[str, dict[str, Any]], title: str) -> Table:
    shown = Table(title=title)
    for column in ("use", "MRR", "over off, 95 %", "harm", "help", *KINDS, "planted", "under 1/8"):
        shown.add_column(column, justify="left" if column == "use" else "right")
    for way, one in figures.items():
        low, high = one["gain_95"]
        shown.add_row(
            way,
            f"{one['mrr']:.3f}",
            "" if way == OFF else f"{one['gain']:+.3f} [{low:+.3f}, {high:+.3f}]",
            *(_number(one.get(name)) for name in ("harm", "help", *(f"mrr_{kind}" for kind in KINDS))),
            *(_number(one.get(name)) for name in ("planted", "planted_far_behind")),
        )
    return shown


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--questions", type=int, default=60, help="at most so many a history")
    parser.add_argument("--thin", type=float, default=1.0, help="the share of uses that is kept")
    parser.add_argument("--cache", type=Path, help="the folder in which vectors are kept")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    chosen = parser.parse_args(arguments)
    if chosen.questions < 1 or not 0 < chosen.thin <= 1:
        parser.error("--questions must be at least 1, and --thin above 0 and at most 1")
    try:
        histories = [
            read_history(file, chosen.questions, chosen.thin) for file in find_histories(chosen.path)
        ]
        replayed = run(histories, chosen.cache, Console(stderr=True))
    except InvalidInput as error:
        parser.exit(2, f"{error}\n")
    results = {one.name: summary([one]) for one in replayed}
    if len(replayed) > 1:
        results["mean"] = summary(replayed)
    if chosen.json:
        print(json.dumps(results, indent=2))
        return
    for name, figures in results.items():
        Console(width=150).print(table(figures, name))


if __name__ == "__main__":
    main()
