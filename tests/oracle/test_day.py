"""Two days that are the same in each run; `make soak` plays others."""

from __future__ import annotations

import pytest

from tests.oracle.day import Day
from tests.oracle.world import opened
from tests.scale import SCALE, tell

STEPS = 120


@pytest.mark.fault
@pytest.mark.timeout(900 * SCALE)
@pytest.mark.parametrize("seed", range(1, 2 * SCALE + 1))
def test_a_day_of_eight_tenants_is_as_the_documentation_says(database_url: str, seed: int) -> None:
    with opened(database_url) as world:
        day = Day(world, seed)
        day.play(STEPS)
        day.end()
    tell(f"seed {seed}: {day.judge.compared} answers compared; {dict(sorted(day.counts.items()))}")
