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
    "exact-name": (0.76, 0.88, 0.91),  # 0.792, 0.917, 0.944
    "misspelt-name": (0.92, 0.97, 0.87),  # 0.950, 1.000, 0.900
    "keyword": (0.93, 0.93, 0.82),  # 0.969, 0.969, 0.859
    "paraphrase": (0.62, 0.70, 0.53),  # 0.654, 0.731, 0.568
    "colloquial": (0.61, 0.75, 0.52),  # 0.643, 0.786, 0.553
    "callback": (0.67, 0.79, 0.63),  # 0.704, 0.822, 0.669
    "role-callback": (0.72, 0.78, 0.63),  # 0.752, 0.815, 0.661
    "time-window": (0.80, 0.92, 0.72),  # 0.838, 0.956, 0.750
    "window-alone": (0.87, 0.97, 0.92),  # 0.907, 1.000, 0.955
    "temporal": (0.59, 0.67, 0.50),  # 0.627, 0.701, 0.530
    "single-hop": (0.58, 0.69, 0.44),  # 0.618, 0.724, 0.472
    "open": (0.46, 0.56, 0.42),  # 0.495, 0.594, 0.450
    "multi-hop": (0.63, 0.82, 0.83),  # 0.662, 0.854, 0.862
    "superseded": (0.57, 0.64, 0.49),  # 0.607, 0.679, 0.527
    "contradiction": (0.66, 0.80, 0.61),  # 0.691, 0.830, 0.650
    "as-of": (0.69, 0.87, 0.67),  # 0.727, 0.909, 0.706
    "hints": (0.62, 0.62, 0.62),  # 0.650, 0.650, 0.650
    "cue": (0.80, 0.87, 0.58),  # 0.833, 0.903, 0.618
    "false-premise": (0.75, 0.81, 0.56),  # 0.781, 0.846, 0.592
    "long-answer": (0.87, 0.92, 0.79),  # 0.907, 0.954, 0.820
    "nickname": (0.56, 0.60, 0.55),  # 0.590, 0.639, 0.583
    "preference": (0.49, 0.72, 0.52),  # 0.525, 0.750, 0.553
    "update": (0.64, 0.69, 0.46),  # 0.670, 0.726, 0.497
    "who": (0.43, 0.59, 0.32),  # 0.470, 0.629, 0.351
}
EVERYTHING = (0.68, 0.78, 0.61)  # 0.716, 0.810, 0.640


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
