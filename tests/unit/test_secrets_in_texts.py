"""A secret, and parts of it, are removed from texts that others have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.setting_types import Secret

KEY = "sk-live-0123456789abcdefXYZ"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"The key {KEY} is wrong.", "The key *** is wrong."),
        (f"The key {KEY[:20]}... is wrong.", "The key ***... is wrong."),
        (f"It ends with {KEY[-8:]}.", "It ends with ***."),
        (f"sk-live... to ...{KEY[-7:]}", f"sk-live... to ...{KEY[-7:]}"),
        (f"{KEY}{KEY[:9]} and {KEY[4:15]}", "*** and ***"),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_runs_of_eight_characters_are_removed(text: str, shown: str) -> None:
    assert Secret(KEY).removed_from(text) == shown


def test_a_short_secret_is_removed_as_a_whole() -> None:
    assert Secret("abc").removed_from("an abc of abcd") == "an *** of ***d"
    assert Secret("").removed_from("nothing") == "nothing"


@given(st.text("abc", min_size=8, max_size=30), st.text("abc ", max_size=80))
def test_no_run_of_a_secret_is_left(secret: str, text: str) -> None:
    shown = Secret(secret).removed_from(text)
    assert not any(secret[place : place + 8] in shown for place in range(len(secret) - 7))
