"""The questions that the front page proposes."""

from __future__ import annotations

import pytest

from pgrecall.faces.page.views.front import _questions, question


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Ferry to Odda", "What about Ferry to Odda?"),
        ("The lighthouse", "What about the lighthouse?"),
        ("测量室的钥匙", "测量室的钥匙"),
        ("המפתח של חדר", "המפתח של חדר"),
    ],
)
def test_a_question_about_a_name(name: str, asked: str) -> None:
    assert question(name) == asked


def test_nothing_is_asked_about_a_sentence_or_a_long_title() -> None:
    titles = ["The key is with Tomas.", "Gone?", "x" * 61, "", "Tides", "Tides", "Winds"]
    assert _questions(titles, ()) == ["What about Tides?", "What about Winds?"]
