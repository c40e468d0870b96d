"""Our pairs of a query and a memory that applies to it, with hardly a word in common (examples/pairs.jsonl).

Only similarity can find such memories, among those of the same person or place, which are a group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch

from pgrecall.search.embed.embedder import Embedder, for_queries

PAIRS = Path(__file__).resolve().parents[1] / "examples" / "pairs.jsonl"
LOG_ODDS = 10.0
"""Of a unit of similarity. In a search it counts half as much, because there words tell too."""

TYPICAL = 0.6
"""Of the similarity to the mean of all memories, as the ranking counts it."""


@dataclass(frozen=True, slots=True)
class Group:
    """The unit vectors of a group, and which memory applies to which query (queries by memories)."""

    queries: torch.Tensor
    memories: torch.Tensor
    right: torch.Tensor

    def log_odds(self, vectors: torch.Tensor) -> torch.Tensor:
        """What the similarities to these vectors tell (vectors by memories)."""
        mean = self.memories.mean(0)
        return LOG_ODDS * (vectors @ self.memories.T - TYPICAL * (self.memories @ mean - mean @ mean))


def read_groups(embedder: Embedder) -> list[Group]:
    """The groups of the file. Its lines are sorted by group."""
    lines = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    groups = []
    for _, pairs in groupby(lines, lambda pair: pair["group"]):
        of_group = list(pairs)
        queries, memories = (
            list(dict.fromkeys(pair[one] for pair in of_group)) for one in ("query", "memory")
        )
        right = torch.zeros(len(queries), len(memories), dtype=torch.bool)
        for pair in of_group:
            right[queries.index(pair["query"]), memories.index(pair["memory"])] = True
        groups.append(
            Group(
                torch.tensor(for_queries(embedder).embed(queries)),
                torch.tensor(embedder.embed(memories)),
                right,
            )
        )
    return groups


def losses(group: Group, vectors: torch.Tensor, other: Group) -> torch.Tensor:
    """How unlikely the memories that apply are among those of both groups, for each query of the first."""
    log_odds = group.log_odds(vectors)
    among = torch.cat([log_odds, other.log_odds(vectors)], 1).logsumexp(1)
    return among - log_odds.masked_fill(~group.right, -torch.inf).logsumexp(1)


def figures(groups: Sequence[Group], vectors: Sequence[torch.Tensor]) -> Iterator[tuple[float, float]]:
    """recall@5 and the reciprocal rank of each query, in its group."""
    for group, adapted in zip(groups, vectors, strict=True):
        for right, log_odds in zip(group.right, group.log_odds(adapted), strict=True):
            places = right[torch.argsort(log_odds, descending=True)].nonzero()[:, 0].tolist()
            yield sum(place < 5 for place in places) / len(places), 1 / (1 + places[0])
