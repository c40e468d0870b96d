"""How well words and names alone answer the judged queries: no embedder, so no model and little time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.examples.answers import Answer, by_kind
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.quality.asking import Examples, Floors, assert_floor, examples

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Least recall@5, recall@10 and mrr; beside them what was measured.
FLOORS: Floors = {
    "exact-name": (0.76, 0.88, 0.90),  # 0.792, 0.917, 0.944
    "misspelt-name": (0.92, 0.97, 0.86),  # 0.950, 1.000, 0.900
    "keyword": (0.93, 0.93, 0.81),  # 0.969, 0.969, 0.859
    "paraphrase": (0.60, 0.70, 0.54),  # 0.635, 0.731, 0.586
    "colloquial": (0.61, 0.75, 0.51),  # 0.643, 0.786, 0.551
    "callback": (0.74, 0.83, 0.65),  # 0.773, 0.861, 0.699
    "role-callback": (0.57, 0.67, 0.52),  # 0.601, 0.703, 0.563
    "time-window": (0.80, 0.92, 0.71),  # 0.838, 0.956, 0.750
    "window-alone": (0.87, 0.97, 0.91),  # 0.907, 1.000, 0.955
    "temporal": (0.67, 0.67, 0.48),  # 0.700, 0.700, 0.520
    "single-hop": (0.54, 0.62, 0.37),  # 0.571, 0.657, 0.410
    "open": (0.49, 0.49, 0.40),  # 0.521, 0.521, 0.442
    "multi-hop": (0.67, 0.81, 0.79),  # 0.702, 0.845, 0.839
    "superseded": (0.57, 0.64, 0.48),  # 0.607, 0.679, 0.527
    "contradiction": (0.69, 0.81, 0.62),  # 0.722, 0.847, 0.669
    "as-of": (0.69, 0.87, 0.66),  # 0.727, 0.909, 0.708
    "hints": (0.62, 0.62, 0.61),  # 0.650, 0.650, 0.650
    "cue": (0.80, 0.87, 0.58),  # 0.833, 0.903, 0.620
}
EVERYTHING = (0.69, 0.78, 0.62)  # 0.716, 0.805, 0.656


@pytest.fixture(scope="module")
def asked(server: EmbeddedServer) -> Iterator[Examples]:
    with examples(server, None) as imported:
        yield imported


@pytest.fixture(scope="module")
def answers(asked: Examples) -> list[Answer]:
    return asked.ask(asked.judged)


def test_words_answer_every_kind_above_its_floor(answers: list[Answer]) -> None:
    kinds = by_kind(answers)

    for kind, floor in FLOORS.items():
        assert_floor(kinds[kind], floor)
    assert_floor(answers, EVERYTHING)
