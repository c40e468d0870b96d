"""How much is tried: a little in every run of the suite, for minutes where somebody asks for it.

``PGRECALL_FUZZ_MINUTES`` is read here and nowhere else; `make fuzz MINUTES=10` sets it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings

MINUTES = float(os.environ.get("PGRECALL_FUZZ_MINUTES", "0"))
"""0 in the suite."""

Test = TypeVar("Test", bound=Callable[..., Any])

_PER_MINUTE = 1.5
"""How many times the examples of the suite fit into a minute of one process, about."""


def tried(examples: int) -> Callable[[Test], Test]:
    """So many examples in the suite, in proportion more when there are minutes; others each time then."""
    return settings(
        max_examples=round(examples * max(1.0, MINUTES * _PER_MINUTE)),
        derandomize=MINUTES == 0,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
