"""The commands connect and capture: pgrecall in editors, and the hooks that capture their sessions."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.cli.invocation import FAILED, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.rendering.console import notes, output
from pgrecall.faces.editors.capture import import_later
from pgrecall.faces.editors.connecting import added, hook_parts, removed, require_inside, server_part
from pgrecall.faces.editors.editors import EDITORS, SERVER, EditorName, server_entry
from pgrecall.faces.editors.hooks import (
    HOOKS,
    MAX_EVENT,
    HookCommands,
    HookedEditor,
    is_of_another,
    read_event,
)
from pgrecall.faces.editors.settings_files import SettingsFile, toml_entry
from pgrecall.importers.projects import Scope
from pgrecall.settings import environment_variables

_LOG = "capture.log"

_HOOK_SECONDS = 3.0
"""For a connection, and for each of the few calls of a hook: an editor waits for no database."""


@click.command("connect")
@click.argument(
    "editor", type=click.Choice(get_args(EditorName)), metavar="EDITOR", help="Editor to connect."
)
@click.option("--project", is_flag=True, help="Change the settings of this project instead of yours.")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME",
    help="Write this environment variable into the entry.",
)
@click.option(
    "--tools", type=click.Choice(("core", "all")), default="core",
    help="Tools of the editor: search, context, remember, used and forget, or all.",
)  # fmt: skip
@click.option("--capture", is_flag=True, help="Also import sessions and offer memories.")
@click.option("--recall", is_flag=True, help="Also add memories that answer a prompt to it.")
@click.option(
    "--scope", type=click.Choice(get_args(Scope)), default="prefer",
    help="Prefer the memories of the project that the editor works in, search only them, or treat all "
    "projects alike.",
)  # fmt: skip
@click.option("--undo", is_flag=True, help="Remove the entry that connect wrote.")
@click.option("--print", "only_print", is_flag=True, help="Print the entry; change nothing.")
@click.option("--yes", is_flag=True, help="Change files without asking.")
@pass_globals
def connect(
    given: GlobalOptions,
    editor: EditorName,
    project: bool,
    variables: tuple[str, ...],
    tools: Literal["core", "all"],
    capture: bool,
    recall: bool,
    scope: Scope,
    undo: bool,
    only_print: bool,
    yes: bool,
) -> None:
    """Connect an editor to this memory: claude, claude-desktop, codex, cursor, vscode or gemini.

    Adds the MCP server `pgrecall` to the editor's settings. The change is shown first, and a copy of the file
    is kept. --capture imports a session when it ends or is summarised, and tells a new one what changed in
    its project and where the last one stopped. --recall adds the memories that answer a prompt to it, each
    once in a session. Both need hooks, which claude-desktop does not run.
    """
    if only_print and undo:
        raise InvalidInput("--print and --undo cannot be combined.", hint="Leave out one of them.")
    _require_hooks(editor, capture, recall)
    chosen, folder = EDITORS[editor], _current_folder() if project else None
    known = (server_part(editor, Path.home(), folder), *hook_parts(editor, Path.home(), folder))
    if folder is not None and not only_print:
        require_inside(known, folder)
    if undo:
        changes = removed(known)
    else:
        entry = server_entry(chosen, *_server(given, variables), tools, scope)
        if only_print:
            click.echo(_entry_text(SettingsFile.read(known[0].file), chosen.table, entry))
            return
        parts = [server_part(editor, Path.home(), folder, entry)]
        if capture or recall:
            options = _options(given, for_hooks=True)
            commands = HookCommands(
                (_program(), *options) if capture else None,
                (_program("pgrecall-recall"), *options) if recall else None,
                scope,
            )
            parts += hook_parts(editor, Path.home(), folder, commands)
        changes = added(parts, known)
    changes = [change for change in changes if change.is_original or change.text != (change.before or "")]
    if not changes:
        output().print(f"{chosen.title} is {'not connected' if undo else 'already connected'}.")
        return
    _write(changes, Path.home() if folder is None else folder, ask=not yes)
    output().print(chosen.restart)
    if (capture or recall) and editor != "claude-desktop" and HOOKS[editor].note:
        output().print(HOOKS[editor].note)


def _require_hooks(editor: EditorName, capture: bool, recall: bool) -> None:
    if (capture or recall) and editor == "claude-desktop":
        raise InvalidInput(
            f"--{'capture' if capture else 'recall'} cannot be used with claude-desktop, which has no hooks.",
            hint="Export its chats and import them: `pgrecall import`.",
        )
    if recall and sys.platform == "win32":
        raise InvalidInput("--recall needs Unix sockets, which Python does not have on Windows.")


def _write(changes: Sequence[SettingsFile], top: Path, *, ask: bool) -> None:
    for change in changes:
        change.require_writable()
    _show(changes)
    if ask and not (sys.stderr.isatty() and click.confirm("Write this?", err=True)):
        raise InvalidInput("Nothing was changed.", hint="Confirm, or give --yes.")
    for change in changes:
        output().print(change.write(top))


@click.group("capture", cls=CommandGroup, hidden=True)
def capture() -> None:
    """Capture sessions of an editor. The hooks of `pgrecall connect claude --capture` run this."""


_editor_option = click.option(
    "--editor",
    type=click.Choice(get_args(HookedEditor)),
    default="claude",
    help="Editor that runs this.",
)


_scope_option = click.option(
    "--scope", type=click.Choice(get_args(Scope)), default="prefer", help="Projects whose memories count."
)


@capture.command("start")
@_editor_option
@_scope_option
@pass_globals
def start(given: GlobalOptions, editor: HookedEditor, scope: Scope) -> None:
    """Print what a session should know when it begins or was summarised, for the hook at its start."""
    from pgrecall.faces.editors.session_start import start_answer

    with _failing_softly():
        event = read_event(sys.stdin.read(MAX_EVENT))
        if is_of_another(editor, event):
            return
        with given.opened(within=_HOOK_SECONDS) as memory:
            answer = start_answer(editor, event, memory, scope)
        click.echo(answer)


@capture.command("end")
@_editor_option
@pass_globals
def end(given: GlobalOptions, editor: HookedEditor) -> None:
    """Import a session so far, in another process; capture.log in the data directory has its output."""
    with _failing_softly():
        event = read_event(sys.stdin.read(MAX_EVENT))
        if is_of_another(editor, event):
            return
        log = given.settings().data_dir / _LOG
        import_later(editor, event, (_program(), *_options(given, for_hooks=False)), log)


@capture.command("recall")
@_editor_option
@_scope_option
@click.option("--socket", "path", type=click.Path(path_type=Path), required=True, help="Socket to listen at.")
@pass_globals
def recall(given: GlobalOptions, editor: HookedEditor, scope: Scope, path: Path) -> None:
    """Answer the hooks of prompts at a socket; end after half an hour without one."""
    from pgrecall.faces.editors.recall_process import serve_hooks

    serve_hooks(partial(given.opened, embeds=True, within=_HOOK_SECONDS), editor, path, scope=scope)


@contextmanager
def _failing_softly() -> Iterator[None]:
    """Ends with code 1 after an error: Codex and VS Code take 2 for an order to go on with the session."""
    try:
        yield
    except (RecallError, OSError) as error:
        notes().print(f"Error: {error}")
        raise Exit(FAILED) from None


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InvalidInput(
            "The current folder no longer exists.", hint="Change to the folder of the project."
        ) from None


def _server(given: GlobalOptions, variables: tuple[str, ...]) -> tuple[str, tuple[str, ...], dict[str, str]]:
    here = environment_variables()
    for name in variables:
        if name not in here:
            raise InvalidInput(
                f"The environment variable {name} is not set.", hint="Set it, or leave out --env."
            )
    environment = {name: here[name] for name in variables}
    if given.database_url is not None:
        environment["PGRECALL_DATABASE_URL"] = given.database_url
    left_out = sorted(name for name in here if name.startswith("PGRECALL_") and name not in environment)
    if left_out:
        notes().print(
            f"Not written: {', '.join(left_out)}. The editor may not have them; --env NAME writes one."
        )
    return _program(), _options(given, for_hooks=False, with_url=False), environment


def _options(given: GlobalOptions, *, for_hooks: bool, with_url: bool = True) -> tuple[str, ...]:
    """The global options again, with an absolute data directory. Hooks get no URL: it may hold a password."""
    options: list[str] = []
    if given.database_url is not None and with_url:
        if for_hooks:
            raise InvalidInput(
                "Hooks do not get --database-url, because it may hold a password.",
                hint="Set PGRECALL_DATABASE_URL where the editor starts.",
            )
        options += ["--database-url", given.database_url]
    if given.tenant is not None:
        options += ["--tenant", given.tenant]
    if given.data_dir is not None:
        options += ["--data-dir", str(given.settings().data_dir.resolve())]
    return tuple(options)


def _program(name: str = "pgrecall") -> str:
    """The absolute path of a program of ours, because editors have another PATH than shells."""
    program = Path(sys.executable).with_name(f"{name}.exe" if sys.platform == "win32" else name)
    if not program.is_file():
        raise InvalidInput(
            f"The program {program} does not exist.", hint="Install pgrecall in this environment."
        )
    return str(program)


def _entry_text(file: SettingsFile, table: str, entry: dict[str, object]) -> str:
    if file.is_toml:
        return toml_entry(table, SERVER, entry).rstrip()
    return SettingsFile(file.path, "", None).with_entry(table, SERVER, entry).text.rstrip()


def _show(changes: Sequence[SettingsFile]) -> None:
    for change in changes:
        lines = difflib.unified_diff(
            (change.before or "").splitlines(),
            change.text.splitlines(),
            str(change.path),
            str(change.path),
            lineterm="",
        )
        notes().print("\n".join(lines))
