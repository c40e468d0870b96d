"""The whole SQL API against a simple model of it: whatever is called in whatever order, both say the same."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.scale import SCALE, tell
from tests.stateful.accesses import Accesses
from tests.stateful.maintenance import Maintenance
from tests.stateful.merging import Merging

EXAMPLES, STEPS = 12, 30


@pytest.mark.timeout(600 * SCALE)
def test_the_whole_api_does_what_a_simple_model_says(shared_connection: psycopg.Connection[Any]) -> None:
    calls: dict[str, int] = {}
    rules = (Merging, Accesses, Maintenance)
    api = type("Api", rules, {"connection": shared_connection, "calls": calls})
    # As many different ones as there is time for, yet the same every day.
    chosen = settings(max_examples=EXAMPLES * SCALE, stateful_step_count=STEPS, derandomize=SCALE == 1)
    run_state_machine_as_test(api, settings=chosen)
    assert calls["merged"] > 10
    tell(f"{EXAMPLES * SCALE} histories of up to {STEPS} steps, {sum(calls.values())} calls: {calls}")
