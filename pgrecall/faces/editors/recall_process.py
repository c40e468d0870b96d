"""The process that keeps the memory open for the hooks of prompts, at a Unix socket of its user.

A hook sends an event and ends its side; the answer is one JSON object, with ``output`` or ``error``.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.editors.hooks import HookedEditor, read_event
from pgrecall.faces.editors.prompt_hook import MAX_BYTES
from pgrecall.faces.editors.recall import Recall
from pgrecall.importers.projects import Scope

if TYPE_CHECKING:
    from pgrecall import Memory

IDLE_SECONDS = 1800.0

_HOOK_SECONDS = 2.0
"""What a hook may take to send its event, or to read the answer."""


def serve_hooks(
    open_memory: Callable[[], AbstractContextManager[Memory]],
    editor: HookedEditor,
    path: Path,
    *,
    scope: Scope = "prefer",
    idle_seconds: float = IDLE_SECONDS,
) -> None:
    """Answers hooks at a socket until none has asked for a while; returns at once if another process does.

    If the memory cannot be opened, the hooks that wait are told why, and the next one may start it again.

    Raises:
        InvalidInput: there can be no socket, as where something else is.
    """
    lock = FileLock(f"{path}.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return
    except OSError as error:
        raise _unusable(path, error) from error
    with lock, socket.socket(socket.AF_UNIX) as listening:
        _listen(listening, path)
        listening.settimeout(idle_seconds)
        try:
            with open_memory() as memory:
                memory.keep_warm()
                _answer_all(listening, Recall(memory, editor, scope))
        except RecallError as error:
            listening.settimeout(_HOOK_SECONDS)
            _answer_one(listening, {"error": str(error)})
        finally:
            path.unlink(missing_ok=True)


def _listen(listening: socket.socket, path: Path) -> None:
    """Replaces the socket of a process that was killed, and nothing else."""
    before = os.umask(0o077)
    try:
        if path.is_socket():
            path.unlink()
        listening.bind(str(path))
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        os.umask(before)
    listening.listen()


def _unusable(path: Path, error: OSError) -> InvalidInput:
    why = error.strerror or str(error)
    return InvalidInput(
        f"{path} cannot be a socket: {why}.",
        hint="Name a short path at which there is nothing.",
    )


def _answer_all(listening: socket.socket, recall: Recall) -> None:
    while True:
        try:
            asking, _ = listening.accept()
        except TimeoutError:
            return
        asking.settimeout(_HOOK_SECONDS)
        try:
            recalled = recall.answer(read_event(_received(asking)))
            if _tell(asking, {"output": recalled.output}):
                recall.has_shown(recalled)
        except RecallError as error:
            _tell(asking, {"error": str(error)})
        except OSError:  # the hook went away
            asking.close()


def _answer_one(listening: socket.socket, reply: dict[str, str]) -> None:
    """Tells the first hook that still waits, if one does."""
    with suppress(TimeoutError):
        told = False
        while not told:
            asking, _ = listening.accept()
            asking.settimeout(_HOOK_SECONDS)
            with suppress(OSError, InvalidInput):  # closed with something unread, it would lose the reply
                _received(asking)
            told = _tell(asking, reply)


def _received(asking: socket.socket) -> str:
    """What a hook sends.

    Raises:
        InvalidInput: it is no UTF-8, or too long.
        OSError: the hook went away or stopped sending.
    """
    event = bytearray()
    while part := asking.recv(65536):
        event += part
        if len(event) > MAX_BYTES:
            raise InvalidInput(f"The event has more than {MAX_BYTES:,} bytes.")
    try:
        return event.decode()
    except UnicodeDecodeError:
        raise InvalidInput("The event is not UTF-8.") from None


def _tell(asking: socket.socket, reply: dict[str, str]) -> bool:
    """Whether the hook was still there."""
    with asking, suppress(OSError):
        asking.sendall(json.dumps(reply).encode())
        return True
    return False
