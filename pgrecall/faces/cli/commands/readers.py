"""Commands about the readers of a shared tenant: add, list, remove."""

from __future__ import annotations

import click

from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import DONE, CommandGroup
from pgrecall.nouns.readers._sync import ReadersGroup


@click.group("readers", cls=CommandGroup)
def readers() -> None:
    """Manage the tenants that may read the tenant of --tenant."""


add_commands(
    readers,
    "add list remove",
    command("add", ReadersGroup.add, "Added.", otherwise="It could read before.", code=DONE),
    command("list", ReadersGroup.list, otherwise="No other tenant may read this one.", code=DONE),
    command("remove", ReadersGroup.remove, "Removed.", otherwise="It could not read.", code=DONE),
)
