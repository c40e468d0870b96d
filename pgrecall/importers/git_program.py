"""Calls of git that only read, without a shell, in a bounded time, and without variables for another git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pgrecall.settings import environment_variables

SECONDS = 2.0
"""For one question about a repository."""

_ONLY_READS = {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
"""A repository that lacks commits may name a program that fetches them: nothing is fetched."""


def git_output(folder: Path, *arguments: str, seconds: float = SECONDS) -> str | None:
    """What git prints about a folder.

    Args:
        folder: a folder, in a repository or not.
        arguments: a command of git that only reads, with its arguments.
        seconds: how long it may take.

    Returns:
        The output; None without git, outside of a repository, or where it takes too long.
    """
    variables = {
        name: value for name, value in environment_variables().items() if not name.startswith("GIT_")
    }
    variables |= _ONLY_READS
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables,
            timeout=seconds, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):  # no git, no such folder, a NUL in its name
        return None
    return None if done.returncode else done.stdout.decode(errors="replace")
