"""Folders of the tests' own servers: what a killed run has left goes, and what is in use stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.given_server import embedded_only
from tests.server_folders import FORGOTTEN, remove_forgotten, server_folder
from tests.waiting import gone

pytestmark = embedded_only("starts servers")

KILLED = (
    "import os, pathlib, sys; from pgrecall.embedded.shared_server import EmbeddedServer; "
    "EmbeddedServer.start(pathlib.Path(sys.argv[1]), fast=True); os.kill(os.getpid(), 9)"
)


def postmaster_of(folder: Path) -> int:
    return int((folder / "data" / "postgres" / "postmaster.pid").read_text().split()[0])


def make_old(folder: Path) -> None:
    then = time.time() - FORGOTTEN - 60
    os.utime(folder, (then, then))


def test_a_forgotten_server_ends_and_one_in_use_goes_on() -> None:
    with (
        server_folder() as used,
        server_folder() as forgotten,
        server_folder() as new,
        EmbeddedServer.start(used / "data", fast=True) as server,
    ):
        subprocess.run([sys.executable, "-c", KILLED, str(forgotten / "data")], check=False)
        left = postmaster_of(forgotten)
        assert not gone(left)
        make_old(used)
        make_old(forgotten)
        remove_forgotten()
        assert gone(left)
        assert not forgotten.exists()
        assert server.running
        assert new.exists()
