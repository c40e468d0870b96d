"""`make dates`: the tests as they run on other days, because none may depend on the day on which it runs.

python -m tests.dates [ARGUMENTS OF PYTEST]: by default the tests that compare what is printed, or count days.
They, their commands and their servers get the clock of each date in turn; it needs Linux and a C compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

CLOCK = Path(__file__).with_name("clock.c")
ZONE = "Europe/Berlin"

DATES = {
    "a leap day": datetime(2028, 2, 29, 11, tzinfo=UTC),
    "the turn of a year": datetime(2026, 12, 31, 22, 57, tzinfo=UTC),
    "the beginning of summer time": datetime(2027, 3, 28, 0, 57, tzinfo=UTC),
    "the end of summer time": datetime(2027, 10, 31, 0, 57, tzinfo=UTC),
    "a year ahead": datetime.now(UTC) + timedelta(days=365),
    "five years ahead": datetime.now(UTC) + timedelta(days=5 * 365),
}
"""The turns come three minutes after a run has begun."""

TESTS = (
    "tests/acceptance/docs/test_transcripts.py", "tests/acceptance/cli/test_other_set_ups.py",
    "tests/acceptance/cli/test_charts_cli.py", "tests/acceptance/cli/test_prune_cli.py",
    "tests/acceptance/cli/test_quality_cli.py", "tests/acceptance/cli/test_versions_cli.py",
    "tests/faults/test_clock.py", "tests/integration/search", "tests/integration/vitality",
    "tests/integration/access", "tests/integration/charts", "tests/integration/jobs",
    "tests/integration/feedback", "tests/unit",
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Returns how many of the dates had a failure."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-clock-") as folder:
        Path(folder).chmod(0o755)  # servers have another account
        clock = Path(folder) / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", clock, CLOCK], check=True)
        return sum(run(name, clock, arguments or ("-n", "2", *TESTS)) != 0 for name in DATES)


def run(name: str, clock: Path, arguments: Sequence[str]) -> int:
    """Runs the tests at this date, and returns the exit code of pytest."""
    ahead = round((DATES[name] - datetime.now(UTC)).total_seconds())
    sys.stdout.write(f"\n{name}: {DATES[name]:%Y-%m-%d %H:%M} UTC\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    faked = {"CLOCK_AHEAD": str(ahead), "LD_PRELOAD": str(clock), "TZ": ZONE}
    return subprocess.run(command, env=os.environ | faked, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
