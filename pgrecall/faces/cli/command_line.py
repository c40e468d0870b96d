"""Commands made of functions: what a parameter is on the command line stands in its annotation.

    def show(context: Context, memory: Annotated[str, Argument(help="Its id.")], limit: Limit = 10) -> None:

Click reads the command line, helps and completes. A first parameter of type
``Context`` is handed its own; one whose type is a dataclass stands for the options
that its fields are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import click
from click import Context, confirm
from click.exceptions import Exit

__all__ = [
    "Argument",
    "CommandGroup",
    "Context",
    "Exit",
    "Option",
    "command_of",
    "confirm",
    "declared",
    "instead",
]

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}

_WHOLE = 1000
"""Characters that a command may take to say what it does in a list: all of its first sentence."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Argument:
    """Something that is told by its place."""

    help: str
    metavar: str | None = None


class Option:
    """Something that is told by a name; without names it has that of its parameter, and one that is true or
    false ``--no-`` too. ``low`` and ``high`` bound a whole number."""

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - what click calls it
        metavar: str | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> None:
        self.names, self.help, self.metavar = names, help, metavar
        self.low, self.high = low, high


class CommandGroup(click.Group):
    """Commands under one name, in the order they were added."""

    def __init__(self, help: str, **given: Any) -> None:  # noqa: A002
        super().__init__(help=help, context_settings=CONTEXT, **given)

    def add(self, name: str) -> Callable[[Function], Function]:
        """Adds a function as the command of this name."""

        def added(function: Function) -> Function:
            self.add_command(command_of(function, name))
            return function

        return added

    def alone(self, function: Function) -> Function:
        """Adds a function as what happens before a command of the group, or without one."""
        self.callback, self.params = _read(function)
        return function

    def format_commands(self, ctx: Context, formatter: click.HelpFormatter) -> None:
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in found if one])

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def command_of(function: Callable[..., Any], name: str) -> click.Command:
    """The command that a function is."""
    callback, parameters = _read(function)
    return click.Command(
        name,
        callback=callback,
        params=parameters,
        help=inspect.getdoc(function),
        context_settings=CONTEXT,
    )


def instead(name: str, about: str, done: Callable[[], None]) -> click.Option:
    """An option with which one thing is done instead of a command."""

    def on(context: Context, _: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            done()
            context.exit()

    return click.Option([name], is_flag=True, is_eager=True, expose_value=False, help=about, callback=on)


def _read(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[click.Parameter]]:
    """What click is to call, and with which parameters."""
    hints = get_type_hints(function)
    bundles = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    callback = _bundling(function, bundles) if bundles else function
    takes_context = next(iter(hints.values()), None) is Context
    parameters = [_parameter(*each) for each in declared(function)]
    return click.pass_context(callback) if takes_context else callback, parameters


def declared(of: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each parameter of a command's function with its annotation and default; for a dataclass its fields."""
    hints = get_type_hints(of, include_extras=True)
    for name, given in inspect.signature(of).parameters.items():
        if get_origin(hints[name]) is Annotated:
            yield name, hints[name], given.default
        elif is_dataclass(hints[name]):
            yield from declared(hints[name])


def _bundling(function: Callable[..., Any], bundles: Mapping[str, Any]) -> Callable[..., Any]:
    """The function, called with what belongs into its dataclasses beside all else."""

    @wraps(function)
    def called(*context: Any, **given: Any) -> Any:
        for name, bundle in bundles.items():
            given[name] = bundle(**{each.name: given.pop(each.name) for each in fields(bundle)})
        return function(*context, **given)

    return called


def _parameter(name: str, annotation: Any, default: Any) -> click.Parameter:
    kind, told = get_args(annotation)
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    given = {"help": told.help, "metavar": told.metavar}
    given |= {"required": True} if default is inspect.Parameter.empty else {"default": default}
    many = get_origin(kind) is list
    if many:
        given |= {"callback": _listed}
        kind = str
    if isinstance(told, Option):
        given |= {"is_flag": kind is bool, "multiple": many}
        return click.Option(_names(name, kind, told), type=_type(kind, told), **given)
    return click.Argument([name], type=_type(kind, told), nargs=-1 if many else 1, **given)


def _names(name: str, kind: Any, told: Option) -> list[str]:
    """The parameter, and what it is called on the command line."""
    if told.names:
        return [name, *told.names]
    called = name.replace("_", "-")
    return [name, f"--{called}/--no-{called}" if kind is bool else f"--{called}"]


def _type(kind: Any, told: Option | Argument) -> Any:
    if kind is Path:
        return click.Path(path_type=Path)
    if isinstance(told, Option) and (told.low, told.high) != (None, None):
        return click.IntRange(told.low, told.high)
    return click.Choice(kind) if issubclass(kind, Enum) else kind


def _listed(_: Context, __: click.Parameter, values: tuple[str, ...]) -> list[str] | None:
    """What was repeated, as a list; None where it was not given."""
    return list(values) or None
