"""docs/reference/cli.md: every command with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click

from pgrecall.faces.cli.main import app
from pgrecall.faces.http.reference.markdown import anchor, code, one_line, page, table
from scripts.reference.generated import HEAD
from scripts.reference.nouns_page import NOUNS

ABOUT = """
`pgrecall COMMAND --help` shows the same. Results go to standard output, everything else to standard error.
Exit codes: 0 found or done, 1 nothing found or failed, 2 bad input, 3 no usable database, 4 done in part,
130 stopped by Ctrl-C.

Wherever a memory is expected, digits are its id and anything else its key; `key:42` is the key 42.
"""
_TYPES = {"integer": "number", "float": "number", "id_or_key": "id or key"}


def cli_page() -> str:
    within = click.Context(app)
    by_noun = {noun: one.commands.split() for noun, one in NOUNS.items() if one.commands}
    if missing := set(app.list_commands(within)).difference(*by_noun.values()):
        raise SystemExit(f"Give these commands a noun in scripts/reference/nouns_page.py: {sorted(missing)}")
    sections = [("Global options", "Before the command.\n\n" + _parameters(app))]
    for noun, names in by_noun.items():
        leaves = [leaf for name in names for leaf in _leaves(name, app.get_command(within, name))]
        brief = table(
            ("command", "what it does"),
            ((f"[`{name}`](#{anchor(f'pgrecall {name}')})", _first(command)) for name, command in leaves),
        )
        sections.append((noun, "\n\n".join([brief, *(_command(name, command) for name, command in leaves)])))
    return HEAD + page("The command pgrecall", ABOUT, sections)


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(command, click.Group):
        yield name, command
    for within, leaf in getattr(command, "commands", {}).items():
        yield from _leaves(f"{name} {within}", leaf)


def _command(name: str, command: Any) -> str:
    arguments = [_named(each) for each in command.params if isinstance(each, click.Argument)]
    usage = " ".join(["pgrecall", name, *arguments, "[OPTIONS]"])
    parts = [f"### pgrecall {name}", f"```text\n{usage}\n```", _help(command), _parameters(command)]
    return "\n\n".join(filter(None, parts))


def _named(argument: click.Argument) -> str:
    name = (argument.metavar or argument.name or "").upper().strip("[]_")
    return name if argument.required else f"[{name}]"


def _parameters(command: click.Command) -> str:
    rows = []
    for each in command.params:
        names = [_named(each)] if isinstance(each, click.Argument) else [*each.opts, *each.secondary_opts]
        about = one_line(getattr(each, "help", None))
        rows.append((", ".join(map(code, names)), _value(each), about))
    return table(("option", "value", "meaning"), rows)


def _value(parameter: click.Parameter) -> str:
    """The type of a value, with its bounds and its default; nothing for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        shown = ", ".join(map(code, kind.choices))
    elif isinstance(kind, click.IntRange):
        shown = f"number ({kind.min} to {kind.max:,})"
    else:
        shown = _TYPES.get(kind.name, kind.name)
    default = parameter.default
    given = isinstance(default, str | int | float) and default != ""
    return shown + (f"; default {code(default)}" if given else "")


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "").replace("\b", "").strip()


def _first(command: Any) -> str:
    return one_line(_help(command).split("\n\n")[0]).split(". ")[0].rstrip(".")
