"""Commands about sharing: the readers of a shared tenant, and copying a memory into one."""

from __future__ import annotations

import click

from pgrecall.client._sync.memory import Memory
from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import DONE, CommandGroup
from pgrecall.faces.cli.rendering.console import SafeConsole
from pgrecall.nouns.readers._sync import ReadersGroup
from pgrecall.nouns.readers.models import Shared


@click.group("readers", cls=CommandGroup)
def readers() -> None:
    """Manage the tenants that may read this one."""


add_commands(
    readers,
    "add list remove",
    command("add", ReadersGroup.add, "Added.", otherwise="Nothing changed.", code=DONE),
    command("list", ReadersGroup.list, otherwise="No other tenant may read this one.", code=DONE),
    command("remove", ReadersGroup.remove, "Removed.", otherwise="It could not read.", code=DONE),
    of=ReadersGroup,
)


def _show_copy(console: SafeConsole, copy: Shared) -> None:
    console.print(f"{copy.outcome.capitalize()}: {copy.key}.")
    if copy.secrets:
        console.print(f"Replaced by placeholders: {', '.join(copy.secrets)}.")


share = command("share", Memory.share, _show_copy, options={"to": "--to"})
