"""What is compared word by word: never less than may be a duplicate or a contradiction."""

from __future__ import annotations

import itertools
import re

from pgrecall import Memory
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import store
from tests.quality.test_duplicates import PAIRS

WORD = re.compile(r"[^\W\d_]+")
PARTS = re.compile(r"\\+[mMw]\*?|\[[^]]*\]\??|\w\?")
"""What is no letter of a word in a pattern, and letters that may be missing."""

TEXTS = (
    "FooBar opens the door of the boathouse",
    "foobar opens the big old door of the boathouse",
    "The harbour office of Alden wouldn't open before noon",
    "The harbor office of Alden would open before noon",
    "The harbour office of Alden would open after noon, and Mira waits",
    "Café Zürich serves naïve coffee on Monday",
    "Cafe Zurich serves naive coffee on Tuesday",
    "Read https://example.org/docs/BigPlan.html before the meeting",
    "Read https://example.org/docs/bigplan.html before the long meeting",
    "The winch needs blue paint",
    "The winch needs red paint",
    "The winch needs no blue paint, nothing else",
    "word " * 2000 + "one",
    "word, " * 2000 + "one",
    "word " * 2000 + "two",
    "x",
    "X!",
)


def test_no_pair_that_is_not_apart_is_left_out(memory: Memory, query: Query) -> None:
    texts = [*TEXTS, *(pair[side] for pair in PAIRS for side in ("one", "other"))]
    languages = ["english"] * len(TEXTS) + [
        pair["kind"] if pair["kind"] in {"german", "spanish"} else "english"
        for pair in PAIRS
        for _ in range(2)
    ]
    ids = [store(memory, text) for text in texts]
    query(
        "UPDATE recall.memory m SET language = u.language "
        "FROM unnest(%s::bigint[], %s::text[]) u(id, language) WHERE m.id = u.id",
        (ids, languages),
    )
    near = list(itertools.combinations(ids[: len(TEXTS)], 2))
    near += [(ids[at], ids[at + 1]) for at in range(len(TEXTS), len(ids), 2)]
    near += [(ids[at], ids[at + 3]) for at in range(len(TEXTS), len(ids) - 3, 2)]
    rows = query(
        """WITH pair AS (SELECT * FROM unnest(%s::bigint[], %s::bigint[]) p(src, dst)),
        kept AS (
            SELECT k.src, k.dst FROM recall_private.may_say_the_same('acme',
                (SELECT array_agg(src) FROM pair), (SELECT array_agg(dst) FROM pair), NULL) k)
        SELECT a.body AS one, b.body AS other, c.verdict, k.src IS NOT NULL AS kept
        FROM pair p
        JOIN recall.memory a ON a.id = p.src
        JOIN recall.memory b ON b.id = p.dst AND b.language = a.language
        CROSS JOIN recall_private.compare_texts(a.language, a.body, b.body) c
        LEFT JOIN kept k USING (src, dst)""",
        ([src for src, _ in near], [dst for _, dst in near]),
    )
    assert [row for row in rows if row["verdict"] != "apart" and not row["kept"]] == []
    assert sum(row["verdict"] != "apart" for row in rows) >= 50
    assert sum(not row["kept"] for row in rows) >= len(rows) / 3


def test_every_negation_is_a_telling_word(query: Query) -> None:
    [row] = query("SELECT pg_get_functiondef('recall_private.negation_count'::regproc) AS text")
    pattern = max(re.findall(r"'((?:[^']|'')*)'", row["text"]), key=len)
    named = {word for word in WORD.findall(PARTS.sub("", pattern)) if len(word) > 2}
    telling = {row["stem"] for row in query("SELECT unnest(recall_private.ignored_stems('english')) AS stem")}
    assert len(named) > 15
    assert named - telling == {"ningn"}  # one letter of it may have an accent
    for word in telling & named:
        [row] = query("SELECT recall_private.negation_count(%s) AS found", (f"Das ist {word} und",))
        assert row["found"], word


def test_long_texts_are_told_by_how_they_begin(query: Query) -> None:
    long = "word " * 2000
    for one, other, expected in (
        (long, long.upper() + "!", "same"),
        (long, "other " + long, "apart"),
        ("- " * 600 + long, long, "same"),
        (long + "end", long + "other end", "apart"),
        (long + "4", long + "5", "apart"),
    ):
        [row] = query("SELECT verdict FROM recall_private.compare_texts('english', %s, %s)", (one, other))
        assert row["verdict"] == expected, (one[:20], other[:20])
