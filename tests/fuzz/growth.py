"""Whether the work of a target grows as its input does: texts of repeats, four times as long each time.

Work is counted in calls where a test judges it: they are the same on every machine. `make fuzz` measures
time as well, for what one call does, as a regular expression may.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import TARGETS, Target

REPEATS = (
    "a", " ", "\n", "\t", "\\", "`", "*", "_", "#", "# a\n", "- a\n", "> ", "[", "]", "[[", "[[a", "]]",
    "[[a]] ",
    "[a](", "[a](b) ", "![", "![](", "<!--", "<!-- ", "-->", "%%", "|", "#a ", "#a/", "```\n", "~~~\n",
    "``` a\n",
    "---\n", "...\n", "a: b\n", "a: [", "a: {", "a: &a *a\n", "- ", "  - a\n", "'", '"', ":", "{", '{"a":',
    "[1,",
    '"\\u0000', "1", "1e9", "é", "e\u0301", "🙂", "\u202e", "\r", "\x0b", "\u2028", "https://a.b/", "(", ")",
    "<a ",
    "<", "&amp;", "==", "$$", "^", '{"body": "a"}\n', '{"query": "a", "relevant": ["a"]}\n',
    '{"memory_id": 1}\n',
    "1 ", "1:", "may ", "2026-01-01 ", "-", "+", "a b ", "a-", "a.", "# \n", "####### a\n", "`a` ", "``a` ",
    "[^1]",
    "[^1]: a\n", "[^a]:\n\n    a\n", "[a]: b\n", "[a][b] ", "[a]: b '",
    "a\n===\n", "a\n---\n", "%% a\n", "a %%\n\n", "$$\n", "$a$ ",
    "> [!a] b\n", "> > ", "|a|b|\n|-|-|\n", "|a", "<div>\n", "<!-- a\n",
    "> <!-- a\n", "- a %%\n", "`a\n\n", "\\%%",
    "a\n\n", "    a\n", "1. a\n", "::a",
)  # fmt: skip

PLAIN = ("", "")
WRAPS = {
    "markdown": (PLAIN, ("---\n", "\n---\na"), ("---\na: ", "\n---\na"), ("x ", " x")),
    "inline": (PLAIN, ("[[", "]]"), ("x ", " x")),
    "jsonl": (PLAIN, ('{"body": "', '"}')),
    "transcript": (PLAIN, ('[{"role": "user", "content": "', '"}]')),
    "mem0": (PLAIN, ('[{"id": "a", "memory": "', '"}]')),
}
"""What the repeats stand in, by target."""

TIMES = 4


def grown(name: str, size: int, repeats: Sequence[str] = REPEATS) -> Iterator[tuple[str, bytes]]:
    """Texts of about this size, and what they are called."""
    for before, after in WRAPS.get(name, (PLAIN,)):
        for repeat in repeats:
            yield f"{before}{repeat}{after}", (before + repeat * (size // len(repeat)) + after).encode()


def calls(target: Target, data: bytes, folder: Path) -> int:
    """How many functions a target calls, those of C among them."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # what is done for garbage of others is no work of the target
    sys.setprofile(counted)
    try:
        target(data, folder)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def seconds(target: Target, data: bytes, folder: Path) -> float:
    began = time.process_time()
    target(data, folder)
    return time.process_time() - began


def slower(name: str, folder: Path) -> Iterator[str]:
    """Of each text what took more than twice as long as it should, or nothing.

    That is 4 times the size and 8 times the time, twice in a row.
    """
    sizes = [2**14 * TIMES**step for step in range(4)]
    repeats = random.sample(REPEATS, len(REPEATS))  # the time is up before all were tried
    for texts in zip(*(grown(name, size, repeats) for size in sizes), strict=True):
        took: list[float] = []
        said = ""
        for _, data in texts:
            took.append(seconds(TARGETS[name], data, folder))
            if len(took) > 2 and took[-1] > 0.5 and min(took[-1] / took[-2], took[-2] / took[-3]) > 2 * TIMES:
                said = f"{texts[0][0]!r}: {len(data):,} bytes took {took[-1]:.1f} s"
            if took[-1] > 2:
                break
        yield said
