"""The adapter of queries is fitted through the ranking."""

from __future__ import annotations

import pytest

from benchmarks.locomo.data import Question
from benchmarks.query_adapter import NOT_FOUND, Ranked, figures, fit, weight_of_similarity
from tests.unit.search.hits import hit

torch = pytest.importorskip("torch")


def tenant(log_odds: list[list[float]]) -> Ranked:
    """Two queries along the first axes; what answers each lies along the third, and another memory nearer."""
    axes = torch.eye(4)
    return Ranked(
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


@pytest.mark.parametrize(
    ("semantic", "weight"),
    [({"similarity": 0.5, "typical": 0.1}, 5.0), ({"similarity": 0.1, "typical": 0.1}, 5.11), (None, 0.0)],
)
def test_the_weight_of_similarity(semantic: dict[str, float] | None, weight: float) -> None:
    arms = {} if semantic is None else {"semantic": semantic}
    explained = hit(1, explanation={"arms": arms, "relevance": {"similarity": 2.0}})
    assert weight_of_similarity(explained) == pytest.approx(weight)
