"""Draws the charts of docs/explanation from the real mathematics, as small SVG files.

python -m scripts.figures            writes them
python -m scripts.figures --check    exits with 1 where one is not what it should be
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import linear_regression

import networkx as nx

from pgrecall.vitality.activation import AccessSummary, optimized_base_level
from pgrecall.vitality.parameters import DEFAULT_ZONES, PRESETS, LayerRates
from pgrecall.vitality.score import activation_terms, vitality_of
from pgrecall.vitality.use import MAX_MEDIANS, use_term
from scripts.svg import Drawing, LineChart

TARGET = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "figures"
DAY = 86_400.0
MINUTE = 1 / 1440
LONG = [(1 / 24, "1 hour"), (1, "1 day"), (7, "1 week"), (30, "1 month"), (365, "1 year"), (3650, "10 years")]
ZONES = [
    ("active", DEFAULT_ZONES.active, 1.0),
    ("stale", DEFAULT_ZONES.stale, DEFAULT_ZONES.active),
    ("fading", DEFAULT_ZONES.fading, DEFAULT_ZONES.stale),
    ("dormant", 0.0, DEFAULT_ZONES.fading),
]


def vitality(uses: Sequence[float], rates: LayerRates, day: float) -> float:
    """The vitality on a day of a memory used on these days, the first of which is its birth."""
    so_far = sorted(use * DAY for use in uses if use <= day)
    summary = AccessSummary.of(so_far)
    return vitality_of(activation_terms(summary, rates, day * DAY).activation)


def layers() -> str:
    """How one use fades in each layer."""
    chart = LineChart(
        "Time since the only use", "vitality", (10 * MINUTE, 3650), logarithmic=True, ticks=LONG
    )
    chart.bands(ZONES)
    days = _spaced(10 * MINUTE, 3650)
    for number, (name, rates) in enumerate(PRESETS["default"].layers.items()):
        born = [0.0] * round(rates.birth_weight)
        chart.line(name, [(day, vitality(born, rates, day)) for day in days], number)
    return chart.svg(
        "Vitality after one use, by layer: all begin near 1; activity is dormant within a month, "
        "knowledge within three, an entity after nine years."
    )


def life() -> str:
    """A memory that is used, left alone, and used again; and what the closed form would say."""
    rates = PRESETS["default"].layers["knowledge"]
    uses = [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 120]
    days = sorted({*(n / 4 for n in range(1, 160 * 4 + 1)), *(use + 0.01 for use in uses)})
    ticks = [(float(day), f"day {day}") for day in range(0, 161, 20)]
    chart = LineChart("Ten daily uses, a pause, one more use on day 120", "vitality", (0, 160), ticks=ticks)
    chart.bands(ZONES, named="end")
    chart.line("every use counts", [(day, vitality(uses, rates, day)) for day in days], 0)
    chart.line("closed form", [(day, _closed(uses, rates, day)) for day in days], 3, dashed=True)
    return chart.svg(
        "Ten daily uses keep vitality high; it falls to 0.48 by day 120, when one more use lifts it "
        "near 1 at once. The closed form hardly notices that use."
    )


def _closed(uses: Sequence[float], rates: LayerRates, day: float) -> float:
    so_far = [use for use in uses if use <= day]
    base = optimized_base_level(len(so_far), max(day - so_far[0], MINUTE), rates.base_decay)
    return vitality_of(math.exp(base)) if base is not None else 0.0


def weighing() -> str:
    """What the use of a memory does to its score."""
    ticks = [(0.01, "1/100"), (0.1, "1/10"), (1.0, "as its layer"), (10.0, "10"), (100.0, "100")]
    chart = LineChart("S over the median S of its layer", "score", (0.01, 100), logarithmic=True, ticks=ticks)
    for number, relevance in enumerate((0.9, 0.5, 0.2, 0.05)):
        points = [(ratio, _scored(relevance, ratio, MAX_MEDIANS)) for ratio in _spaced(0.01, 100)]
        chart.line(f"relevance {relevance:g}", points, number)
    points = [(ratio, _scored(0.2, ratio, 1.0)) for ratio in _spaced(0.01, 100)]
    chart.line("0.2, much used", points, 2, dashed=True)
    return chart.svg(
        "The score as use moves it: at the median of its layer it is the relevance. Where memories are "
        "rarely used, one without use has 0.7 times the odds and one with 63 medians or more 5.7 times; "
        "where they are used a lot (dashed), 0.6 and 16 times."
    )


def _scored(relevance: float, ratio: float, worth: float) -> float:
    odds = relevance / (1 - relevance) * math.exp(0.5 * use_term(ratio, 1.0, worth))
    return odds / (1 + odds)


def _spaced(low: float, high: float, steps: int = 160) -> list[float]:
    return [low * (high / low) ** (n / steps) for n in range(steps + 1)]


LINKS = [
    (1, 2),
    (2, 3),
    (3, 1),
    (3, 4),
    (4, 5),
    (5, 6),
    (6, 7),
    (7, 5),
    (6, 8),
    (8, 5),
    (4, 9),
    (9, 10),
    (10, 11),
]
PLACES = {1: (50, 60), 2: (50, 180), 3: (140, 120), 4: (240, 120), 5: (340, 75), 6: (445, 85), 7: (400, 140),
          8: (420, 25), 9: (250, 200), 10: (340, 215), 11: (430, 215)}  # fmt: skip
FADED = [4, 7, 9, 10, 11]
KEPT = [4]


def protection() -> str:
    """A graph of eleven memories: which of them hold it together, and which faded ones may go."""
    graph: nx.Graph[int] = nx.Graph(LINKS)
    cuts = {}
    for point in nx.articulation_points(graph):
        pieces = [len(piece) for piece in nx.connected_components(graph.subgraph(set(graph) - {point}))]
        cuts[point] = sum(pieces) - max(pieces)
    drawing = Drawing(480, 250)
    for source, target in LINKS:
        drawing.path([PLACES[source], PLACES[target]])
    for node, place in PLACES.items():
        fate = "kept" if node in KEPT else "goes" if node in FADED else "stays"
        drawing.node(place, str(cuts.get(node, "")), fate)
    return drawing.svg(
        "A graph of eleven memories. Articulation points carry how many others they would cut off. "
        "Of five faded memories one is kept back, since without it the others would fall apart."
    )


def growth() -> str:
    """What a search touches at three sizes, each beside what it touches at the largest."""
    measured = _measured()
    sizes = sorted(measured)
    ticks = [(float(size), f"{size:,}") for size in sizes]
    chart = LineChart(
        "memories", "share of what it is at the largest", (sizes[0], sizes[-1]), logarithmic=True, ticks=ticks
    )
    for number, name in enumerate(measured[sizes[0]]):
        most = max(measured[size][name] for size in sizes)
        chart.line(name, [(float(size), measured[size][name] / most) for size in sizes], number)
    return chart.svg(
        "From fifty thousand memories to a million a search reads as many memories and links and "
        "computes as many vitalities; it touches twice the blocks, as the look into the vector index does."
    )


def outlook() -> str:
    """The blocks that a search touches: as measured at three sizes, and as they would go on from there."""
    measured = _measured()
    sizes = sorted(measured)
    look = [measured[size]["blocks, bare look"] for size in sizes]
    beside = [measured[size]["blocks touched"] - blocks for size, blocks in zip(sizes, look, strict=True)]
    slope, start = linear_regression([math.log(size) for size in sizes], [math.log(each) for each in look])
    limit = 5e6  # 80 per cent of them are one tenant's, whose ef_search has reached 1,000

    def expected(size: float) -> float:
        """As fitted; with ``ef_search`` at its limit a look into HNSW grows with the logarithm."""
        beyond = math.log(0.8 * size) / math.log(0.8 * limit) if size > limit else 1.0
        return math.exp(start + slope * math.log(min(size, limit))) * beyond

    on = _spaced(sizes[-1], 1e8)
    most = expected(on[-1]) + beside[-1]
    ticks = [(5e4, "50,000"), (1e6, "a million"), (1e7, "10 million"), (1e8, "100 million")]
    chart = LineChart("memories", f"of {most:,.0f} blocks", (sizes[0], 1e8), logarithmic=True, ticks=ticks)
    for number, (name, more) in enumerate({"a search": beside, "the bare look": [0.0] * len(sizes)}.items()):
        known = [
            (float(size), (one + other) / most) for size, one, other in zip(sizes, look, more, strict=True)
        ]
        chart.line("", known, number)
        level = (look[-1] + more[-1]) / (expected(sizes[-1]) + more[-1])
        chart.line(name, [(x, level * (expected(x) + more[-1]) / most) for x in on], number, dashed=True)
    return chart.svg(
        "The blocks a search and the bare look into the vector index touch: measured up to a million "
        "memories, and extrapolated, dashed, to a hundred million, where they are less than twice as many."
    )


def confidence() -> str:
    """False alarms and misses by the threshold below which a search says that nothing answers."""
    curve = json.loads((TARGET / "confidence.json").read_text())["curve"]
    chart = LineChart(
        "search.min_confidence",
        "share of searches",
        (0, 1),
        ticks=[(step / 5, f"{step / 5:g}") for step in range(6)],
    )
    names = {"near": "false alarms, near", "far": "false alarms, far", "misses": "misses"}
    for number, (key, name) in enumerate(names.items()):
        chart.line(name, [(at["threshold"], at[key]) for at in curve], number)
    at = next(at for at in curve if at["threshold"] == 0.2)
    return chart.svg(
        f"At the threshold that ships, 0.2, a search misses {at['misses']:.0%} of the answers it found. It "
        f"claims an answer for {at['far']:.0%} of the queries about another story and for {at['near']:.0%} "
        "of those that sound as if the memories could answer them."
    )


def _measured() -> dict[int, dict[str, float]]:
    """By the number of memories: what ``benchmarks.speed`` counted of a search."""
    return {int(size): row for size, row in json.loads((TARGET / "growth.json").read_text()).items()}


FIGURES: dict[str, Callable[[], str]] = {
    "layers.svg": layers, "life.svg": life, "weighing.svg": weighing, "protection.svg": protection,
    "growth.svg": growth, "outlook.svg": outlook, "confidence.svg": confidence,
}  # fmt: skip


def main() -> None:
    drawn = {name: draw() for name, draw in FIGURES.items()}
    if "--check" in sys.argv[1:]:
        there = {name: TARGET / name for name in drawn}
        wrong = [name for name, file in there.items() if not file.exists() or file.read_text() != drawn[name]]
        if wrong:
            sys.exit(f"Out of date: {', '.join(wrong)}. Run python -m scripts.figures.")
        return
    TARGET.mkdir(exist_ok=True)
    for name, text in drawn.items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
