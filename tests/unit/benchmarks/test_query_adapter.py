"""The adapter of queries is fitted through the ranking."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks import query_pairs
from benchmarks.locomo.data import Question
from benchmarks.query_adapter import NOT_FOUND, Ranked, adapted, figures, fit, weight_of_similarity
from benchmarks.query_pairs import Group
from pgrecall.search.embed.embedder import HashEmbedder
from tests.unit.search.hits import hit

torch = pytest.importorskip("torch")


def tenant(log_odds: list[list[float]]) -> Ranked:
    """Two queries along the first axes; what answers each lies along the third, and another memory nearer."""
    axes = torch.eye(4)
    return Ranked(
        "t",
        [
            Question("t", "one", "cause", frozenset({"right"})),
            Question("t", "two", "cause", frozenset({"right"})),
        ],
        ["right", "near"],
        axes[:2],
        torch.stack([axes[2], axes[3]]),
        torch.tensor(log_odds),
        torch.full((2, 2), 5.0),
        torch.tensor([[True, False], [True, False]]),
        torch.tensor([[True, True], [True, True]]),
    )


def test_it_moves_queries_towards_what_answers_them() -> None:
    seen = tenant([[-2.0, -1.0], [-2.0, -1.0]])
    adapted = seen.adapted(*fit([seen]))
    assert (adapted[:, 0] > adapted[:, 1]).all()
    assert list(figures(seen, seen.log_odds)) == [(1.0, 1.0, 0.5)] * 2
    assert list(figures(seen, adapted)) == [(1.0, 1.0, 1.0)] * 2


def test_what_was_not_found_teaches_nothing_and_stays_unfound() -> None:
    seen = tenant([[NOT_FOUND, -1.0], [NOT_FOUND, -1.0]])
    other = tenant([[-2.0, -1.0], [-2.0, -1.0]])
    both, alone = fit([seen, other]), fit([other])
    assert torch.allclose(both[0] @ both[1], alone[0] @ alone[1], atol=1e-4)
    assert list(figures(seen, seen.adapted(*both))) == [(0.0, 0.0, 0.0)] * 2


def test_pairs_have_a_part_in_it() -> None:
    axes = torch.eye(4)
    groups = [
        Group(axes[place : place + 1], axes[2:4], torch.tensor([[place == 0, place == 1]]))
        for place in (0, 1)
    ]
    found = tenant([[-2.0, -1.0], [NOT_FOUND, -1.0]])  # of the first query
    moved = [adapted(group.queries, *fit([found], groups)) for group in groups]
    assert list(query_pairs.figures(groups, moved)) == [(1.0, 1.0)] * 2
    assert (query_pairs.losses(groups[0], moved[0], groups[1]) < math.log(4)).all()


def test_the_file_of_pairs() -> None:
    groups = query_pairs.read_groups(HashEmbedder(16))
    lines = [json.loads(line) for line in query_pairs.PAIRS.read_text(encoding="utf-8").splitlines()]
    assert len({(line["query"], line["memory"]) for line in lines}) == len(lines)
    assert sum(int(group.right.sum()) for group in groups) == len(lines)
    assert all(group.right.any(1).all() and group.right.any(0).all() for group in groups)
    assert {tuple(line) for line in lines} == {("group", "language", "kind", "role", "query", "memory")}


@pytest.mark.parametrize(
    ("semantic", "weight"),
    [({"similarity": 0.5, "typical": 0.1}, 5.0), ({"similarity": 0.1, "typical": 0.1}, 5.11), (None, 0.0)],
)
def test_the_weight_of_similarity(semantic: dict[str, float] | None, weight: float) -> None:
    arms = {} if semantic is None else {"semantic": semantic}
    explained = hit(1, explanation={"arms": arms, "relevance": {"similarity": 2.0}})
    assert weight_of_similarity(explained) == pytest.approx(weight)
