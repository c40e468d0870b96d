"""Fits the adapter of queries that ships with the default embedder, to the judged queries under examples/.

    python -m benchmarks.query_adapter [--write]

What applies to a query often looks unlike it. The adapter (`pgrecall/search/embed/query_adapter.py`) moves
the vectors of queries a little towards the memories that answer them. It is fitted through the whole ranking:
the log-odds of each hit change by what its similarity counts there, and the likelihood of the hits that
answer, among all hits of the same role, is maximal. Nothing is fitted on the corpora of
`benchmarks.applies PATH`.

It prints recall and MRR of the examples before and after, by corpora left out. There the first 300 hits are
put into a new order; a search would also find others. --write writes the file that ships.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import psycopg
import torch

from benchmarks.applies.corpora import Tenant, judged_collections
from benchmarks.harness import fresh_database
from benchmarks.locomo.data import Question
from benchmarks.locomo.stages import FUSED, stages
from pgrecall import Memory
from pgrecall.nouns.search.models import Hit
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.embed.local import LocalEmbedder
from pgrecall.search.embed.query_adapter import ADAPTER
from pgrecall.settings import load_settings

RANK = 8
"""Directions of the vector space that a query may be moved along."""

RIDGE = 0.03
"""Of the squared entries of the map. Half as much finds more on the examples and less elsewhere."""

STEPS, RATE, HITS, FOLDS = 60, 0.003, 300, 3
NOT_FOUND = -1e4
SIMILARITY = 5.11
"""Log-odds for each unit of similarity where a hit does not tell."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The questions of a tenant and their hits: questions by memories, but for the vectors."""

    questions: Sequence[Question]
    keys: Sequence[str]
    queries: torch.Tensor
    memories: torch.Tensor
    log_odds: torch.Tensor
    weights: torch.Tensor  # what a unit of similarity adds to the log-odds
    right: torch.Tensor
    same_role: torch.Tensor  # as one of those that answer

    def adapted(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """The log-odds with adapted queries."""
        moved = torch.nn.functional.normalize(self.queries + self.queries @ first @ second, dim=1)
        return self.log_odds + self.weights * ((moved - self.queries) @ self.memories.T)


class Plain(LocalEmbedder):
    """The default embedder without the adapter."""

    @property
    def for_queries(self) -> Embedder:
        return self


def ranked(tenant: Tenant, url: str, memory: Memory, embedder: Embedder) -> Ranked:
    """Stores the memories of a tenant and asks its questions."""
    tenant.fill(memory)
    with psycopg.connect(url) as connection:
        stored = connection.execute(
            "SELECT m.id, m.key, m.role, v.embedding::real[] FROM recall.memory m, "
            "recall_private.stored_vectors(m.tenant, ARRAY[m.id]) v WHERE m.tenant = %s ORDER BY m.id",
            (tenant.name,),
        ).fetchall()
    place = {row[0]: index for index, row in enumerate(stored)}
    keys = [tenant.key_of(key or "") for _, key, _, _ in stored]
    questions = [question for question in tenant.questions if question.evidence & set(keys)]
    log_odds = np.full((len(questions), len(stored)), NOT_FOUND)
    weights = np.zeros_like(log_odds)
    right = np.array([[key in question.evidence for key in keys] for question in questions])
    roles = np.array([role or "" for _, _, role, _ in stored])
    same = np.array([np.isin(roles, roles[row]) for row in right])
    every = {**stages(embeds=True, reranks=False)[FUSED], "vitality_mode": "off", "k": HITS, "log": False}
    for row, question in enumerate(questions):
        options: Any = {**question.options, **every, "explain": True}
        for hit in memory.search(question.text, **options).hits:
            log_odds[row, place[hit.id]] = hit.explanation["score"]["log_odds"]
            weights[row, place[hit.id]] = weight_of_similarity(hit)
    return Ranked(
        questions,
        keys,
        torch.tensor(embedder.embed([question.text for question in questions])),
        torch.tensor(np.array([vector for *_, vector in stored], dtype=np.float32)),
        torch.tensor(log_odds, dtype=torch.float32),
        torch.tensor(weights, dtype=torch.float32),
        torch.tensor(right),
        torch.tensor(same),
    )


def weight_of_similarity(hit: Hit) -> float:
    """The log-odds that a unit of similarity adds to this hit; 0 without a vector."""
    meaning = hit.explanation["arms"].get("semantic")
    if meaning is None:
        return 0.0
    unusual = meaning["similarity"] - meaning.get("typical", 0)
    weight = hit.explanation["relevance"]["similarity"] / unusual if abs(unusual) > 0.01 else 0.0
    return min(weight, 12.0) if weight > 0 else SIMILARITY


def fit(tenants: Sequence[Ranked]) -> tuple[torch.Tensor, torch.Tensor]:
    """The two factors of the map, of 384 by RANK and RANK by 384 numbers."""
    torch.manual_seed(0)
    width = tenants[0].queries.shape[1]
    first = (torch.randn(width, RANK) * 0.02).requires_grad_()
    second = torch.zeros(RANK, width, requires_grad=True)
    optimizer = torch.optim.Adam([first, second], lr=RATE)
    for _ in range(STEPS):
        losses = torch.cat([_losses(tenant, first, second) for tenant in tenants])
        loss = losses.mean() + RIDGE * (first @ second).pow(2).sum()
        optimizer.zero_grad()
        cast(Any, loss).backward()
        optimizer.step()
    return first.detach(), second.detach()


def _losses(tenant: Ranked, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    log_odds = tenant.adapted(first, second)
    there = tenant.log_odds > NOT_FOUND
    right = tenant.right & there
    found = right.any(1)
    among = log_odds.masked_fill(~(there & tenant.same_role), NOT_FOUND).logsumexp(1)
    return (among - log_odds.masked_fill(~right, NOT_FOUND).logsumexp(1))[found]


def figures(tenant: Ranked, log_odds: torch.Tensor) -> Iterator[tuple[float, float, float]]:
    """recall@5, recall@10 and the reciprocal rank of each question."""
    for row, question in enumerate(tenant.questions):
        order = torch.argsort(log_odds[row], descending=True)
        found = [tenant.keys[place] for place in order.tolist() if tenant.log_odds[row, place] > NOT_FOUND]
        yield question.recall(found, 5), question.recall(found, 10), question.reciprocal_rank(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the file that ships")
    write = parser.parse_args().write
    settings = load_settings()
    embedder = Plain()
    tenants: dict[str, Ranked] = {}
    with fresh_database(settings, embedder.dimensions) as url:
        for collection in judged_collections():
            for tenant in collection.tenants:
                print(f"{tenant.name}: {len(tenant.questions)} questions", flush=True)
                with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                    tenants[tenant.name] = ranked(tenant, url, memory, embedder)
    before: list[tuple[float, float, float]] = []
    after: list[tuple[float, float, float]] = []
    names = sorted(tenants)
    for fold in range(FOLDS):
        factors = fit([tenants[name] for place, name in enumerate(names) if place % FOLDS != fold])
        for name in names[fold::FOLDS]:
            before += figures(tenants[name], tenants[name].log_odds)
            after += figures(tenants[name], tenants[name].adapted(*factors))
    for title, rows in (("before", before), ("adapted", after)):
        at_5, at_10, mrr = np.mean(rows, axis=0)
        print(f"{title}: recall@5 {at_5:.3f}, recall@10 {at_10:.3f}, MRR {mrr:.3f}, {len(rows)} questions")
    if write:
        first, second = fit(list(tenants.values()))
        np.save(ADAPTER, np.stack([first.numpy(), second.numpy().T]).astype(np.float32))


if __name__ == "__main__":
    main()
