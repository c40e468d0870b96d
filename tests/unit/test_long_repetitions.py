"""Long repetitions: a rule that looks through the rest of a text from each place in it would take hours.

Each text ends without what the rule waits for.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pgrecall.faces.page.markdown import MAX_LENGTH, render_markdown
from pgrecall.importers import dates, git
from pgrecall.importers.chat import chatgpt, files
from pgrecall.importers.chat.turns import Tally
from pgrecall.importers.chat.typed import typed
from pgrecall.importers.hindsight import facts
from pgrecall.importers.markdown import front_matter
from pgrecall.search.context.rendering import sentence_ends, word_ends

MILLION = 1_000_000


def repeated(text: str, length: int = MILLION) -> str:
    return (text * (length // len(text) + 1))[:length]


LINES = "x" + repeated("\nCc: a", 600_000) + "\nx"
BLANK_LINES = "x" + repeated("\n") + "x"
SPACES = "x" + repeated(" ") + "x"


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (sentence_ends, repeated(".") + "x", []),
        (sentence_ends, repeated("?)") + "x", []),
        (sentence_ends, repeated("\n"), []),
        (word_ends, "x" + repeated(" \n"), []),
        (chatgpt._MARKS.findall, repeated("\ue200a"), []),
        (git._without_trailers, LINES, LINES),
        (git._without_trailers, BLANK_LINES, BLANK_LINES),
        (git._without_trailers, LINES[:-2], "x"),
        (front_matter._BETWEEN_TAGS.split, SPACES, [SPACES]),
        (facts._KIND_OF_ENTITY.split, SPACES, [SPACES]),
        (files._BESIDE.fullmatch, repeated("Gemini"), None),
        (files._BESIDE.fullmatch, repeated("a/Gemini"), None),
    ],
    ids=map(str, range(12)),
)
def test_a_rule_reads_a_text_once(read: Callable[[object], object], text: object, expected: object) -> None:
    assert read(text) == expected


def test_comments_that_do_not_end_are_shown() -> None:
    text = repeated("<!-- ", MAX_LENGTH)
    assert str(render_markdown(text)).count("&lt;!--") == MAX_LENGTH // 5
    assert str(render_markdown("a <!-- b <!-- c --> d")).strip() == "<p>a &lt;!-- b  d</p>"


def test_tags_of_prompts_that_do_not_end_are_text() -> None:
    tally = Tally()
    assert len(typed(repeated("<user_query>"), "user", tally)) == MILLION
    assert typed("a<user_query> b <user_query>c</user_query>d<user_query>e", "user", tally) == "c"


@pytest.mark.parametrize("text", ["a", "@", "1", "2024-01-01", "2024-01-01" + " " * MILLION])
def test_a_long_text_is_no_date(text: str) -> None:
    for read in (dates.parse_time, dates.parse_logged, dates.parse_spoken):
        with pytest.raises(ValueError, match=r"is not a date"):
            read(repeated(text) + "x")
