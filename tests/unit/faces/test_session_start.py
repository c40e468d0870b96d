"""The text at the start of a session: within its budget, whatever memories say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.faces.editors.session_start import Section, within_budget
from pgrecall.importers.chat.recalled import marked
from pgrecall.search.context.rendering import estimate_tokens

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r"), min_size=1, max_size=240), max_size=6)


@given(st.lists(LINES, max_size=4), st.integers(min_value=100, max_value=600))
def test_a_text_is_within_its_budget(lines: list[list[str]], budget: int) -> None:
    text = within_budget("A note.", [Section(f"Section {n}:", some) for n, some in enumerate(lines)], budget)
    assert estimate_tokens(marked(text)) <= budget or not text
    assert bool(text) <= any(lines)


def test_no_section_crowds_out_another() -> None:
    sections = [Section("One:", ["x" * 200] * 6), Section("Two:", ["y" * 200] * 6, newest_last=True)]
    text = within_budget("A note.", sections, 300)
    assert "One:" in text
    assert "Two:" in text
    assert text.count("- x") - text.count("- y") in (0, 1)


def test_the_newest_comes_last_where_it_is_a_course_of_events() -> None:
    section = Section("Asked:", ["third", "second", "first"], newest_last=True)
    assert within_budget("N.", [section], 300) == "N.\n\nAsked:\n- first\n- second\n- third"
    assert within_budget("N.", [Section("Nothing:", [])], 300) == ""
