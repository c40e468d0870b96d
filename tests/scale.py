"""How much more than usual the long-running tests try: PGRECALL_TEST_SCALE, 1 where it is not set."""

from __future__ import annotations

import os
import sys

SCALE = int(os.environ.get("PGRECALL_TEST_SCALE", "1"))
"""Read at import: in a test the environment holds no setting of ours."""


def tell(text: str) -> None:
    """Says what a long-running test reached; seen with ``pytest -s``."""
    sys.stdout.write(f"{text}\n")
