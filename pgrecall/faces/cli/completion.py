"""Shell completion for bash, zsh and fish: click's script, stored where the shell reads it."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from pgrecall.errors import InvalidInput
from pgrecall.faces.printable import printable
from pgrecall.settings import login_shell

NAME = "pgrecall"


def install(command: click.Command) -> tuple[str, Path]:
    """Stores the script where the current shell finds it; returns the shell and the file. Harmless twice.

    Raises:
        InvalidInput: the shell has no completion, or its files cannot be written.
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
            hint="--show-completion prints its contents.",
        ) from error
    return shell, file


def _completion(command: click.Command, shell: str) -> ShellComplete:
    made = get_completion_class(shell)
    if made is None:
        raise InvalidInput(
            f"There is no completion for the shell {shell or '(SHELL is not set)'}.",
            hint="Set SHELL to bash, zsh or fish.",
        )
    return made(command, {}, NAME, f"_{NAME.upper()}_COMPLETE")


def _add_line(file: Path, line: str) -> None:
    lines = file.read_text().splitlines() if file.exists() else []
    if line not in lines:
        file.write_text("\n".join([*lines, line, ""]))


def _install(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        shell, file = install(context.command)
        click.echo(f"Completion for {shell} is in {printable(str(file))}; it works in the next terminal.")
        context.exit()


def _show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(_completion(context.command, login_shell()).source(), nl=False)
        context.exit()


install_option = click.option(
    "--install-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_install,
    help="Install completion for the current shell.",
)
show_option = click.option(
    "--show-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show,
    help="Print the completion script of the current shell.",
)
