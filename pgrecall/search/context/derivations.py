"""Summaries and their sources among the hits of a context: what says the same, and what no longer holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgrecall.nouns.links.models import Derivation
from pgrecall.nouns.search.models import Hit
from pgrecall.search.context.similarity import Pairs, pair_key


class Likeness(NamedTuple):
    """How alike hits are: their cosines, and the summary of each pair of a summary and its source."""

    cosines: Pairs
    summaries: Mapping[tuple[int, int], int]

    def cosine(self, one: int, other: int) -> float:
        """The cosine of two memories; 0 where it is not known."""
        return self.cosines.get(pair_key(one, other), 0.0)

    def told_by(self, hit: Hit, chosen: Sequence[Hit]) -> tuple[int, str] | None:
        """The summary or source of a hit that was chosen, and that in words."""
        for other in chosen:
            if summary := self.summaries.get(pair_key(hit.id, other.id)):
                told = "it is derived from" if summary == hit.id else "its summary is"
                return other.id, f"{told} id {other.id}, which is shown"
        return None


def summaries_of_pairs(derived: Sequence[Derivation]) -> dict[tuple[int, int], int]:
    """The summary of each pair of a summary and its source."""
    return {pair_key(one.summary, one.source): one.summary for one in derived if one.source is not None}


def changed_sources(there: Sequence[Hit], derived: Sequence[Derivation]) -> dict[int, int]:
    """The summaries among the hits with a source among them that changed after it, and this source. Of a
    circle of them, one stays."""
    known = {hit.id for hit in there}
    found: dict[int, int] = {}
    for one in derived:
        if one.state == "changed" and one.source in known - found.keys() and one.summary in known:
            found[one.summary] = one.source
    return found


def notes_on_summaries(derived: Sequence[Derivation]) -> dict[int, str]:
    """What a marker says of a summary whose sources were forgotten or changed."""
    notes = {one.summary: "a source of it has changed since" for one in derived if one.state == "changed"}
    return notes | {
        one.summary: "a source of it was forgotten" for one in derived if one.state == "forgotten"
    }
