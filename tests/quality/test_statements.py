"""How many of the labelled short texts are known for what they say."""

from __future__ import annotations

import json

from benchmarks.examples.judged import EXAMPLES
from tests.databases import Query

DIRECTIVES = {"directive", "instruction", "preference"}


def test_most_short_texts_are_known_for_what_they_say(query: Query) -> None:
    lines = (EXAMPLES / "judged" / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line) for line in lines]
    rows = query(
        "SELECT recall_private.found_speech_act('', t, 'user') AS act "
        "FROM unnest(%s::text[]) WITH ORDINALITY u(t, n) ORDER BY n",
        ([text["text"] for text in texts],),
    )
    right = called = directives = 0
    for text, row in zip(texts, rows, strict=True):
        act = "statement" if row["act"] == "change" else row["act"]
        directives += act in DIRECTIVES
        called += act in DIRECTIVES and text["says"] in DIRECTIVES
        right += act == text["says"] or (act in DIRECTIVES and text["says"] in DIRECTIVES)

    assert right / len(texts) >= 0.82
    assert called / directives >= 0.94
