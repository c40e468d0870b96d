"""Commands of methods that the client declares: arguments, options and help are those of the method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from inspect import isfunction
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from click.exceptions import Exit

from pgrecall.encoding import MAX_ID
from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, GlobalOptions
from pgrecall.faces.cli.options import MOMENT, REFERENCE, REFERENCE_HELP, TEXT, json_option, now_option
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, output, plain, print_json, table
from pgrecall.faces.described import REFERENCE as REFERENCE_TYPE
from pgrecall.faces.described import REQUIRED, Parameter, described
from pgrecall.faces.wording import moment
from pgrecall.nouns.declared import declarations

T = TypeVar("T")

_COUNTS: Mapping[type, str] = {bool: "changed", int: "count"}
_TYPES: Mapping[Any, click.ParamType[Any]] = {
    REFERENCE_TYPE: REFERENCE,
    str: TEXT,
    int: click.INT,
    float: click.FLOAT,
    datetime: MOMENT,
}


class MethodCommand(click.Command):
    """A command that calls one method."""

    method: Callable[..., Any]


def command(
    name: str,
    method: Callable[..., T],
    show: Callable[[SafeConsole, T], object] | str | None = None,
    *,
    otherwise: str | None = None,
    found: Callable[[T], object] | None = None,
    code: int = NOTHING_FOUND,
    more: str = "",
    document: Callable[[T], object] | None = None,
    arguments: Collection[str] = (),
    options: Mapping[str, str] | None = None,
    helps: Mapping[str, str] | None = None,
    embeds: bool = False,
) -> MethodCommand:
    """The command of a method.

    Args:
        name: last word of the command.
        method: a method of ``Memory`` or of one of its groups.
        show: prints the result for people, or is the sentence for them; None: a table of its fields.
        otherwise: the sentence for people if nothing was found or changed; None: ``show`` has one.
        found: what is empty or false in that case; by default the result, if there is ``otherwise``.
        code: the exit code in that case; with 0, ``otherwise`` is a result.
        more: sentences for the help, after those of the method.
        document: what ``--json`` prints instead of the result.
        arguments: optional parameters that are arguments, not options.
        options: names of options that are not those of their parameters, or of required ones.
        helps: the help of parameters of which a command has more to say than the method.
        embeds: whether it needs models.
    """
    about = described(method)
    words = {"memory": REFERENCE_HELP, **(helps or {})}
    parameters: list[click.Parameter] = []
    for each in about.parameters:
        text = words.get(each.name, each.about)
        if each.name in arguments or (each.default is REQUIRED and each.name not in (options or {})):
            parameters.append(_argument(each, text))
        elif each.name != "now":
            parameters.append(_option(each, text, (options or {}).get(each.name)))

    def run(as_json: bool, **values: Any) -> None:
        given = {each: value for each, value in values.items() if value not in ((), None)}
        with click.get_current_context().ensure_object(GlobalOptions).opened(embeds=embeds) as client:
            result: T = about.bound(client)(**given)
        there = bool(found(result)) if found else otherwise is None or bool(result)
        if as_json:
            count = _COUNTS.get(type(result))
            print_json(document(result) if document else {count: result} if count else result)
        elif not there and otherwise:
            (notes() if code else output()).print(otherwise.format(**values))
        elif isinstance(show, str):
            output().print(show.format(**values))
        else:
            (show or show_fields)(output(), result)
        raise Exit(DONE if there else code)

    text = "\n\n".join(filter(None, (about.about, more)))
    made = MethodCommand(name, params=parameters, callback=run, help=text)
    made.method = method
    json_option(made)
    if any(each.name == "now" for each in about.parameters):
        now_option(made)
    return made


def add_commands(group: click.Group, names: str, *made: click.Command, of: type) -> None:
    """Adds commands to a group: by hand ``names``, in the order of its help, then those that follow from the
    declared methods ``of`` a group of the client."""
    for each in made:
        group.add_command(each)
    group.commands = with_declared({name: group.commands[name] for name in names.split()}, of=of)


def with_declared(commands: Mapping[str, click.Command], *, of: type) -> dict[str, click.Command]:
    """These commands, and one for each declared method that none of them calls or is named after."""
    called = {each.method for each in commands.values() if isinstance(each, MethodCommand)}
    found = dict(commands)
    for method in filter(isfunction, vars(of).values()):
        name = method.__name__.replace("_", "-")
        if (declared := declarations(method)) and method not in called and name not in commands:
            found[name] = command(name, method, otherwise=declared[0].nothing)
    return found


def _argument(parameter: Parameter, about: str) -> click.Argument:
    name, many = parameter.name, get_origin(parameter.type) is Sequence
    required = parameter.default is REQUIRED
    shown = "ID_OR_KEY" if name == "memory" else f"{name.upper()}{'...' if many else ''}"
    return click.Argument(
        [name],
        type=_type(parameter),
        nargs=-1 if many else 1,
        required=required,
        metavar=shown if required else f"[{shown}]",
        help=about,
    )


def _option(parameter: Parameter, about: str, name: str | None) -> click.Option:
    kind, many = parameter.type, get_origin(parameter.type) is Sequence
    word = name or f"--{(parameter.name.removesuffix('s') if many else parameter.name).replace('_', '-')}"
    flags = ["-n", word] if parameter.name == "limit" else [word]
    if kind is bool:
        return click.Option([*flags, parameter.name], is_flag=True, help=about)
    about = f"{about.removesuffix('.')}; may be repeated." if many else about
    default = None if many else parameter.default
    return click.Option(
        [*flags, parameter.name],
        type=_type(parameter),
        multiple=many,
        **({"required": True} if parameter.default is REQUIRED else {"default": default}),
        metavar="N" if parameter.bounds else None,
        help=about,
    )


def _type(parameter: Parameter) -> click.ParamType[Any]:
    kind = get_args(parameter.type)[0] if get_origin(parameter.type) is Sequence else parameter.type
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if parameter.bounds is not None and parameter.bounds.high < MAX_ID:
        low, high = parameter.bounds.low, parameter.bounds.high
        return click.IntRange(int(low), int(high)) if kind is int else click.FloatRange(low, high)
    return _TYPES[kind]


def show_fields(console: SafeConsole, result: object) -> None:
    """A table of one dataclass or of several; anything else as it is."""
    rows: Sequence[Any] = result if isinstance(result, list | tuple) else (result,)
    if not rows or not is_dataclass(rows[0]):
        console.print(", ".join(map(str, rows)))
        return
    names = [each.name for each in fields(rows[0])]
    shown = table(*(name.replace("_", " ") for name in names), right=("id",))
    for row in rows:
        shown.add_row(*(_cell(getattr(row, name)) for name in names))
    console.print(shown)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return moment(value) if isinstance(value, datetime) else str(plain(value))
