"""Speed of each reranker for 50 pairs, compared with the plain call, and how much of its order it keeps.

    python -m benchmarks.rerank MODEL_FOLDER [--questions LOCOMO.json] [--asked 100] [--rounds 12] [--json]

MODEL_FOLDER contains a cross-encoder saved by sentence-transformers. The plain call is its ``predict`` with
all pairs in one padded batch, in full precision. All rerankers take turns on the same questions, so that
other load on the machine affects all of them; figures are medians, and only their ratios apply elsewhere.
Both wall-clock and CPU time are shown; other load affects CPU time less. Without --questions the pairs are
invented: they show costs well and the kept order less well. If torch finds a GPU, 500 pairs are read on it
too; hide it to measure the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rich.console import Console

from benchmarks.harness import KNOWN, Goal, Row, table
from benchmarks.rerank.contenders import Plain, hardware, on_gpu, plain_call, ways
from benchmarks.rerank.pairs import PAIRS, Asked, invented, of_conversations
from pgrecall.search.rerank.reranker import Reranker, try_rerank

TOP = 10
GPU_PAIRS = 500
PLAIN = "one padded call"
SHARES = (0.25, 0.5, 0.75)
DEADLINE_QUESTIONS = 5

SPEED = {
    "local float32": Goal(1 / 1.4),
    "onnx int8": Goal(1 / 2.5),
    "callable": Goal(1.2),  # the plain call in batches
    "http": Goal(1.2),  # local float32, over loopback
}
"""Goals as multiples of the plain call, for http of local float32. Others have none."""

KEPT, EXACT = Goal(0.95, least=True), Goal(0.99, least=True)
IN_TIME, SOME_READ = Goal(1.2), Goal(1 / PAIRS, least=True)
LOSSY = ("local bfloat16", "onnx int8")
CUT = {"local float32": SOME_READ, "onnx int8": SOME_READ, "http": KNOWN}
"""Rerankers tested with deadlines, and the goal for the pairs read by then; http sends batches of 25."""


@dataclass(slots=True)
class Taken:
    """Seconds for each question with one reranker, and the kept share of the plain call's best ten."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)

    def of(self, work: Callable[[], list[int]]) -> list[int]:
        wall, processor = time.perf_counter(), time.process_time()
        found = work()
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(time.process_time() - processor)
        return found


def plainly(plain: Plain, asked: Asked) -> list[int]:
    """The ids of the candidates, best first."""
    scores = plain(asked.question, [candidate.text for candidate in asked.candidates])
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return [asked.candidates[place].id for place in order]


def by(reranker: Reranker, asked: Asked) -> list[int]:
    """The ids of the candidates, best first."""
    found = reranker.rerank(asked.question, asked.candidates, top_n=len(asked.candidates))
    return [score.id for score in found.scores]


def in_time(reranker: Reranker, asked: Asked, deadline: float) -> list[int]:
    """The ids of the candidates read by the deadline; none if a server has not answered."""
    count = len(asked.candidates)
    found = try_rerank(reranker, asked.question, asked.candidates, top_n=count, deadline=deadline)
    return [score.id for score in found.scores]


def share_kept(found: Sequence[int], due: Sequence[int]) -> float:
    return len(set(found[:TOP]) & set(due[:TOP])) / len(due[:TOP])


def in_turns(plain: Plain, rerankers: Mapping[str, Reranker], questions: Sequence[Asked]) -> dict[str, Taken]:
    """Each question with every reranker, after a first one as warm-up."""
    taken = {name: Taken() for name in (PLAIN, *rerankers)}
    for reranker in rerankers.values():
        by(reranker, questions[0])
    for asked in questions:
        due = taken[PLAIN].of(partial(plainly, plain, asked))
        for name, reranker in rerankers.items():
            taken[name].kept.append(share_kept(taken[name].of(partial(by, reranker, asked)), due))
    return taken


def speed_rows(taken: Mapping[str, Taken]) -> list[Row]:
    rows = []
    for name, spent in taken.items():
        if name == PLAIN:
            continue
        against = "local float32" if name == "http" else PLAIN
        goal = SPEED.get(name, KNOWN)
        for clock, unit in (("wall", "ms"), ("processor", "ms of processor")):
            measured, floor = (1000 * median(getattr(one, clock)) for one in (spent, taken[against]))
            rows.append(Row(name, against, measured, floor, unit, goal))
    return rows


def kept_rows(taken: Mapping[str, Taken]) -> list[Row]:
    return [
        Row(
            f"{name}: top {TOP} kept of {len(spent.kept)} questions",
            PLAIN,
            fmean(spent.kept),
            1.0,
            "",
            KEPT if name in LOSSY else EXACT,
        )
        for name, spent in taken.items()
        if spent.kept
    ]


def deadline_rows(name: str, reranker: Reranker, questions: Sequence[Asked], whole: float) -> list[Row]:
    """The effect of deadlines that are shares of the ``whole`` time, in seconds."""
    rows = []
    for share in SHARES:
        spent, read = Taken(), []
        for asked in questions:
            read.append(len(spent.of(partial(in_time, reranker, asked, share * whole))))
            time.sleep(whole)  # the interrupted batch still runs
        at = f"{name}: deadline at {share:.0%}"
        rows.append(Row(at, "the deadline", 1000 * median(spent.wall), 1000 * share * whole, "ms", IN_TIME))
        rows.append(Row(f"{at}, read", "all", median(read), len(questions[0].candidates), "pairs", CUT[name]))
    return rows


def run(chosen: argparse.Namespace, screen: Console) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and the surroundings of the measurement."""
    count = max(chosen.asked, chosen.rounds)
    load_before = os.getloadavg()[0]
    questions = of_conversations(chosen.questions, count) if chosen.questions else invented(count)
    plain = plain_call(chosen.folder)
    with screen.status("Exporting") as status, ways(chosen.folder, plain, PAIRS) as rerankers:
        status.update(f"Reading {chosen.rounds} questions in every way")
        taken = in_turns(plain, rerankers, questions[: chosen.rounds])
        rows = speed_rows(taken)
        status.update(f"Reading {count} questions for what 8 bits keep of their order")
        rounded = rerankers["onnx int8"]
        taken["onnx int8"].kept += [
            share_kept(by(rounded, asked), plainly(plain, asked)) for asked in questions[chosen.rounds :]
        ]
        rows += kept_rows(taken)
        status.update("Missing deadlines")
        for name in CUT:
            few = questions[:DEADLINE_QUESTIONS]
            rows += deadline_rows(name, rerankers[name], few, median(taken[name].wall))
    if hardware()["gpu"]:
        many = invented(chosen.rounds, GPU_PAIRS)
        rows += speed_rows(in_turns(plain, on_gpu(chosen.folder, GPU_PAIRS), many))
    return rows, surroundings(chosen, load_before)


def surroundings(chosen: argparse.Namespace, load_before: float) -> dict[str, Any]:
    """Versions, hardware, the questions, and the load before and after."""
    packages = ("pgrecall", "torch", "sentence-transformers", "transformers", "onnxruntime")
    return {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "hardware": hardware() | {"cores": os.cpu_count()},
        "questions": chosen.questions.name if chosen.questions else "invented",
        "load": [round(load_before, 2), round(os.getloadavg()[0], 2)],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of a cross-encoder")
    parser.add_argument("--questions", type=Path, help="LoCoMo's public JSON, may be gzipped")
    parser.add_argument("--asked", type=int, default=100, help="questions, for what is kept")
    parser.add_argument("--rounds", type=int, default=12, help="questions, for what it costs")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    if min(chosen.asked, chosen.rounds) < 1:
        parser.error("Give at least one question.")
    rows, around = run(chosen, Console(stderr=True))
    if chosen.json:
        print(json.dumps({**around, "rows": [row.document() for row in rows]}, indent=2))
        return
    screen = Console(width=130)
    screen.print(table(rows, f"{PAIRS} pairs a question; {chosen.folder.name}"))
    screen.print(around)


if __name__ == "__main__":
    main()
