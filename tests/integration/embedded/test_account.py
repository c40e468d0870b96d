"""The system account of root's server, made once however many processes need it first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

FIRST = """
import multiprocessing, pathlib, sys
from pgrecall.embedded import paths
paths._ACCOUNT_LOCK = pathlib.Path(sys.argv[1])
start = multiprocessing.Barrier(8)

def account(_):
    start.wait()
    return paths._account_for(pathlib.Path("/nothing/here"))

with multiprocessing.get_context("fork").Pool(8) as pool:
    given = pool.map(account, range(8), chunksize=1)
assert set(given) == {paths._account_named("pgrecall")}, given
print(*sorted({one.name for one in given}))
"""
FILES = ("passwd", "group", "shadow", "gshadow", "login.defs", "subuid", "subgid", "nsswitch.conf")


def _cannot_unshare() -> bool:
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "useradd", "mount"))):
        return True
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(_cannot_unshare(), reason="needs root with its own mounts, and useradd")
def test_processes_that_start_at_once_run_the_server_as_one_account(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    for name in FILES:
        if (there := Path("/etc") / name).exists():
            lines = there.read_text(encoding="utf-8").splitlines(keepends=True)
            (etc / name).write_text(
                "".join(line for line in lines if not line.startswith("pgrecall:")), encoding="utf-8"
            )
    script = tmp_path / "first.py"
    script.write_text(FIRST, encoding="utf-8")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc && exec "$2" "$3" "$4"',
         "sh", etc, sys.executable, script, tmp_path / "account.lock"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "pgrecall\n"), done.stderr
