"""Fits the adapter of queries that ships with an embedder, to our own data under examples/.

    python -m benchmarks.query_adapter [--multilingual] [--write]

What applies to a query often looks unlike it. The adapter (`pgrecall/search/embed/query_adapter.py`) moves
the vectors of queries a little towards the memories that answer them. It is fitted to the judged queries
through the whole ranking: the log-odds of each hit change by what its similarity counts there, and the
likelihood of the hits that answer, among all hits of the same role, is maximal. Pairs of a query and a memory
that applies (`benchmarks/query_pairs.py`) have a part in it, by similarity alone. Nothing is fitted on the
corpora of `benchmarks.applies PATH`.

It prints recall and MRR before and after, by corpora and groups left out. Of the judged queries, the first
300 hits are put into a new order; a search would also find others. --multilingual is for the embedder for
other languages. --write writes the file that ships.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import psycopg
import torch

from benchmarks.applies.corpora import Tenant, judged_collections
from benchmarks.harness import fresh_database
from benchmarks.locomo.data import Question
from benchmarks.locomo.stages import FUSED, stages
from benchmarks.query_pairs import Group, losses, read_groups
from benchmarks.query_pairs import figures as pair_figures
from pgrecall import Memory
from pgrecall.nouns.search.models import Hit
from pgrecall.search.embed import multilingual, query_adapter
from pgrecall.search.embed.embedder import Embedder, for_queries
from pgrecall.search.embed.local import LocalEmbedder
from pgrecall.search.embed.multilingual import MultilingualEmbedder
from pgrecall.settings import load_settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Freedom:
    """How far queries may be moved: along how many directions of the vector space, by how many steps of the
    fit, and the weight of the squared entries of the map."""

    rank: int
    steps: int
    ridge: float


LITTLE = Freedom(8, 60, 0.03)
"""For the default model. With half the ridge more is found on the examples, and less elsewhere."""

MUCH = Freedom(16, 120, 0.01)
"""For the multilingual model. More is found on the examples by corpora left out, and elsewhere."""

PAIRS = 0.5
"""Weight of the pairs; that of the judged queries is 1."""

RATE, HITS, FOLDS = 0.003, 300, 3
NOT_FOUND = -1e4
SIMILARITY = 5.11
"""Log-odds for each unit of similarity where a hit does not tell."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The questions of a tenant and their hits: questions by memories, but for the vectors."""

    name: str
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
        moved = adapted(self.queries, first, second)
        return self.log_odds + self.weights * ((moved - self.queries) @ self.memories.T)


def adapted(queries: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The unit vectors to which the map of these factors moves queries."""
    return torch.nn.functional.normalize(queries + queries @ first @ second, dim=1)


class Plain(LocalEmbedder):
    """The default embedder without the adapter."""

    @property
    def for_queries(self) -> Embedder:
        return self


def plain_multilingual() -> MultilingualEmbedder:
    """The embedder for other languages without the adapter."""
    return MultilingualEmbedder(MultilingualEmbedder(query=True, adapter=None))


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
        tenant.name,
        questions,
        keys,
        torch.tensor(for_queries(embedder).embed([question.text for question in questions])),
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


def fit(
    tenants: Sequence[Ranked], groups: Sequence[Group] = (), freedom: Freedom = LITTLE
) -> tuple[torch.Tensor, torch.Tensor]:
    """The two factors of the map: 384 by rank and rank by 384 numbers."""
    torch.manual_seed(0)
    width = tenants[0].queries.shape[1]
    first = (torch.randn(width, freedom.rank) * 0.02).requires_grad_()
    second = torch.zeros(freedom.rank, width, requires_grad=True)
    optimizer = torch.optim.Adam([first, second], lr=RATE)
    for step in range(freedom.steps):
        loss = torch.cat([_losses(tenant, first, second) for tenant in tenants]).mean()
        loss = loss + freedom.ridge * (first @ second).pow(2).sum()
        if groups:
            others = [groups[(place + 1 + step) % len(groups)] for place in range(len(groups))]
            unlikely = [
                losses(one, adapted(one.queries, first, second), other)
                for one, other in zip(groups, others, strict=True)
            ]
            loss = loss + PAIRS * torch.cat(unlikely).mean()
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
    parser.add_argument("--multilingual", action="store_true", help="fit that of multilingual-e5-small")
    given = parser.parse_args()
    embedder: Embedder
    if given.multilingual:
        embedder, freedom, adapter = plain_multilingual(), MUCH, multilingual.ADAPTER
    else:
        embedder, freedom, adapter = Plain(), LITTLE, query_adapter.ADAPTER
    groups = read_groups(embedder)
    tenants = sorted(_ranked_tenants(embedder), key=lambda tenant: tenant.name)
    found: dict[str, list[tuple[float, ...]]] = {}
    for fold in range(FOLDS):
        factors = fit(_but(tenants, fold), _but(groups, fold), freedom)
        for title, maps in (("before", [torch.zeros_like(one) for one in factors]), ("adapted", factors)):
            first, second = maps
            asked = groups[fold::FOLDS]
            moved = [adapted(group.queries, first, second) for group in asked]
            found.setdefault(f"pairs, {title}", []).extend(pair_figures(asked, moved))
            for tenant in tenants[fold::FOLDS]:
                found.setdefault(f"judged, {title}", []).extend(
                    figures(tenant, tenant.adapted(first, second))
                )
    for title, rows in sorted(found.items(), reverse=True):
        *recall, mrr = (f"{mean:.3f}" for mean in np.mean(rows, axis=0))
        print(f"{title}: recall@5 (@10) {', '.join(recall)}, MRR {mrr}, {len(rows)} queries")
    if given.write:
        first, second = fit(tenants, groups, freedom)
        np.save(adapter, np.stack([first.numpy(), second.numpy().T]).astype(np.float32))


def _ranked_tenants(embedder: Embedder) -> Iterator[Ranked]:
    settings = load_settings()
    with fresh_database(settings, embedder.dimensions) as url:
        for collection in judged_collections():
            for tenant in collection.tenants:
                print(f"{tenant.name}: {len(tenant.questions)} questions", flush=True)
                with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                    yield ranked(tenant, url, memory, embedder)


def _but(parts: Sequence[T], fold: int) -> list[T]:
    return [part for place, part in enumerate(parts) if place % FOLDS != fold]


if __name__ == "__main__":
    main()
