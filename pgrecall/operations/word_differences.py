"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from pgrecall.models.versions import WordChange, Words

MOST_WORDS = 4000
"""Words of two parts together, between which words are compared; longer parts are told as a whole."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def word_differences(earlier: str, later: str) -> tuple[Words, ...]:
    """Compares two texts, first by lines, then by words where lines differ.

    Joining the runs that were not added gives the earlier text, joining those not removed the later one.
    """
    runs = _compared(earlier.splitlines(keepends=True), later.splitlines(keepends=True))
    merged = groupby(_by_words(list(runs)), key=lambda run: run.change)
    return tuple(
        Words(change, text) for change, same in merged if (text := "".join(run.text for run in same))
    )


def _by_words(runs: Sequence[Words]) -> Iterator[Words]:
    """The runs of lines, with a removed one and the added one after it told by words."""
    place = 0
    while place < len(runs):
        pair = runs[place : place + 2]
        if [run.change for run in pair] == ["removed", "added"]:
            before, after = (_WORDS.findall(run.text) for run in pair)
            yield from _compared(before, after) if len(before) + len(after) <= MOST_WORDS else pair
            place += 2
        else:
            yield runs[place]
            place += 1


def _compared(earlier: Sequence[str], later: Sequence[str]) -> Iterator[Words]:
    for _, start, end, later_start, later_end in SequenceMatcher(None, earlier, later).get_opcodes():
        before, after = "".join(earlier[start:end]), "".join(later[later_start:later_end])
        parts: tuple[tuple[WordChange, str], ...] = (("removed", before), ("added", after))
        for change, text in (("same", before),) if before == after else parts:
            if text:
                yield Words(change, text)
