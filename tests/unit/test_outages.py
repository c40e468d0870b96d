"""A cell that does not answer is tried by one call at a time."""

from __future__ import annotations

import pytest

from pgrecall.client.outages import PAUSE_SECONDS, Outages
from pgrecall.errors import CellUnavailable, DatabaseBusy, DatabaseUnavailable, InvalidInput

REFUSED = DatabaseUnavailable("No connection to Postgres could be made for 3 s.", hint="Check it.")
ONE, TWO = "host=one", "host=two"


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outages(clock: Clock) -> Outages:
    """Cell 1 has just failed."""
    made = Outages(10.0, clock)
    assert isinstance(made.note_error(1, ONE, REFUSED), CellUnavailable)
    return made


def test_it_rests_and_the_others_do_not(outages: Outages) -> None:
    outages.raise_if_resting(TWO)
    with pytest.raises(CellUnavailable, match="Cell 1 does not answer: No connection to Postgres") as caught:
        outages.raise_if_resting(ONE)
    assert caught.value.cell == 1


def test_one_call_at_a_time_tries(outages: Outages, clock: Clock) -> None:
    clock.now = PAUSE_SECONDS + 0.1
    outages.raise_if_resting(ONE)
    with pytest.raises(CellUnavailable):
        outages.raise_if_resting(ONE)
    clock.now += 10.0 + PAUSE_SECONDS  # the one that tried says nothing, as one that was cancelled
    outages.raise_if_resting(ONE)


def test_an_answer_ends_it(outages: Outages) -> None:
    outages.note_answer(ONE)
    outages.raise_if_resting(ONE)


def test_so_does_an_error_of_the_cell_itself(outages: Outages) -> None:
    said = InvalidInput("The query is empty.")
    assert outages.note_error(1, ONE, said) is said
    outages.raise_if_resting(ONE)


@pytest.mark.parametrize(
    "error", [DatabaseBusy("All are in use."), DatabaseUnavailable("It broke.", lost=True)]
)
def test_other_failures_are_none_of_the_cell(clock: Clock, error: DatabaseUnavailable) -> None:
    outages = Outages(10.0, clock)
    assert outages.note_error(1, ONE, error) is error
    outages.raise_if_resting(ONE)
