"""The names of memories that hits refer to: in explanations, and by superseding or contradicting them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pgrecall.errors import MemoryNotFound
from pgrecall.faces.wording import named
from pgrecall.search.explanation import referenced

if TYPE_CHECKING:
    from pgrecall import AsyncMemory, Memory
    from pgrecall.nouns.search.models import Hit

_MAX_READ = 20
"""Memories that are read for their names alone, each with a call."""
_WIDTH = 60


def names_of_others(memory: Memory, hits: Iterable[Hit]) -> dict[int, str]:
    """The names of the memories that hits refer to, by id."""
    names, unknown = _known(hits)
    for one in unknown:
        try:
            stored = memory.get(one)
        except MemoryNotFound:  # deleted meanwhile
            continue
        names[one] = named(stored.title, stored.key, one, _WIDTH)
    return names


async def async_names_of_others(memory: AsyncMemory, hits: Iterable[Hit]) -> dict[int, str]:
    """As :func:`names_of_others`."""
    names, unknown = _known(hits)
    for one in unknown:
        try:
            stored = await memory.get(one)
        except MemoryNotFound:
            continue
        names[one] = named(stored.title, stored.key, one, _WIDTH)
    return names


def others(hit: Hit) -> tuple[int, ...]:
    """The ids of the memories that a hit refers to."""
    superseding = () if hit.superseded_by is None else (hit.superseded_by,)
    return (*referenced(hit.explanation), *superseding, *hit.contradicts[:5], *hit.supersedes[:5])


def _known(hits: Iterable[Hit]) -> tuple[dict[int, str], tuple[int, ...]]:
    """The names that hits give each other, and the ids of other memories."""
    hits = tuple(hits)
    names: Mapping[int, str] = {hit.id: named(hit.title, hit.key, hit.id, _WIDTH) for hit in hits}
    wanted = dict.fromkeys(other for hit in hits for other in others(hit))
    unknown = tuple(one for one in wanted if one not in names)[:_MAX_READ]
    return {one: names[one] for one in wanted if one in names}, unknown
