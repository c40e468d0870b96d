"""Completion in bash, zsh and fish: what click makes of the command line, put where a shell looks."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from pgrecall.errors import InvalidInput
from pgrecall.settings import login_shell

NAME = "pgrecall"


def script(command: click.Command) -> str:
    """What the shell of this terminal reads to complete this command."""
    return _completion(command, login_shell()).source()


def install(command: click.Command) -> tuple[str, Path]:
    """Puts the script where this shell finds it; returns the shell and the file. Harmless twice.

    Raises:
        InvalidInput: there is none for this shell, or its files cannot be written.
    """
    shell, home = login_shell(), Path.home()
    text = _completion(command, shell).source()
    fish = shell == "fish"
    folder = home / (".config/fish/completions" if fish else f".{shell}_completions")
    file = folder / f"{NAME}.{shell}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if not fish:
            _add_line(home / f".{shell}rc", f"source '{file}'")
    except OSError as error:
        raise InvalidInput(
            f"{error.filename or file} cannot be written: {error.strerror}.",
            hint="--show-completion prints what would stand there.",
        ) from error
    return shell, file


def _completion(command: click.Command, shell: str) -> ShellComplete:
    made = get_completion_class(shell)
    if made is None:
        raise InvalidInput(
            f"There is no completion for the shell {shell or '(SHELL is not set)'}.",
            hint="There is one for bash, zsh and fish; SHELL says which is used.",
        )
    return made(command, {}, NAME, f"_{NAME.upper()}_COMPLETE")


def _add_line(file: Path, line: str) -> None:
    lines = file.read_text().splitlines() if file.exists() else []
    if line not in lines:
        file.write_text("\n".join([*lines, line, ""]))
