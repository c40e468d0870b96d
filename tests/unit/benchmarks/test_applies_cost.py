"""What the benchmark of cost makes of pairs of measurements."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmarks.applies.cost import ALL, FORMS, OFF, document, table


def test_a_difference_is_that_of_pairs_without_the_outermost() -> None:
    """Nineteen questions cost 0.2 ms more and one, which was interrupted, 50."""
    pairs = [(10.2 + n, 10.0 + n) for n in range(19)] + [(60.0, 10.0)]
    searched = {(form, part): pairs for form in FORMS for part in OFF}
    figures = document(searched, [(1.0, 0.9)] * 20)
    for form in FORMS:
        one = figures["search"][form][ALL]
        assert one["more"] == pytest.approx(0.2)
        assert one["ok"]
    storing = figures["storing"]
    assert (storing["share"], storing["ok"]) == (pytest.approx(1 / 9), False)
    dear = document({(form, ALL): [(11.0, 10.0)] * 20 for form in FORMS}, [(0.91, 0.9)] * 20)
    assert not dear["search"]["a request"][ALL]["ok"]
    assert dear["storing"]["ok"]


def test_the_table_has_a_row_for_each_part_of_each_form() -> None:
    pairs = [(10.2, 10.0)] * 20
    figures = document({(form, part): pairs for form in FORMS for part in OFF}, pairs)
    console = Console(file=StringIO(), width=160)
    console.print(table(figures, "5,000 memories"))
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert all(f"{form}: {part}" in printed for form in FORMS for part in OFF)
    assert printed.count("<= 0.5 ms") == len(FORMS), "the goal is that of all parts together"
    assert "storing a turn" in printed
