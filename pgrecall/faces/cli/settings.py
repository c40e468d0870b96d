"""Commands about what can be tuned: setting list, set, reset; language; and pin."""

from __future__ import annotations

from typing import Annotated

from pgrecall.faces.cli.base import AsJson, Reference, globals_of, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Option
from pgrecall.faces.cli.json_output import to_text
from pgrecall.faces.cli.rendering.layers import show_settings
from pgrecall.faces.cli.values import parse_reference, text

setting_commands = CommandGroup("Every number that can be tuned, for this tenant.")

Name = Annotated[str, Argument(metavar="NAME", help="Of the setting, as in `pgrecall setting list`.")]


@setting_commands.add("list")
def list_(
    context: Context,
    as_json: AsJson = False,
) -> None:
    """Every setting: its value in force, whose that is, its default and bounds, what it means."""
    with globals_of(context).opened() as memory:
        settings = memory.settings.list()
    if as_json:
        output().out(to_text(settings))
    else:
        show_settings(output(), settings)


@setting_commands.add("set")
def set_(
    context: Context,
    name: Name,
    value: Annotated[float, Argument(metavar="VALUE", help="A number within the bounds.")],
) -> None:
    """Give a setting a value for this tenant."""
    with globals_of(context).opened() as memory:
        memory.settings.set(text(name, "The name of the setting"), value)
    output().print(f"{name} is {value:g} now.", soft_wrap=True)


@setting_commands.add("reset")
def reset(context: Context, name: Name) -> None:
    """Take this tenant's own value away, so that the database's or the default applies again."""
    with globals_of(context).opened() as memory:
        memory.settings.reset(text(name, "The name of the setting"))
        value = next(setting.value for setting in memory.settings.list() if setting.name == name)
    output().print(f"{name} is {value:g} now.", soft_wrap=True)


def language(
    context: Context,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Of the language; without it, tell which it is.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell or choose the language this tenant's memories and questions are read in."""
    with globals_of(context).opened() as memory:
        changed = (
            None if name is None else memory.settings.set_language(text(name, "The name of the language"))
        )
        known = memory.settings.languages()
    if as_json:
        output().out(to_text(known))
        return
    accents = "accents are taken off" if known.accents_off else "accents count, for unaccent is missing"
    output().print(f"{known.language}; {accents}.", soft_wrap=True)
    if changed is None:
        output().print(f"There are: {', '.join(known.available)}.", soft_wrap=True)
    else:
        output().print(f"{changed:,} memories were read anew.", soft_wrap=True)


def pin(
    context: Context,
    memory: Reference,
    undo: Annotated[bool, Option("--undo", help="Take the pin away.")] = False,
) -> None:
    """Pin a memory: it stays out of every prune plan, whatever its vitality."""
    reference = parse_reference(memory)
    with globals_of(context).opened() as client:
        changed = client.pin(reference, not undo)
    if changed:
        output().print("Unpinned." if undo else "Pinned.")
    else:
        output().print("It was not pinned." if undo else "It is pinned already.")
