"""Commands about settings: list, set, reset; and the language of a tenant."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pgrecall.faces.cli.invocation import CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import SafeConsole, output, print_json, styled, table
from pgrecall.faces.wording import counted
from pgrecall.nouns.settings.models import Setting

name_argument = click.argument(
    "name", type=TEXT, metavar="NAME", help="Name of the setting, as in `pgrecall settings list`."
)


@click.group("settings", cls=CommandGroup)
def settings() -> None:
    """Show and change the numbers that tune search, forgetting and jobs for this tenant."""


@settings.command("list")
@json_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool) -> None:
    """List every setting: its value, where that comes from, its default, bounds and meaning."""
    with given.opened() as memory:
        found = memory.settings.list()
    if as_json:
        print_json(found)
    else:
        show_settings(output(), found)


@settings.command("set")
@name_argument
@click.argument("value", type=float, metavar="VALUE", help="Number within the bounds.")
@pass_globals
def set_(given: GlobalOptions, name: str, value: float) -> None:
    """Set a setting for this tenant."""
    with given.opened() as memory:
        memory.settings.set(name, value)
    output().print(f"{name} is now {value:g}.")


@settings.command("reset")
@name_argument
@pass_globals
def reset(given: GlobalOptions, name: str) -> None:
    """Reset a setting to the database's value or the default."""
    with given.opened() as memory:
        memory.settings.reset(name)
        value = next(setting.value for setting in memory.settings.list() if setting.name == name)
    output().print(f"{name} is now {value:g}.")


@click.command("language")
@click.argument(
    "name",
    type=TEXT,
    metavar="[NAME]",
    required=False,
    help="Language to use; without it, show the current one.",
)
@json_option
@pass_globals
def language(given: GlobalOptions, name: str | None, as_json: bool) -> None:
    """Show or choose the language in which this tenant's memories and queries are read."""
    with given.opened() as memory:
        changed = None if name is None else memory.settings.set_language(name)
        known = memory.settings.languages()
    if as_json:
        print_json(known)
        return
    accents = "accents are ignored" if known.accents_off else "accents matter, because unaccent is missing"
    output().print(f"{known.language}; {accents}.")
    if changed is None:
        output().print(f"Available: {', '.join(known.available)}.")
    else:
        output().print(f"{counted(changed, 'memory was', 'memories were')} indexed again.")


def show_settings(console: SafeConsole, settings: Sequence[Setting]) -> None:
    """A table of settings; values other than the default are highlighted."""
    rows = table("setting", "value", "default", "bounds", "source", "meaning")
    for setting in settings:
        rows.add_row(
            setting.name,
            styled((_number(setting.value), "" if setting.source == "default" else "bold cyan")),
            _number(setting.default),
            f"{_number(setting.low)} to {_number(setting.high)}",
            "" if setting.source == "default" else setting.source,
            setting.about,
        )
    console.print(rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"
