"""An upgrade in a process of its own, which can be killed."""

from __future__ import annotations

import subprocess
import sys

from tests.waiting import PATIENCE

PROGRAM = (
    "import sys; from pgrecall.schema import migrate; print('ready', flush=True); sys.stdin.readline(); "
    "print(migrate.upgrade(sys.argv[1], dimensions=64).changed)"
)


class Upgrading:
    """A process that has everything imported and upgrades once it is told to."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def said(self) -> str:
        """What it said, once it has ended."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return out + err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)
