"""How long texts are cut into passages: laws of every text, and the borders it is cut at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.errors import EmbedderError
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.search.embed.passages import (
    MAX_PASSAGES,
    WINDOW,
    embed_memories,
    estimated_ends,
    passage_spans,
    passage_text,
    split,
)

TEXTS = st.text(st.sampled_from(list("ab .!?\n\t,1\u6e2f\U0001f980\u0301")), max_size=400)
EMBEDDER = HashEmbedder(16)


@given(TEXTS, st.integers(1, 30))
def test_passages_hold_all_of_a_text_in_its_order_and_fit(text: str, window: int) -> None:
    ends = estimated_ends(text)
    spans = split(text, ends, window)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert all(sum(start < place <= end for place in ends) <= window for start, end in spans)
    assert len(spans) <= MAX_PASSAGES
    if len(spans) < MAX_PASSAGES:
        kept = "".join(text[start:end] for start, end in spans)
        assert "".join(kept.split()) == "".join(text.split())


@given(st.text(max_size=50), st.text(max_size=5000))
def test_a_text_that_fits_has_no_passages_and_others_end_where_it_ends(title: str, body: str) -> None:
    [spans] = passage_spans(EMBEDDER, [(title, body)])
    pieces = len(estimated_ends(title)) + len(estimated_ends(body))
    assert bool(spans) == (pieces > WINDOW)
    if spans and len(spans) < MAX_PASSAGES:
        assert spans[-1].end == len(body.rstrip())


@pytest.mark.parametrize("joint", ["\n\n", "\n", ". ", " "], ids=["paragraph", "line", "sentence", "word"])
def test_a_text_is_cut_at_the_best_border_there_is(joint: str) -> None:
    parts = [" ".join(["word"] * 30)] * 20 if joint != " " else ["word"] * 600
    text = joint.join(parts)
    for start, _ in split(text, estimated_ends(text), 100)[1:]:
        assert text[:start].endswith(joint)


def test_the_last_passage_is_no_scrap() -> None:
    text = "word " * 260
    assert [len(text[start:end].split()) for start, end in split(text, estimated_ends(text), 250)][-1] > 50


def test_the_head_that_the_embedder_reads_is_not_embedded_again() -> None:
    body = "word " * 1000
    [spans] = passage_spans(EMBEDDER, [("", body)])
    assert spans[0].end > len("word " * WINDOW)
    assert spans[0].start < len("word " * WINDOW)


@pytest.mark.parametrize(
    "body", ["x" * 1_000_000, "\u6e2f" * 1_000_000, " " * 1_000_000, "a b " * 250_000, "a\n\n" * 300_000]
)
def test_huge_texts_have_a_bounded_number(body: str) -> None:
    [spans] = passage_spans(EMBEDDER, [("t" * 1000, body)])
    assert len(spans) <= MAX_PASSAGES


def test_a_million_characters_of_english_are_read_to_the_end() -> None:
    body = ("The keeper of the harbour writes what the boats bring in and take. " * 15_000)[:1_000_000]
    [spans] = passage_spans(EMBEDDER, [("", body)])
    assert spans[-1].end == len(body.rstrip())


def test_what_lies_beyond_the_last_passage_is_counted() -> None:
    whole, cut = "word " * 1000, "\u6e2f" * 400_000
    made = embed_memories(EMBEDDER, [("", "short"), ("", whole), ("", cut)])
    unread = [embedded.unread(body) for embedded, body in zip(made, ("short", whole, cut), strict=True)]
    assert unread[:2] == [0, 0]
    assert unread[2] == len(cut) - made[2].passages[-1].end > 90_000  # type: ignore[index]


def test_a_passage_has_the_title_in_front() -> None:
    [spans] = passage_spans(EMBEDDER, [("Winch", "word " * 400)])
    assert passage_text("Winch", "word " * 400, spans[0]).startswith("Winch\nword")


class Counting(HashEmbedder):
    """Tells how much it reads: one piece a character."""

    max_tokens = 10

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(len(text))]


def test_an_embedder_that_counts_pieces_decides_what_fits() -> None:
    texts = [("", "0123456789"), ("", "0123456789a"), ("ab", "0123456789")]
    assert [bool(spans) for spans in passage_spans(Counting(16), texts)] == [False, True, True]


def test_vectors_of_passages_are_checked_as_others_are() -> None:
    class Lame(Counting):
        def embed(self, texts: Sequence[str]) -> Vectors:
            made = zip(texts, super().embed(texts), strict=True)
            return [vector if len(text) > 10 else [0.0] * 16 for text, vector in made]

    with pytest.raises(EmbedderError, match="zero vector"):
        embed_memories(Lame(16), [("", "0123456789" * 3)])


def test_a_counter_that_fails_is_an_error_of_the_embedder() -> None:
    class Broken(Counting):
        def token_spans(self, text: str) -> list[tuple[int, int]]:
            raise KeyError(len(text))

    with pytest.raises(EmbedderError, match="KeyError"):
        embed_memories(Broken(16), [("", "text")])
