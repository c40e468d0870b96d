"""The end of a process that serves."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """Ends the process at once, though threads are at work.

    Python would wait for them, and nobody can cancel a model that is loading or a call of an embedder.
    Connections and the embedded server must be closed before.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # whoever reads it may have gone
            stream.flush()
    os._exit(code)
