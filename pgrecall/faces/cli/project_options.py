"""Options that name a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.options import Command, name_of, text
from pgrecall.importers.projects import project_of


class _Project(click.ParamType[str]):
    """The name of a project; a folder that exists stands for the project that it belongs to."""

    name = "project"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        given = text(value, name_of(param))
        try:
            is_folder = Path(given).is_dir()
        except (OSError, ValueError):  # a name that is too long, a NUL
            is_folder = False
        found = project_of(Path(given)) if is_folder else given
        if found is None:
            raise InvalidInput(
                f"The folder {given} belongs to no project.", hint="Give the name of a project."
            )
        return found


PROJECT = _Project()


def project_options(command: Command) -> Command:
    """Adds the project that a search is asked in."""
    command = click.option("--project-only", is_flag=True, help="Only memories of --project.")(command)
    return click.option(
        "--project", type=PROJECT, metavar="PROJECT",
        help="Prefer memories of this project; a folder, such as ., stands for its project.",
    )(command)  # fmt: skip
