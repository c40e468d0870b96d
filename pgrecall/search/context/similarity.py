"""Similarity of memories: cosines from the database, and trigrams where there is no vector."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from pgrecall.nouns.search.models import Hit

Pairs = Mapping[tuple[int, int], float]
"""Similarity of two memories by their ids, the smaller first."""

COMPARED_CHARACTERS = 4000
"""Characters of a memory that are compared."""

_WORD = re.compile(r"\w+")
# With what ends a sentence or a line before it, where there is any.
_PLACED_WORD = re.compile(r"((?:^|[.!?…:\n])[^\w.!?…:\n]*)?(\w+)")


def pair_key(a: int, b: int) -> tuple[int, int]:
    """The key of two memories in :data:`Pairs`."""
    return (a, b) if a <= b else (b, a)


def fill_missing_similarities(known: Pairs, hits: Sequence[Hit]) -> tuple[dict[tuple[int, int], float], int]:
    """The known similarities and, for every other pair of hits, that of their trigrams.

    The number counts the hits of the own tenant that are in no known pair, such as those without a vector,
    if there are several.
    """
    ordered = sorted(hits, key=lambda hit: hit.id)
    missing = [(a, b) for a, b in combinations(ordered, 2) if (a.id, b.id) not in known]
    concerned = {hit.id: hit for both in missing for hit in both}
    masks = _bit_masks({number: trigrams(_text(hit)) for number, hit in concerned.items()})
    by_trigrams = {(a.id, b.id): _jaccard(masks[a.id], masks[b.id]) for a, b in missing}
    own = {hit.id for hit in ordered if hit.tenant is None}
    compared = {one for both in known for one in both}
    return {**known, **by_trigrams}, len(own & concerned.keys() - compared) if len(own) > 1 else 0


def trigrams(text: str) -> frozenset[str]:
    """The runs of three characters in a text's words, each word with two blanks before it and one behind.

    >>> sorted(trigrams("Tea!"))
    ['  t', ' te', 'ea ', 'tea']
    """
    words = (f"  {word} " for word in _WORD.findall(text.casefold()))
    return frozenset(word[place : place + 3] for word in words for place in range(len(word) - 2))


def adds_details(hit: Hit, known: Hit) -> bool:
    """Whether a memory has a number or a name that another one lacks, so that it does not merely repeat it.

    Vectors hardly distinguish ``on Friday`` from ``on Monday``, or two telephone numbers. A name is
    a word with a capital that does not begin a sentence.
    """
    return not _details(_text(hit)) <= {word.casefold() for word in _WORD.findall(_text(known))}


def _details(text: str) -> set[str]:
    found = set()
    for begin, word in (placed.groups() for placed in _PLACED_WORD.finditer(text)):
        named = begin is None and len(word) > 1 and word[0].isupper()
        if named or any(map(str.isdigit, word)):
            found.add(word.casefold())
    return found


def _bit_masks(sets: Mapping[int, frozenset[str]]) -> dict[int, int]:
    """Each set as an integer with one bit for each member, which compares many times faster."""
    places: dict[str, int] = {}
    masks = {}
    for number, members in sets.items():
        flags = bytearray(b"0") * (len(places) + len(members) + 1)
        for member in members:
            flags[places.setdefault(member, len(places))] = ord("1")
        masks[number] = int(flags[::-1], 2)
    return masks


def _jaccard(a: int, b: int) -> float:
    """Jaccard similarity of two sets, as pg_trgm's ``similarity``; 0 if both are empty."""
    return (a & b).bit_count() / max((a | b).bit_count(), 1)


def _text(hit: Hit) -> str:
    return f"{hit.title}\n{hit.body}"[:COMPARED_CHARACTERS]
