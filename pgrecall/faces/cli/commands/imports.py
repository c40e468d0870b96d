"""The commands import list and import undo, and how `import PATH` leads to them and to import git."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from pgrecall.faces.cli.commands.import_git import git
from pgrecall.faces.cli.declared_commands import command, with_declared
from pgrecall.faces.cli.rendering.imports import show_imports, show_undone_import
from pgrecall.nouns.imports._sync import ImportsGroup

list_ = command(
    "list",
    ImportsGroup.list,
    show_imports,
    otherwise="No import has changed anything yet.",
    more="Exit code 1 when there are none.",
)
undo = command("undo", ImportsGroup.undo, show_undone_import, arguments=["import_id"])


class ImportCommand(click.Command):
    """`import PATH`; `import git`, `list`, `unused` and `undo` are commands. A folder so named is ./list."""

    commands: ClassVar[Mapping[str, click.Command]] = with_declared(
        {"git": git, "list": list_, "undo": undo}, of=ImportsGroup
    )

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
