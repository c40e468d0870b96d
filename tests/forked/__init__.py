"""The command `pgrecall` as processes that import nothing, for their imports take most of their time.

``server`` is a process that has imported everything, and forks for each command. ``stand_in`` is what a test
starts in place of the command. It asks the server for a fork with its own arguments, environment, folder and
standard streams, passes on the signals that it gets, and ends as the fork does. If it is killed, so is the
fork.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
import tempfile
from pathlib import Path

STAND_IN = Path(__file__).with_name("stand_in.py")


@functools.cache
def stand_in() -> tuple[str, ...]:
    """The beginning of a command line, which the arguments of `pgrecall` follow.

    The first use in a process starts its server, which ends with the process.
    """
    folder = tempfile.TemporaryDirectory(prefix="pgr-fork-")
    socket_path = Path(folder.name) / "socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.forked.server", socket_path],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def end() -> None:
        server.communicate()  # its input ends, and so does it
        folder.cleanup()

    atexit.register(end)
    assert server.stdout.readline() == b"ready\n"
    return (sys.executable, "-I", "-S", str(STAND_IN), str(socket_path))
