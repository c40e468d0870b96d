"""`make fuzz MINUTES=10`: many more inputs than the suite tries, and what came of them by target.

The minutes are shared: four tenths for what the suite tries, with other examples each time; five tenths
for atheris, which looks for inputs that reach code no input has reached; the rest for texts that grow.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.growth import slower
from tests.fuzz.targets import TARGETS

WORKERS = max(1, min(4, os.cpu_count() or 1))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def suite(minutes: float) -> int:
    say(f"The suite's targets, about {minutes:.1f} minutes:")
    command = [sys.executable, "-m", "pytest", "-m", "fuzz", "-q", "-v", "--no-header", "--timeout", "0",
    "-n",
               str(WORKERS), "--dist", "load", "tests/fuzz"]  # fmt: skip
    settings = {"PGRECALL_FUZZ_MINUTES": str(minutes * WORKERS), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
    shown = done.stdout if done.returncode else done.stdout[max(done.stdout.rfind("inputs fuzzed") - 12, 0) :]
    say(shown.strip()[-60_000:])
    return done.returncode


def guided(minutes: float) -> int:
    if importlib.util.find_spec("atheris") is None:
        say("atheris is not installed (it has no wheel for this Python): nothing was looked for by coverage.")
        return 0
    each = max(5, round(minutes * 60 * WORKERS / len(TARGETS)))
    found = Path(tempfile.gettempdir()) / "pgrecall-fuzz-found"
    say(f"By coverage (atheris), {each} s each; what was found is kept in {found}:")
    with ThreadPoolExecutor(WORKERS) as pool:
        return max(pool.map(lambda name: _guided(name, each, found / name.replace(" ", "-")), TARGETS))


def _guided(name: str, each: int, folder: Path) -> int:
    command = [sys.executable, "-m", "tests.fuzz.guided", name, str(each), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    tried = _number(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    reached = _number(r"cov: (\d+)", done.stderr)
    say(
        f"  {name:18} {tried:>10,} inputs, {reached:,} places reached"
        + (", FAILED:" if done.returncode else "")
    )
    if done.returncode:
        say("\n".join(done.stderr.splitlines()[-30:]))
    return done.returncode


def _number(pattern: str, text: str) -> int:
    found: Sequence[str] = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def growing(minutes: float) -> int:
    """What takes longer than it should is told, and does not fail: a time is no proof."""
    say("Texts that grow, by time:")
    with tempfile.TemporaryDirectory() as folder:
        for name in TARGETS:
            until = time.monotonic() + 60 * minutes / len(TARGETS)
            tried = 0
            for line in slower(name, Path(folder)):
                tried += 1
                if line:
                    say(f"  {name}: {line}")
                if time.monotonic() > until:
                    break
            say(f"  {name:18} {tried:>10,} texts")
    return 0


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    return max(suite(minutes * 0.4), guided(minutes * 0.5), growing(minutes * 0.1))


if __name__ == "__main__":
    raise SystemExit(main())
