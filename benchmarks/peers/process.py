"""A store in its own process, controlled by lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


class BrokenOff(Exception):
    """The worker has ended."""


@dataclass(frozen=True, slots=True)
class Store:
    """The name of a store and its Python executable."""

    name: str
    python: Path

    @contextmanager
    def started(self) -> Iterator[Worker]:
        """A running worker for the store, stopped afterwards."""
        command = [str(self.python), "-m", "benchmarks.peers.worker", self.name]
        environment = os.environ | {
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONWARNINGS": "ignore",
        }
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=environment,
            ) as process,
        ):  # fmt: skip
            try:
                yield Worker(process, errors)
            finally:
                process.kill()


@dataclass(frozen=True, slots=True)
class Worker:
    """A process of ``benchmarks.peers.worker`` and its standard error."""

    process: subprocess.Popen[str]
    errors: IO[str]

    def ask(self, what: str, **values: Any) -> dict[str, Any]:
        """The worker's answer.

        Raises:
            BrokenOff: the worker has ended; the message is its last line of output.
        """
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps({"do": what, **values}), file=process.stdin, flush=True)
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        process.wait()
        self.errors.seek(0)
        said = [line for line in self.errors if line[:1].strip() and not line.startswith(("DETAIL", "HINT"))]
        raise BrokenOff(said[-1].strip() if said else f"ended with {process.returncode}")
