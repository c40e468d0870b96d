"""A block of context within its token budget, for any counter of tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import datetime

from pgrecall.errors import InvalidInput
from pgrecall.nouns.context.models import ContextRequest
from pgrecall.nouns.search.models import Hit
from pgrecall.search.context.rendering import (
    Entry,
    estimate_tokens,
    passage_start,
    render,
    sentence_ends,
    word_ends,
)


class ContextBudget:
    """A growing block of context: the entries shown, their text and its tokens.

    The tokens of the whole text are counted again for each memory that is tried, so that the budget holds
    for any counter, even one that is not additive.
    """

    def __init__(
        self,
        request: ContextRequest,
        newest: Mapping[int, int],
        earlier: Mapping[int, datetime],
        notes: Mapping[int, str],
    ) -> None:
        self._request = request
        self._newest = newest
        self._earlier = earlier
        self._notes = notes
        self._count = request.count_tokens or estimate_tokens
        self.shown: tuple[Entry, ...] = ()
        self.text = ""
        self.tokens = 0

    @property
    def left(self) -> int:
        """Tokens still free."""
        return self._request.budget_tokens - self.tokens

    def add_whole(self, hit: Hit, limit: int | None = None, *, lately: bool = False) -> int:
        """Shows a memory whole if it fits, within ``limit`` tokens of all; returns the tokens it needs."""
        shown, text, tokens = self._with(hit, None, lately)
        needed = tokens - self.tokens
        if needed <= (self.left if limit is None else limit - self.tokens):
            self.shown, self.text, self.tokens = shown, text, tokens
        return needed

    def add_directive(self, hit: Hit, limit: int) -> int:
        """Shows a directive whole if it fits, within ``limit`` tokens of all, else its sentence; returns the
        tokens it needs. Any other part of it may say the opposite."""
        needed = 0
        for cut in (None, passage_start(hit) + len(hit.directive)) if hit.directive else (None,):
            shown, text, tokens = self._with(hit, cut)
            needed = tokens - self.tokens
            if tokens <= limit:
                self.shown, self.text, self.tokens = shown, text, tokens
                break
        return needed

    def add_beginning(self, hit: Hit) -> str:
        """Shows as much of a memory as fits, from its passage on; returns the unit it is cut after, empty if
        nothing fits."""
        body, start = Entry(hit).body, passage_start(hit)
        for unit, found in (("sentence", sentence_ends(body)), ("word", word_ends(body))):
            ends = [end for end in found if end > start] + ([len(body)] if start else [])
            fitting = bisect_right(ends, 0, key=lambda end: int(self._with(hit, end)[2] > self.left))
            if fitting:
                self.shown, self.text, self.tokens = self._with(hit, ends[fitting - 1])
                return unit
        return ""

    def _with(self, hit: Hit, cut: int | None, lately: bool = False) -> tuple[tuple[Entry, ...], str, int]:
        newest, earlier, note = (
            self._newest.get(hit.id),
            self._earlier.get(hit.id),
            self._notes.get(hit.id, ""),
        )
        entry = Entry(hit, newest, cut, earlier, note, lately)
        shown = tuple(sorted((*self.shown, entry), key=self._place))
        text = render(shown)
        return shown, text, require_count(self._count, text)

    def _place(self, entry: Entry) -> tuple[int, float, int]:
        """What changed lately is in the order of its time, newest first unless all is the other way round."""
        hit, oldest_first = entry.hit, self._request.order == "time"
        time = hit.happened_at.timestamp()
        place = time if oldest_first else -time if entry.lately else -hit.score
        return entry.block, place, hit.id


def require_count(count: Callable[[str], int], text: str) -> int:
    """The token counter's result for a text.

    Raises:
        InvalidInput: it is not a whole number of 0 or more.
    """
    tokens: object = count(text)
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise InvalidInput(
            f"The token counter gave {tokens!r} for a text of {len(text):,} characters.",
            hint="It must give a whole number of tokens, 0 or more.",
        )
    return tokens
