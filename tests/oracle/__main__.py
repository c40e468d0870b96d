"""Days of eight tenants, one seed after the other, until the time is up.

    python -m tests.oracle [--minutes 10] [--seed N] [--steps 400]

Each day has a database of its own on the server that PGRECALL_DATABASE_URL names, else on the embedded
one. The first answer that is not as documented ends it with exit code 1 and the seed that shows it again.
"""

from __future__ import annotations

import argparse
import logging
import random
import time
from collections.abc import Sequence

from benchmarks.harness import fresh_database
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.oracle.day import Day
from tests.oracle.world import opened
from tests.scale import tell


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="no day begins after so many")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the first day; then +1")
    parser.add_argument("--steps", type=int, default=400, help="calls in a day")
    given = parser.parse_args(arguments)
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # connections break on purpose
    end, seed = time.monotonic() + 60 * given.minutes, given.seed
    calls, compared, farthest = 0, 0, 0.0
    while seed == given.seed or time.monotonic() < end:
        tell(f"seed {seed}")
        with fresh_database(Settings(), DIMENSIONS) as url, opened(url) as world:
            day = Day(world, seed)
            day.play(given.steps)
            day.end()
        calls += given.steps
        compared += day.judge.compared
        farthest = max(farthest, day.judge.farthest)
        seed += 1
    tell(
        f"{seed - given.seed} days, {calls} calls, {compared} answers as documented; "
        f"vitality at most {farthest:.2%} from the exact sum"
    )


if __name__ == "__main__":
    main()
