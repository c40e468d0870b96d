"""How well words and names alone answer the judged queries: no embedder, so no model and little time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.examples.answers import Answer, by_kind
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.quality.judged_examples import Examples, Floors, assert_floor, examples

pytestmark = pytest.mark.timeout(600)

# Least recall@5, recall@10 and mrr; beside them what was measured. exact-name, misspelt-name and superseded
# lost a question each (of 12, 10 and 28) when use came to weigh more where memories are used a lot
# (docs/explanation/ranking.md): they ask the vault, whose accesses have nothing to do with what is asked.
FLOORS: Floors = {
    "exact-name": (0.81, 0.88, 0.86),  # 0.854, 0.917, 0.903
    "misspelt-name": (0.96, 0.96, 0.86),  # 1.000, 1.000, 0.900
    "keyword": (0.93, 0.96, 0.90),  # 0.969, 1.000, 0.938
    "paraphrase": (0.63, 0.67, 0.59),  # 0.673, 0.712, 0.627
    "colloquial": (0.53, 0.75, 0.53),  # 0.571, 0.786, 0.565
    "callback": (0.67, 0.79, 0.67),  # 0.713, 0.828, 0.712
    "role-callback": (0.77, 0.78, 0.65),  # 0.806, 0.815, 0.691
    "time-window": (0.85, 0.94, 0.71),  # 0.895, 0.982, 0.754
    "window-alone": (0.87, 0.96, 0.91),  # 0.907, 1.000, 0.955
    "temporal": (0.63, 0.74, 0.53),  # 0.671, 0.785, 0.567
    "single-hop": (0.65, 0.75, 0.51),  # 0.688, 0.794, 0.552
    "open": (0.34, 0.55, 0.40),  # 0.380, 0.594, 0.438
    "multi-hop": (0.64, 0.82, 0.85),  # 0.684, 0.860, 0.887
    "superseded": (0.64, 0.71, 0.56),  # 0.679, 0.750, 0.598
    "contradiction": (0.66, 0.80, 0.70),  # 0.702, 0.839, 0.740
    "as-of": (0.87, 0.87, 0.68),  # 0.909, 0.909, 0.723
    "hints": (0.61, 0.61, 0.61),  # 0.650, 0.650, 0.650
    "cue": (0.85, 0.89, 0.61),  # 0.889, 0.931, 0.650
    "false-premise": (0.77, 0.81, 0.63),  # 0.810, 0.854, 0.666
    "long-answer": (0.86, 0.91, 0.77),  # 0.895, 0.951, 0.806
    # One answer among these is a question: "Who's going to break his toes on things?"
    "nickname": (0.55, 0.66, 0.48),  # 0.590, 0.701, 0.517
    "preference": (0.63, 0.71, 0.55),  # 0.672, 0.750, 0.585
    "update": (0.62, 0.73, 0.51),  # 0.660, 0.767, 0.554
    "who": (0.50, 0.61, 0.36),  # 0.583, 0.652, 0.407
    "period": (0.59, 0.75, 0.47),  # 0.633, 0.767, 0.515
}
EVERYTHING = (0.71, 0.80, 0.64)  # 0.742, 0.834, 0.675


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
