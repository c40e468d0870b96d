"""Shell completion: each shell gets its script, and what it completes is what the command line has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pgrecall import __version__
from tests.acceptance.cli.command_tools import Command, environment, put_program
from tests.waiting import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `pgrecall` in it, as the entry point an installation makes."""
    put_program(tmp_path / "pgrecall")
    return tmp_path


def ask(folder: Path, *command: str, **variables: str) -> str:
    paths = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        env=environment() | {"PATH": paths, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "begins"), [("bash", "complete "), ("zsh", "#compdef pgrecall"), ("fish", "complete ")]
)
def test_each_shell_gets_its_script(folder: Path, shell: str, begins: str) -> None:
    script = ask(folder, "pgrecall", _PGRECALL_COMPLETE=f"{shell}_source")
    assert begins in script
    assert f"_PGRECALL_COMPLETE={shell}_complete" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_bash_completes_commands_and_their_options(folder: Path) -> None:
    asked = (
        'eval "$(_PGRECALL_COMPLETE=bash_source pgrecall)"\n'
        "ask() { COMPREPLY=(); COMP_WORDS=($@); COMP_CWORD=$(($# - 1));\n"
        "  _pgrecall_completion pgrecall; echo ${COMPREPLY[@]}; }\n"
        "ask pgrecall pru; ask pgrecall charts v; ask pgrecall doctor --st\n"
    )
    assert ask(folder, "bash", "-c", asked).splitlines() == ["prune", "vitality", "--strict"]


def test_zsh_and_fish_complete_the_same(folder: Path) -> None:
    for shell, place in (("zsh", "1"), ("fish", "pru")):
        asked = {"_PGRECALL_COMPLETE": f"{shell}_complete", "COMP_WORDS": "pgrecall pru", "COMP_CWORD": place}
        assert "prune" in ask(folder, "pgrecall", **asked)


@pytest.mark.parametrize(
    ("shell", "script", "start"),
    [
        ("bash", ".bash_completions/pgrecall.bash", ".bashrc"),
        ("zsh", ".zsh_completions/pgrecall.zsh", ".zshrc"),
        ("fish", ".config/fish/completions/pgrecall.fish", None),
    ],
)
def test_it_is_installed_where_the_shell_looks(
    folder: Path, tmp_path: Path, shell: str, script: str, start: str | None
) -> None:
    home = {"HOME": str(tmp_path), "SHELL": f"/bin/{shell}"}
    for _ in range(2):
        assert script in ask(folder, "pgrecall", "--install-completion", **home)
    assert (tmp_path / script).read_text() == ask(folder, "pgrecall", "--show-completion", **home)
    if start is not None:
        assert (tmp_path / start).read_text() == f"source '{tmp_path / script}'\n"


def test_another_shell_gets_a_list_of_shells(bare_pgrecall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/csh")
    refused = bare_pgrecall("--install-completion")
    assert (refused.code, "bash, zsh or fish" in refused.err) == (2, True)


def test_the_command_line_offers_completion_and_its_version(bare_pgrecall: Command) -> None:
    helped = bare_pgrecall("--help").out
    assert "--install-completion" in helped
    assert "--show-completion" in helped
    assert bare_pgrecall("--version").out == f"pgrecall {__version__}\n"
