"""The hook of a prompt: asks a process that has the memory open, and starts one if there is none.

An editor waits for this program at every prompt, so it imports little. The process keeps the model and the
connection ready, and ends when nobody has asked it for half an hour (`recall_process`). If it is not ready in
time, the prompt goes without memories.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pgrecall.settings import environment_variables

_SECONDS = 0.9
"""For everything, when the process has to start too."""

MAX_BYTES = 1_000_000
"""Of an event."""

_PATH_BYTES = 103  # of a socket on macOS; Linux has four more


def main() -> None:
    """Prints what to add to the prompt of the event on standard input, if anything; ends with a code."""
    event = sys.stdin.buffer.read(MAX_BYTES + 1)
    # A prompt with so much pasted text goes without memories: its event would be cut.
    sys.exit(answer(sys.argv[1:], event) if len(event) <= MAX_BYTES else 0)


def answer(options: Sequence[str], event: bytes) -> int:
    """Asks the process of these options, and prints its answer; returns the exit code."""
    if sys.platform == "win32":
        return _failed("Recall needs Unix sockets, which Python does not have on Windows.")
    try:
        path = _socket_path(options)
    except OSError as error:
        return _failed(f"{error.filename or 'The folder for sockets'} cannot be used: {error.strerror}.")
    deadline = time.monotonic() + _SECONDS
    started = False
    while (left := deadline - time.monotonic()) > 0:
        reply = _ask(path, event, left)
        if reply is not None:
            return _show(reply)
        if not started:
            _start(options, path)
            started = True
        time.sleep(0.02)
    return 0


def _socket_path(options: Sequence[str]) -> Path:
    """One path for each set of options and settings, and for each installation of this program.

    Raises:
        OSError: the folder is not of this user alone, or its path is too long.
    """
    variables = environment_variables()
    runtime = variables.get("XDG_RUNTIME_DIR")
    folder = Path(runtime or tempfile.gettempdir(), "pgrecall" if runtime else f"pgrecall-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(errno.EPERM, "others can use it", str(folder))
    settings = sorted((name, value) for name, value in variables.items() if name.startswith("PGRECALL_"))
    installed = Path(__file__).stat().st_mtime_ns
    known = json.dumps([list(options), settings, sys.prefix, installed]).encode()
    path = folder / f"recall-{hashlib.sha256(known).hexdigest()[:16]}"
    if len(os.fsencode(path)) > _PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, "its path is too long for a socket", str(folder))
    return path


def _ask(path: Path, event: bytes, seconds: float) -> bytes | None:
    """The reply; None if nobody listens, and an empty one if it takes too long."""
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(seconds)
            asked.connect(str(path))
            asked.sendall(event)
            asked.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: asked.recv(65536), b""))
    except TimeoutError:
        return b""
    except OSError:
        return None


def _start(options: Sequence[str], path: Path) -> None:
    """Starts the process; if another one starts at the same time, one of them ends."""
    given, own = list(options), list[str]()
    for name in ("--editor", "--scope"):
        if name in given:
            place = given.index(name)
            own += given[place : place + 2]
            del given[place : place + 2]
    program = Path(sys.executable).with_name("pgrecall")
    subprocess.Popen(
        [program, *given, "capture", "recall", *own, "--socket", path],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/",
    )  # fmt: skip


def _show(reply: bytes) -> int:
    """Prints the output, or the error; returns the exit code."""
    if not reply:
        return 0
    found = json.loads(reply)
    if "error" in found:
        return _failed(found["error"])
    sys.stdout.write(found["output"])
    return 0


def _failed(problem: str) -> int:
    sys.stderr.write(f"Error: {problem}\n")
    return 1
