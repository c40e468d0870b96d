"""Commands about settings: list, set, reset; and the language of a tenant."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text

from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import SafeConsole, output, print_json, styled, table
from pgrecall.faces.wording import counted
from pgrecall.nouns.settings._sync import SettingsGroup
from pgrecall.nouns.settings.models import Setting


@click.group("settings", cls=CommandGroup)
def settings() -> None:
    """Show and change the numbers that tune search, forgetting and jobs for this tenant."""


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


def _show_value(console: SafeConsole, setting: Setting) -> None:
    console.print(f"{setting.name} is now {setting.value:g}.")


def show_settings(console: SafeConsole, settings: Sequence[Setting]) -> None:
    """A table of settings; values other than the default are highlighted."""
    rows = table("setting", "value", "default", "bounds", "source")
    for setting in settings:
        rows.add_row(
            # In a column of its own, the meaning leaves no room for the name.
            Text(f"{setting.name}\n  {setting.about}"),
            styled((_number(setting.value), "" if setting.source == "default" else "bold cyan")),
            _number(setting.default),
            f"{_number(setting.low)} to {_number(setting.high)}",
            "" if setting.source == "default" else setting.source,
        )
    console.print(rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"


_name = {"name": "Name of the setting, as in `pgrecall settings list`."}
add_commands(
    settings,
    "list set reset",
    command("list", SettingsGroup.list, show_settings),
    command("set", SettingsGroup.set, _show_value, helps=_name),
    command("reset", SettingsGroup.reset, _show_value, helps=_name),
    of=SettingsGroup,
)
