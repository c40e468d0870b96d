"""node and npm for the tests of the TypeScript client, where they are on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from filelock import FileLock

from tests.acceptance.deploy.compose_tools import ROOT
from tests.waiting import PATIENCE

CLIENT = ROOT / "clients" / "typescript"
_OLDEST = 18
_INSTALLING = 120
"""Seconds; npm waits for a registry that it cannot reach for minutes."""


def node(*arguments: str, folder: Path = CLIENT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs node, which must succeed; the environment is this one's without what is for pgrecall."""
    done = subprocess.run(
        [_program("node"), *arguments],
        cwd=folder,
        env=_outside() | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done


def npm(
    *arguments: str, folder: Path = CLIENT, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Runs npm, which may fail."""
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline")
    return subprocess.run(
        [_program("npm"), *arguments, *quiet],
        cwd=folder,
        env=_outside(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def install() -> None:
    """Installs what the lock file of the client names, unless it is there; skips the test if it cannot."""
    major = int(node("--version").stdout.strip().lstrip("v").split(".")[0])
    if major < _OLDEST:
        pytest.skip(f"NOT TESTED in TypeScript: node {major} is too old; {_OLDEST} is the oldest")
    lock, stamp = CLIENT / "package-lock.json", CLIENT / "node_modules" / ".installed"
    (CLIENT / "node_modules").mkdir(exist_ok=True)
    with FileLock(str(CLIENT / "node_modules.lock")):
        if stamp.exists() and stamp.read_text() == lock.read_text():
            return
        try:
            done = npm("ci", timeout=_INSTALLING)
        except subprocess.TimeoutExpired:
            pytest.skip("NOT TESTED in TypeScript: npm reaches no registry from here")
        if done.returncode != 0:
            pytest.skip(f"NOT TESTED in TypeScript: npm ci fails here: {done.stderr.strip()[-300:]}")
        stamp.write_text(lock.read_text())


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"NOT TESTED in TypeScript: {name} is not on this machine")
    return found


def _outside() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PGRECALL_")}
