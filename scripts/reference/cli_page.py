"""docs/reference/cli.md: every command with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import click

from pgrecall.faces.cli.command_line import declared
from pgrecall.faces.cli.main import app
from scripts.reference.markdown import anchor, code, one_line, page, table

ABOUT = """
`pgrecall COMMAND --help` says the same. What was asked for goes to standard output, everything else to
standard error. Exit codes: 0 found or done, 1 nothing found, 2 bad input, 3 no usable database, 130 stopped
by Ctrl-C.

Wherever a memory is asked for, digits are its id and anything else its key; `key:42` is the key 42.
"""
GROUPS = {
    "Set up": "init upgrade doctor status verify postgres",
    "Remember": "import export access link supersede pin forget",
    "Search": "search context show feedback",
    "Layers and settings": "layers setting language calibrate model",
    "Prune": "prune",
    "Charts": "charts",
    "Jobs": "worker job",
    "Serve": "serve key mcp tools role",
}
_TYPES = {str: "text", int: "number", float: "number", Path: "path", datetime: "time"}
_HELP = {"--help", "-h"}


def cli_page() -> str:
    within = click.Context(app)
    missing = set(app.list_commands(within)) - {name for names in GROUPS.values() for name in names.split()}
    if missing:
        raise SystemExit(
            f"Say in scripts/reference/cli_page.py where these commands belong: {sorted(missing)}"
        )
    sections = [("Global options", "Before the command.\n\n" + _parameters(app))]
    for group, names in GROUPS.items():
        leaves = [leaf for name in names.split() for leaf in _leaves(name, app.get_command(within, name))]
        brief = table(
            ("command", "what it does"),
            ((f"[`{name}`](#{anchor(f'pgrecall {name}')})", _first(command)) for name, command in leaves),
        )
        sections.append((group, "\n\n".join([brief, *(_command(name, command) for name, command in leaves)])))
    return page("The command pgrecall", ABOUT, sections)


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    if command.invoke_without_command:
        yield name, command
    for within, leaf in command.commands.items():
        yield from _leaves(f"{name} {within}", leaf)


def _command(name: str, command: Any) -> str:
    usage = " ".join(["pgrecall", name, *map(_named, filter(_is_argument, command.params)), "[OPTIONS]"])
    parts = [f"### pgrecall {name}", f"```text\n{usage}\n```", _help(command), _parameters(command)]
    return "\n\n".join(filter(None, parts))


def _is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _named(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().rstrip("_")
    many = "..." if argument.nargs == -1 else ""
    return f"{name}{many}" if argument.required else f"[{name}{many}]"


def _parameters(command: Any) -> str:
    function = inspect.unwrap(command.callback) if command.callback else None
    hints = {name: annotation for name, annotation, _ in declared(function)} if function else {}
    rows = []
    for each in command.params:
        names = [_named(each)] if _is_argument(each) else [*each.opts, *each.secondary_opts]
        if not _HELP & set(names) and not getattr(each, "hidden", False):
            rows.append(
                (", ".join(map(code, names)), _value(each, hints.get(each.name)), one_line(each.help))
            )
    return table(("option", "value", "meaning"), rows)


def _value(parameter: Any, hint: Any) -> str:
    """What may follow, with its bounds and its default; nothing for a flag."""
    annotation, *info = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    kinds = [kind for kind in _flat(annotation) if kind is not type(None)]
    if bool in kinds or annotation is None:
        return ""
    told = ", ".join(dict.fromkeys(_TYPES.get(kind, str(kind)) for kind in kinds))
    low, high = (getattr(info[0], bound, None) if info else None for bound in ("low", "high"))
    if low is not None or high is not None:
        bounds = [f"at least {low:g}"] if low is not None else []
        told += f" ({', '.join([*bounds, *([f'at most {high:g}'] if high is not None else [])])})"
    default = parameter.default
    shown = default not in (None, "", [], ()) and isinstance(default, str | int | float)
    return told + (", may be repeated" if _many(annotation) else "") + (f"; {code(default)}" if shown else "")


def _flat(annotation: Any) -> list[Any]:
    inner = get_args(annotation)
    return [kind for each in inner for kind in _flat(each)] if inner else [annotation]


def _many(annotation: Any) -> bool:
    return any(get_origin(each) is list for each in (annotation, *get_args(annotation)))


def _help(command: Any) -> str:
    text = inspect.cleandoc(command.help or "").replace("\b", "")
    return text.strip()


def _first(command: Any) -> str:
    return one_line(_help(command).split("\n\n")[0]).split(". ")[0].rstrip(".")
