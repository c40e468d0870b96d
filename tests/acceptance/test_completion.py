"""Shell completion: each shell gets its script, and what it completes is what the command line has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pgrecall import __version__
from tests.acceptance.command_tools import RUN, Command, environment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `pgrecall` in it, as the entry point an installation makes."""
    script = tmp_path / "pgrecall"
    script.write_text(f"#!{sys.executable}\n{RUN}\n")
    script.chmod(0o755)
    return tmp_path


def ask(folder: Path, *command: str, **variables: str) -> str:
    paths = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        env=environment() | {"PATH": paths, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "begins"), [("bash", "complete "), ("zsh", "#compdef pgrecall"), ("fish", "complete ")]
)
def test_each_shell_gets_its_script(folder: Path, shell: str, begins: str) -> None:
    script = ask(folder, "pgrecall", _PGRECALL_COMPLETE=f"source_{shell}")
    assert begins in script
    assert f"_PGRECALL_COMPLETE=complete_{shell}" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_bash_completes_commands_and_their_options(folder: Path) -> None:
    asked = (
        'eval "$(_PGRECALL_COMPLETE=source_bash pgrecall)"\n'
        "ask() { COMP_WORDS=($@); COMP_CWORD=$(($# - 1));\n"
        "  _pgrecall_completion pgrecall; echo ${COMPREPLY[@]}; }\n"
        "ask pgrecall pru; ask pgrecall plot v; ask pgrecall doctor --st\n"
    )
    assert ask(folder, "bash", "-c", asked).splitlines() == ["prune", "vitality", "--strict"]


def test_zsh_and_fish_are_told_the_same(folder: Path) -> None:
    for shell, more in (("zsh", {}), ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})):
        asked = {"_PGRECALL_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "pgrecall pru", **more}
        assert "prune" in ask(folder, "pgrecall", **asked)


def test_the_command_line_offers_to_install_it_and_tells_its_version(bare_pgrecall: Command) -> None:
    helped = bare_pgrecall("--help").out
    assert "--install-completion" in helped
    assert "--show-completion" in helped
    assert bare_pgrecall("--version").out == f"pgrecall {__version__}\n"
