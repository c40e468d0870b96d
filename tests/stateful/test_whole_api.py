"""The whole SQL API against a simple model of it: whatever is called in whatever order, both say the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.scale import SCALE, tell
from tests.stateful.machine import ACTS, Machine

EXAMPLES, STEPS = 24, 30


@pytest.mark.timeout(600 * SCALE)
def test_the_whole_api_does_what_a_simple_model_says(shared_connection: psycopg.Connection[Any]) -> None:
    counts: Counter[str] = Counter()
    # As many different ones as there is time for, yet the same every day.
    chosen = settings(max_examples=EXAMPLES * SCALE, stateful_step_count=STEPS, derandomize=SCALE == 1)
    api = type("Api", (Machine,), {"connection": shared_connection, "counts": counts})
    run_state_machine_as_test(api, settings=chosen)
    assert all(counts[name] for name in (*(act.__name__ for act in ACTS), "merged", "pruned"))
    tell(f"{EXAMPLES * SCALE} histories of up to {STEPS} steps: {dict(sorted(counts.items()))}")
