"""The difference between two texts, word by word, for versions of a memory and for duplicates."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from pgrecall.nouns.history.models import DiffRun, FieldDifference, WordChange
from pgrecall.nouns.plans.dedupe import DedupeCluster, DedupeMember

MAX_WORDS = 50_000
"""Words or lines of each text that are compared, after those that both have at their beginning and end. What
differs between longer texts is shown as a whole."""

MAX_STEPS = 3_000_000
"""Steps of a comparison, which take about half a second. What is not compared then is shown as a whole."""

_PIECE = 250_000
"""Pairs of words that are compared each with each; more are first divided at words that occur once."""

_LINE = re.compile(r"[^\n]*\n(?:[ \t]*\n)*|[^\n]+")
_WORD = re.compile(r"\w+\s*|\s+|[^\w\s]\s*")

Step = tuple[int | None, int | None]
Piece = tuple[int, int, int, int]


class Comparison:
    """Comparisons of texts that together take at most ``MAX_STEPS``, so that their number costs no more.

    Args:
        steps: the steps they may take.
    """

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def words(self, earlier: str, later: str) -> tuple[DiffRun, ...]:
        """Compares the lines of two texts, each with the blank lines after it, then the words of lines that
        differ.

        Joining everything that was not added gives the earlier text; joining everything that was not removed
        gives the later one. No two neighbours have the same kind.
        """
        runs = list(self._runs(_LINE.findall(earlier), _LINE.findall(later)))
        found: list[tuple[WordChange, str]] = []
        place = 0
        while place < len(runs):
            change, text = runs[place]
            place += 1
            if change == "removed" and place < len(runs) and runs[place][0] == "added":
                found += self._of_lines(text, runs[place][1])
                place += 1
            else:
                found.append((change, text))
        return tuple(
            DiffRun(change, "".join(text for _, text in run))
            for change, run in groupby(found, lambda one: one[0])
        )

    def _of_lines(self, earlier: str, later: str) -> Iterator[tuple[WordChange, str]]:
        """Runs of words. Equal white space after words that differ counts as the same."""
        runs = list(self._runs(_WORD.findall(earlier), _WORD.findall(later)))
        place = 0
        while place < len(runs):
            change, text = runs[place]
            place += 1
            if change == "removed" and place < len(runs) and runs[place][0] == "added":
                other = runs[place][1]
                place += 1
                space = _space(text) if _space(text) == _space(other) else ""
                end = -len(space) if space else None
                pieces: tuple[tuple[WordChange, str], ...] = (
                    ("removed", text[:end]), ("added", other[:end]), ("same", space),
                )  # fmt: skip
                yield from (piece for piece in pieces if piece[1])
            else:
                yield change, text

    def _runs(self, one: Sequence[str], two: Sequence[str]) -> Iterator[tuple[WordChange, str]]:
        """Runs of parts that both have, or one of them. Between equal runs, what was removed comes first."""
        parts = _parts(
            one, two, self._steps([part.rstrip() for part in one], [part.rstrip() for part in two])
        )
        for is_same, run in groupby(parts, lambda part: part[0] == "same"):
            kept = list(run)
            changes: tuple[WordChange, ...] = ("same",) if is_same else ("removed", "added")
            for change in changes:
                if text := "".join(text for kind, text in kept if kind == change):
                    yield change, text

    def _steps(self, one: Sequence[str], two: Sequence[str]) -> Iterator[Step]:
        """The positions in both lists, part by part; None in the list that does not have the part."""
        numbers: dict[str, int] = {}
        first = [numbers.setdefault(word, len(numbers)) for word in one]
        second = [numbers.setdefault(word, len(numbers)) for word in two]
        waiting: list[Piece | Step] = [(0, len(first), 0, len(second))]
        while waiting:  # a stack: pieces within pieces may be deeper than Python's
            found = waiting.pop()
            if len(found) == 2:
                yield found
            else:
                waiting.extend(reversed(self._divided(first, second, found)))

    def _divided(self, one: list[int], two: list[int], piece: Piece) -> list[Piece | Step]:
        """The steps of a piece, or smaller pieces, in their order."""
        begin, end, other, other_end = piece
        head: list[Piece | Step] = []
        tail: list[Piece | Step] = []
        while begin < end and other < other_end and one[begin] == two[other]:
            head.append((begin, other))
            begin, other = begin + 1, other + 1
        while begin < end and other < other_end and one[end - 1] == two[other_end - 1]:
            end, other_end = end - 1, other_end - 1
            tail.append((end, other_end))
        rows, columns = end - begin, other_end - other
        pairs = rows * columns
        middle: list[Piece | Step] | None = None
        if pairs and max(rows, columns) <= MAX_WORDS:
            if pairs <= _PIECE and self._take(pairs):
                middle = [
                    (None if i is None else begin + i, None if j is None else other + j)
                    for i, j in _longest_common(one[begin:end], two[other:other_end])
                ]
            elif pairs > _PIECE and self._take(rows + columns):
                middle = _between_shared(one, two, (begin, end, other, other_end))
        if middle is None:
            removed: list[Piece | Step] = [(i, None) for i in range(begin, end)]
            middle = [*removed, *((None, j) for j in range(other, other_end))]
        return [*head, *middle, *reversed(tail)]

    def _take(self, steps: int) -> bool:
        """Whether so many steps may still be taken; takes them."""
        self._left -= steps
        return self._left >= 0


def fields_by_word(differences: Sequence[FieldDifference]) -> tuple[FieldDifference, ...]:
    """The differences between two versions, with the words of their titles and bodies compared."""
    comparison = Comparison()
    return tuple(
        replace(one, words=comparison.words(one.earlier, one.later))
        if one.field in ("title", "body")
        else one
        for one in differences
    )


def clusters_by_word(clusters: Sequence[DedupeCluster]) -> tuple[DedupeCluster, ...]:
    """The clusters of a plan, with the words of their texts compared."""
    comparison = Comparison()
    return tuple(
        replace(cluster, members=tuple(_by_word(member, comparison) for member in cluster.members))
        for cluster in clusters
    )


def _by_word(member: DedupeMember, comparison: Comparison) -> DedupeMember:
    own = "".join(words.text for words in member.difference if words.change != "added")
    keepers = "".join(words.text for words in member.difference if words.change != "removed")
    return replace(member, difference=comparison.words(own, keepers))


def _between_shared(one: list[int], two: list[int], piece: Piece) -> list[Piece | Step] | None:
    """The pieces between the parts that occur once in each list; None without such parts."""
    begin, end, other, other_end = piece
    found: list[Piece | Step] = []
    for i, j in _shared(one[begin:end], two[other:other_end]):
        place, place_there = piece[0] + i, piece[2] + j
        found += [(begin, place, other, place_there), (place, place_there)]
        begin, other = place + 1, place_there + 1
    return [*found, (begin, end, other, other_end)] if found else None


def _shared(one: Sequence[int], two: Sequence[int]) -> list[tuple[int, int]]:
    """The positions of parts that occur once in each list, in the longest series with one order in both."""
    counts, there = Counter(one), Counter(two)
    places = {part: place for place, part in enumerate(two) if there[part] == 1}
    pairs = [(place, places[part]) for place, part in enumerate(one) if counts[part] == 1 and part in places]
    # For each length of a series, the lowest position that ends it, and its pair; for each pair, that before.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    series: list[tuple[int, int]] = []
    at = last[-1] if last else None
    while at is not None:
        series.append(pairs[at])
        at = before[at]
    return series[::-1]


def _longest_common(one: Sequence[int], two: Sequence[int]) -> Iterator[Step]:
    """The steps of the longest common subsequence; what was removed comes before what was added."""
    best = [[0] * (len(two) + 1)]
    for part in reversed(one):
        below, row, right = best[-1], [0] * (len(two) + 1), 0
        for place in range(len(two) - 1, -1, -1):
            if part == two[place]:
                right = below[place + 1] + 1
            elif below[place] > right:
                right = below[place]
            row[place] = right
        best.append(row)
    best.reverse()
    i = j = 0
    while i < len(one) or j < len(two):
        if i < len(one) and j < len(two) and one[i] == two[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif i < len(one) and (j == len(two) or best[i + 1][j] >= best[i][j + 1]):
            yield i, None
            i += 1
        else:
            yield None, j
            j += 1


def _parts(one: Sequence[str], two: Sequence[str], steps: Iterator[Step]) -> Iterator[tuple[WordChange, str]]:
    """The text of each step. If two parts differ only in the white space at their end, only that changed."""
    for i, j in steps:
        before = "" if i is None else one[i]
        after = "" if j is None else two[j]
        if i is None or j is None:
            same = ""
        elif before.startswith(after):
            same = after
        else:
            same = before if after.startswith(before) else before.rstrip()
        pieces: tuple[tuple[WordChange, str], ...] = (
            ("same", same), ("removed", before[len(same) :]), ("added", after[len(same) :]),
        )  # fmt: skip
        yield from (piece for piece in pieces if piece[1])


def _space(text: str) -> str:
    return text[len(text.rstrip()) :]
