"""A process that has imported what the commands of `pgrecall` do, and forks one for whoever asks.

python -m tests.forked.server PATH: listens at this path, prints a line once it does, and ends with its
standard input.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

ALL_OF = (
    "pgrecall.client",
    "pgrecall.faces",
    "pgrecall.importers",
    "pgrecall.jobs",
    "pgrecall.nouns",
    "pgrecall.tools",
)
LATER = ("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "prometheus_client")
"""What others import only once they need it."""


def main() -> None:
    """Forks, and forks again, until the standard input ends."""
    for package in map(importlib.import_module, ALL_OF):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    for name in LATER:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the first collection of each fork would copy every page
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(100)
        print("ready", flush=True)  # noqa: T201
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                keep(asking)
            asking.close()
            with suppress(ChildProcessError):  # there is none left; their times count for this process
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def keep(asking: socket.socket) -> None:
    """Forks the command that is asked for, passes signals on, and says how it ended. Does not return."""
    head, descriptors, _, _ = asking.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    streams = array.array("i", descriptors[0][2]) if descriptors else ()
    length, asked = int.from_bytes(head, "big"), b""
    while len(asked) < length and (part := asking.recv(length - len(asked))):
        asked += part
    if len(asked) < length or len(streams) != 3:
        os._exit(0)  # whoever asked was killed
    ended, alive = os.pipe()
    command = os.fork()
    if command == 0:
        asking.close()
        os.close(ended)
        become(*marshal.loads(asked), streams)
    os.close(alive)
    for number in streams:
        os.close(number)
    while True:
        ready, _, _ = select.select([asking, ended], [], [])
        if ended in ready:
            break
        said = asking.recv(1)
        os.kill(command, said[0] if said else signal.SIGKILL)
        if not said:
            break
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    try:
        asking.sendall(code.to_bytes(4, "big", signed=True))
    except BrokenPipeError:  # whoever asked has gone
        code = 0
    os._exit(0)


def become(
    arguments: Sequence[str], environment: dict[bytes, bytes], folder: bytes, streams: Sequence[int]
) -> None:
    """Is the command `pgrecall` from now on, and ends as it does."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["-c", *arguments]
    os.environb.clear()
    os.environb.update(environment)
    time.tzset()
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from pgrecall.faces.cli.main import main as command

    code: Any = 0
    try:
        command()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - what Python itself does at the end
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as Python does before its end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
