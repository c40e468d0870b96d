"""Running the command `pgrecall`: its command line, its environment, and what it leaves behind."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pgrecall.faces.cli.main import main
from tests.forked import stand_in
from tests.waiting import PATIENCE

DIMENSIONS = 64
# Whoever started the tests may have SIGINT ignored, which children inherit; a terminal never does.
RUN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from pgrecall.faces.cli.main import main; main()"
)


@dataclass(frozen=True)
class Ended:
    """What a finished command left behind; of its standard error what is no progress."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ended]
CommandLine = Callable[..., Sequence[str | bytes]]


PROGRESS = re.compile(
    r"^\w+: [\d,]+( of [\d,]+)? \w+(, [\d,.]+ a (second|minute))?(, [\d,]+ (s|min) left)?(; .*)?\n", re.M
)
"""What a command says every five seconds of how far it has come, where nobody looks at a terminal."""


def without_progress(said: str) -> str:
    """Standard error as it is where the machine is not busy."""
    return PROGRESS.sub("", said)


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGRECALL_")}
    kept |= {"PGRECALL_EMBEDDER": "hash", "PGRECALL_EMBEDDER_DIMENSIONS": str(DIMENSIONS), "COLUMNS": "120"}
    kept["PGRECALL_ALLOW_SUPERUSER"] = "1"  # what is refused without it has tests of its own
    kept["PGRECALL_CONNECT_TIMEOUT"] = str(PATIENCE)  # on a busy machine a connection may take its time
    return kept | {f"PGRECALL_{name.upper()}": value for name, value in settings.items()}


def run_here(
    *arguments: str | bytes, folder: Path, variables: Mapping[str, str], stdin: bytes = b""
) -> Ended:
    """Runs the command by its entry point in this process, which has imported everything already."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["pgrecall", *map(os.fsdecode, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return Ended(code, out.getvalue().decode(), without_progress(err.getvalue().decode()))


def command_line(*arguments: str | bytes) -> Sequence[str | bytes]:
    """What starts the command as a process. It is forked from one that has imported everything."""
    return [*stand_in(), *arguments]


def whole_command_line(*arguments: str | bytes) -> Sequence[str | bytes]:
    """The same with an interpreter of its own, for what that does: imports, and encodings."""
    return [sys.executable, "-c", RUN, *arguments]


@contextmanager
def started(*arguments: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process that goes on; it is killed in the end."""
    with subprocess.Popen(
        command_line(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**settings),
    ) as process:
        yield process
        process.kill()


def put_program(path: Path) -> None:
    """Makes a program at this path that is the command, as the entry point that an installation makes."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join(stand_in())} "$@"\n')
    path.chmod(0o755)
