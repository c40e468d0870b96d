"""What `make test` leaves to `make test ALL=1`, which CI runs: each part, and what it guards.

A part is a folder, a file or a test, named by the beginning of its id. Its tests get the mark ``slow``. What
stays guards the same product by a smaller example: one upgrade, one tenant that moves, the page without a
browser, search by words. Run a part by its name when you change what it guards, and everything before a release.
"""

from __future__ import annotations

SLOW = {
    # What breaks: each server of a test is killed, stopped or starved.
    "tests/faults/": "nothing acknowledged is lost when servers, disks, networks, clocks and models fail",
    "tests/acceptance/cli/test_kill.py": "a job killed at any instant goes on as if it had not been",
    "tests/integration/cells/": "tenants move between databases and are found there, also after failures",
    "tests/integration/replicas/": "a standby answers searches only as long as it is recent enough",
    "tests/pooler/": "every face works behind PgBouncer",
}
