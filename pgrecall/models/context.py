"""A block of text for an agent's prompt: what is asked of it, and what it became."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pgrecall.models.search import Hit

Order = Literal["score", "time"]
Reason = Literal["superseded", "near_duplicate", "quota", "over_budget"]


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a block has to keep to.

    Attributes:
        budget_tokens: tokens the whole text may take, markers and sources included; 1 to 10,000,000.
        per_layer: layer to how many memories of it at most; a layer that is not named has no limit.
        order: ``score`` shows the best first, ``time`` the oldest.
        mmr_lambda: how much the score counts beside being unlike what is chosen already; 1: the score alone.
            Measured on chats: from 0.6 to 0.9 hardly a difference; 0.5 and less loses answers.
        duplicate_at: a memory at least so similar to a chosen one (a cosine, above 0, at most 1) nearly
            repeats it and is left out, unless it adds a number or a name. Measured with MiniLM: rewordings
            lie above 0.93, different things said below 0.88.
        count_tokens: how many tokens a text has, asked once or more for every memory that is tried; None:
            :func:`pgrecall.search.context.rendering.estimate_tokens`.
    """

    budget_tokens: int = 2000
    per_layer: Mapping[str, int] = field(default_factory=dict)
    order: Order = "score"
    mmr_lambda: float = 0.8
    duplicate_at: float = 0.92
    count_tokens: Callable[[str], int] | None = None


@dataclass(frozen=True, slots=True)
class ContextSource:
    """Which memory a marker such as ``[1]`` stands for; ``cut`` when only its beginning is shown."""

    number: int
    id: int
    key: str | None
    title: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was found and is not in the block.

    Attributes:
        other: the memory that supersedes it or that it nearly repeats.
        detail: why, in a clause: ``over budget: it needs 412 tokens, 96 were left``.
    """

    id: int
    key: str | None
    title: str
    reason: Reason
    other: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """Text to put into a prompt, and what it was made of.

    Attributes:
        text: empty without any memory.
        tokens: of the whole text.
        sources: which memory each marker in the text stands for, in the order shown.
        left_out: what was found and is not in the text, best first.
        hits: the memories in the text, in the order shown.
        skipped: what did not run as usual, in a sentence each.
        search_id: for ``used`` and ``rejected``; None where the search was not logged.
    """

    text: str
    tokens: int
    sources: tuple[ContextSource, ...]
    left_out: tuple[LeftOut, ...]
    hits: tuple[Hit, ...]
    skipped: tuple[str, ...] = ()
    search_id: int | None = None
