"""What people type, and what is shown of a body."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.options import parse_moment, parse_reference, parse_since, parse_until
from pgrecall.faces.page.templating import beginning
from pgrecall.faces.printable import printable
from pgrecall.faces.snippets import snippet
from pgrecall.faces.wording import counts_words

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("42", 42), ("key:42", "42"), ("a/b", "a/b"), ("-1", "-1"), ("٤٢", "٤٢"), ("key:key:1", "key:1")],
)
def test_references(typed: str, meant: int | str) -> None:
    assert parse_reference(typed) == meant


@pytest.mark.parametrize("typed", ["", " ", "9" * 19, "9" * 5000, "\udce9"])
def test_impossible_references(typed: str) -> None:
    with pytest.raises(InvalidInput):
        parse_reference(typed)


def test_moments() -> None:
    assert parse_moment(None, "--at") is None
    assert parse_moment("2026-06-01T14:00+02:00", "--at") == NOW
    assert parse_since("7d", NOW) == NOW - timedelta(days=7)
    assert parse_since("2w", NOW) == parse_until("2W", NOW) == NOW - timedelta(days=14)
    assert parse_until("2026-06-01", NOW) == datetime(2026, 6, 2, tzinfo=UTC)
    assert parse_until("2026-06-01T00:00", NOW) == datetime(2026, 6, 1, tzinfo=UTC)
    assert parse_until("9999-12-31", NOW) == datetime(9999, 12, 31, tzinfo=UTC)
    for typed in ("soon", "999999y", "7", "7x", ""):
        with pytest.raises(InvalidInput):
            parse_since(typed, NOW)


def test_a_snippet_is_cut_around_the_rarest_words() -> None:
    body = "filler word. " * 50 + "The gauges were calibrated twice." + " more filler" * 50
    shown, spans = snippet(body, {"gaug": 2.0, "calibr": 4.0, "filler": 0.1}, 100)
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert {"gauges", "calibrated"} <= {shown[begin:end] for begin, end in spans}
    assert snippet("Short.", {}) == ("Short.", [])


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("## Steps\n**Now:** run `tw go` [so](https://a.b/c).", "Steps Now: run tw go so."),
        ("a ** b ** c and __init__, 2 * 3 ** 4", "a ** b ** c and __init__, 2 * 3 ** 4"),
        ("C# and #tag stay; ` alone stays", "C# and #tag stay; ` alone stays"),
    ],
)  # fmt: skip
def test_a_snippet_has_no_marks_of_markdown(body: str, shown: str) -> None:
    assert snippet(body, {}) == (shown, [])


def test_counts_of_one_are_singular() -> None:
    assert counts_words(1, {"batches": 1, "memories": 1_204, "folded": 1}) == (
        "1 batch, 1,204 memories, 1 folded"
    )
    assert counts_words(3, {}) == "3 done"


def test_the_beginning_of_a_text_is_shown_without_markdown() -> None:
    assert beginning("# Boat varnish\n\n**Two** coats of `oil`.", 110) == "Boat varnish Two coats of oil."
    assert beginning("word " * 100, 50).endswith(" …")
    assert beginning("", 50) == ""


@given(st.text(max_size=300), st.dictionaries(st.text(min_size=1, max_size=6), st.floats(0.1, 9), max_size=4))
def test_snippets_are_one_safe_line_of_bounded_length(body: str, lexemes: dict[str, float]) -> None:
    shown, spans = snippet(body, lexemes, 60)
    assert len(shown) <= 64
    assert "\n" not in shown
    assert all(0 <= begin < end <= len(shown) for begin, end in spans)
    assert printable(shown) == shown


def test_control_characters_become_blanks() -> None:
    assert printable("a\x1b[31mb\x9b\u202ec\nd\té") == "a [31mb  c\nd é"
