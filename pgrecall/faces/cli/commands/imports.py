"""The commands import list and import undo, and how `import PATH` leads to them and to import git."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import click

from pgrecall.faces.cli.commands.import_git import git
from pgrecall.faces.cli.invocation import GlobalOptions, finish, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option, limit_option, now_option
from pgrecall.faces.cli.rendering.imports import show_imports, show_undone_import

source_option = click.option("--source", type=TEXT, help="Only imports of this source.")


@click.command("list")
@source_option
@limit_option(20, 1000, "imports")
@json_option
@pass_globals
def list_(given: GlobalOptions, source: str | None, limit: int, as_json: bool) -> None:
    """List the newest imports and what each stored, changed and archived. Exit code 1 when there are none."""
    with given.opened() as memory:
        found = memory.imports.list(limit=limit, source=source)
    finish(found, as_json, show_imports, found=found, otherwise="No import has changed anything yet.")


@click.command("undo")
@click.argument(
    "number", type=int, required=False, metavar="[ID]", help="Id of the import; by default the last one."
)
@source_option
@json_option
@now_option
@pass_globals
def undo(
    given: GlobalOptions, number: int | None, source: str | None, as_json: bool, now: datetime | None
) -> None:
    """Undo an import: give back what it changed, restore what it archived, delete what it added.

    What was changed since stays as it is. What it added and was used since is archived, not deleted.
    """
    with given.opened() as memory:
        undone = memory.imports.undo(number, source=source, now=now)
    finish(undone, as_json, show_undone_import, found=True)


class ImportCommand(click.Command):
    """`import PATH`; `import git`, `list` and `undo` are commands. A folder of such a name is ./list."""

    commands: ClassVar[Mapping[str, click.Command]] = {"git": git, "list": list_, "undo": undo}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        inner = self.commands.get(args[0]) if args else None
        if inner is None:
            return super().make_context(info_name, args, parent, **extra)
        return inner.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(1000)) for name, one in self.commands.items()])
