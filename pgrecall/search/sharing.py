"""The results of one search in several tenants, ranked together by their scores.

Scores are probabilities: each tenant's own statistics and calibration made them, so they compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

from pgrecall.errors import RecallError
from pgrecall.nouns.search.models import Hit, SearchRequest, SearchResult
from pgrecall.nouns.search.plan import sum_of_uses
from pgrecall.search.needs import with_plan


def asked_of_others(request: SearchRequest, own: SearchResult) -> SearchRequest:
    """What is asked of a shared tenant: the same, but for what only the own one knows, and not logged."""
    asked = replace(request, log=False, session_id=None, cues=None, plan=False)
    return asked if own.plan is None else with_plan(asked, own.plan)


def merged(own: SearchResult, shared: Mapping[str, SearchResult | RecallError], k: int) -> SearchResult:
    """The result of the own tenant with the hits of the shared ones, of which each names its tenant.

    A text that several of them have is shown once, the own one first. ``skipped`` names each shared tenant
    that did not answer, and what did not run there.
    """
    answers = {tenant: said for tenant, said in shared.items() if isinstance(said, SearchResult)}
    hits = list(own.hits)
    seen = {_text(hit) for hit in hits}
    places = _places(own.hits)
    for tenant, answer in answers.items():
        kept = tuple(replace(hit, tenant=tenant) for hit in answer.hits if _text(hit) not in seen)
        seen.update(map(_text, kept))
        hits += kept
        places |= _places(kept)
    hits.sort(key=lambda hit: -places[hit.tenant, hit.id])  # stable: of equals, the own one is first
    everything = (own, *answers.values())
    confidences = [each.confidence for each in everything if each.confidence is not None]
    uses = [each.model_use for each in everything if each.model_use is not None]
    return replace(
        own,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:k], 1)),
        names=tuple(dict.fromkeys(name for each in everything for name in each.names)),
        skipped=(*own.skipped, *_notices(own, shared)),
        arms={
            arm: sum(each.arms.get(arm, 0) for each in everything) for each in everything for arm in each.arms
        },
        reranked=any(each.reranked for each in everything),
        confidence=max(confidences, default=None),
        answered=any(each.answered for each in everything),
        model_use=sum_of_uses(uses) if uses else None,
    )


def _places(hits: tuple[Hit, ...]) -> dict[tuple[str | None, int], float]:
    """The score by which each hit is placed: its own, or a higher one of a hit that its tenant ranks behind
    it, because a newer version goes before an older one."""
    scores = accumulate((hit.score for hit in reversed(hits)), max)
    return {(hit.tenant, hit.id): score for hit, score in zip(reversed(hits), scores, strict=True)}


def _notices(own: SearchResult, shared: Mapping[str, SearchResult | RecallError]) -> Iterator[str]:
    for tenant, said in shared.items():
        if isinstance(said, RecallError):
            yield f"tenant {tenant}: {said.message}"
        else:
            yield from (f"tenant {tenant}: {notice}" for notice in said.skipped if notice not in own.skipped)


def _text(hit: Hit) -> tuple[str, str]:
    return hit.title, hit.body
