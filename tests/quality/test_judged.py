"""The judged queries themselves: what they name exists, and each kind has enough to mean something."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

from benchmarks.examples.judged import (
    CORPORA,
    EXAMPLES,
    NOW,
    read_follow_ups,
    read_judged,
    read_links,
    read_memories,
)
from pgrecall.nouns.memories.models import Draft

JUDGED = (*read_judged(), *read_follow_ups())
UNANSWERED = {"nothing-to-find", "absent", "needs-context"}
FLOORS = {
    "exact-name": 10,
    "misspelt-name": 10,
    "keyword": 10,
    "paraphrase": 20,
    "colloquial": 10,
    "callback": 15,
    "role-callback": 20,
    "time-window": 15,
    "window-alone": 10,
    "temporal": 10,
    "period": 20,
    "single-hop": 30,
    "multi-hop": 20,
    "superseded": 12,
    "contradiction": 12,
    "as-of": 10,
    "hints": 10,
    "cue": 15,
    "long-answer": 60,
    "update": 20,
    "preference": 15,
    "who": 20,
    "nickname": 12,
    "false-premise": 50,
    "nothing-to-find": 80,
    "instruction": 100,
    "cause": 100,
    "asked": 60,
    "newest": 60,
    "reference": 60,
    "absent": 60,
    "question-answered": 60,
    "needs-context": 30,
    "follow-up": 60,
}


@cache
def keys() -> dict[str, Draft]:
    """Every memory that the examples hold, by its key; a long note by the key of the note too."""
    drafts = [
        draft for corpus in CORPORA.values() for draft in read_memories(corpus) if isinstance(draft, Draft)
    ]
    return {name: draft for draft in drafts for key in [draft.key or ""] for name in (key, key.split("#")[0])}


def test_every_kind_has_enough_queries() -> None:
    counts = Counter(one.kind for one in JUDGED)

    assert {kind: counts[kind] for kind in FLOORS if counts[kind] < FLOORS[kind]} == {}
    assert len({one.id for one in JUDGED}) == len(JUDGED) > 700
    assert {one.corpus for one in JUDGED} == set(CORPORA)


def test_what_the_queries_and_links_name_exists() -> None:
    known = keys().keys()
    named = {
        key
        for one in JUDGED
        for key in (*one.relevant, *one.outdated, *one.stale, *(one.options.get("cues") or ()))
    }
    linked = {key for link in read_links() for key in (link.source, link.target)}

    assert named | linked <= known


def test_a_query_is_asked_in_words_or_by_a_window() -> None:
    for one in JUDGED:
        assert one.query or {"since", "until"} <= one.options.keys(), one.id
        assert bool(one.relevant) == (one.kind not in UNANSWERED), one.id
        assert not one.relevant & (one.outdated | one.stale), one.id


def test_a_long_answer_is_long_and_of_the_assistant() -> None:
    drafts = keys()
    for one in JUDGED:
        if one.kind == "long-answer":
            found = [drafts[key] for key in one.relevant]
            assert any(len(draft.body) >= 1_000 and draft.role == "assistant" for draft in found), one.id


def test_no_two_judgements_are_of_one_question() -> None:
    asked = Counter((one.corpus, one.query, str(sorted(one.options.items()))) for one in JUDGED)

    assert [question for question, times in asked.items() if times > 1] == []


def test_what_answers_a_window_lies_in_it() -> None:
    drafts = keys()
    windows = [one for one in JUDGED if "since" in one.options]
    assert len(windows) >= 25
    for one in windows:
        since, until = one.options["since"], one.options["until"]
        for key in one.relevant:
            at = drafts[key].occurred_at
            assert since is not None
            assert until is not None
            assert at is not None
            assert since <= at < until <= NOW, one.id


def test_what_is_outdated_was_replaced_or_has_run_out() -> None:
    drafts = keys()
    replaced = {link.target for link in read_links() if link.relation == "supersedes"}
    for key in {key for one in JUDGED for key in one.outdated} - replaced:
        until = drafts[key].valid_until
        assert until is not None
        assert until < NOW


def test_what_is_stale_was_said_before_what_replaced_it() -> None:
    drafts = keys()
    stale = [one for one in JUDGED if one.stale]
    assert len(stale) >= 60
    for one in stale:
        newest = max(drafts[key].occurred_at or NOW for key in one.relevant)
        assert all((drafts[key].occurred_at or NOW) <= newest < NOW for key in one.stale), one.id


def test_a_question_of_the_past_names_what_was_there() -> None:
    drafts = keys()
    for one in JUDGED:
        if as_of := one.options.get("as_of"):
            assert all((drafts[key].occurred_at or NOW) < as_of < NOW for key in one.relevant), one.id


def test_each_short_text_says_one_thing() -> None:
    lines = (EXAMPLES / "judged" / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line) for line in lines]
    says = Counter(text["says"] for text in texts)

    assert says.keys() == {"statement", "question", "directive", "preference", "acknowledgement"}
    assert min(says.values()) >= 75
    assert len({text["text"].lower() for text in texts}) == len(texts) >= 700
    assert {text["role"] for text in texts} == {"user"}
