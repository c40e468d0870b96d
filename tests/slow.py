"""What `make test` leaves to `make test ALL=1`, which CI runs: each part, and what it guards.

A part is a folder, a file or a test, named by the beginning of its id; its tests get the mark ``slow``. What
`make test` runs guards the same product by smaller examples: one upgrade, the page without a browser, search
by words. When you change what a part guards, run it by its name; before a release, run everything.
"""

from __future__ import annotations

SLOW = {
    # Failures: servers, disks and processes are stopped, killed or starved.
    "tests/faults/": "nothing acknowledged is lost when servers, disks, networks, clocks or models fail",
    "tests/acceptance/cli/test_kill.py": "a job that is killed at any instant is completed by its next run",
    "tests/acceptance/cli/test_worker.py": "the worker as a process: its schedule, its signals, its outages",
    "tests/concurrency/": "writers at once neither lose anything nor wait for each other",
    "tests/integration/embedded/": "the embedded server starts, is shared, and survives its users",
    # Several databases and servers.
    "tests/integration/cells/": "tenants move between cells and are found there, whatever fails meanwhile",
    "tests/integration/replicas/": "a standby answers searches only while it is recent enough",
    "tests/integration/router/": "cells on Citus answer as one database does",
    "tests/integration/backups/": "a backup brings back every tenant as it was",
    "tests/acceptance/cli/test_backup_cli.py": "the same by commands",
    "tests/pooler/": "every interface works behind PgBouncer",
    # Attacks that need many calls. Those on each function, route and tool stay.
    "tests/attack/test_counter_sweep.py": "no counter of Postgres tells one tenant of another",
    "tests/attack/test_fair_share.py": "a tenant that takes much leaves the others their share",
    "tests/attack/test_unfinished_bodies.py": "clients that never finish keep nobody out",
    "tests/acceptance/cli/test_attack.py": "`make attack` finds the walls between tenants whole",
    "tests/fuzz/": "any input, however strange, has an answer or a refusal",
    "tests/oracle/": "random days of eight tenants are answered as the documentation says",
    "tests/acceptance/test_limits.py": "what is at a limit is read by every interface",
    "tests/acceptance/test_limits_mixed.py": "the same for random mixtures",
    # Installation and upgrades. One from the last revision stays.
    "tests/migration/test_every_revision.py::test_what_each": "each revision's data comes through every later one",
    "tests/migration/test_every_revision.py::test_a_database_that_began_with_a_revision_comes_up_to_this_version[0":
        "databases of old revisions answer as new ones do",
    "tests/acceptance/test_wheel.py": "the wheel works by itself, with its own dependencies alone",
    "tests/acceptance/deploy/test_compose.py": "an empty volume becomes a service that answers",
    "tests/acceptance/typescript/": "the TypeScript client against the real service",
    # The page in Chromium: layout, focus, keyboard, dragging. Its answers and forms are tested without a browser.
    # Models: what they load, and the quality of search with them. Quality by words alone stays.
    # Plans of large tenants, and what benchmarks measure.
}
