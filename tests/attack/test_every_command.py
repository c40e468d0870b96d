"""Every command with each kind of login, from the catalogue: a new command is attacked by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.faces.cli.main import COMMANDS, SERVING, app
from tests.acceptance.cli.command_tools import Command
from tests.attack.test_every_tool import everything
from tests.attack.world import UNKNOWN, World

pytestmark = pytest.mark.attack

ELSEWHERE = {*SERVING, "connect", "models", "postgres"}
"""Commands that run on, or change what is outside the database: files of editors and models, a server."""

ALONE = {"tools", "doctor", "capture start", "capture end"}
"""Commands that need no database, list its faults, or must not disturb the agent that calls them."""


def leaves(name: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for within, one in command.commands.items():
            yield from leaves(f"{name} {within}", one)
        if not command.invoke_without_command:
            return
    assert command is not None
    yield name, command


EVERY = {
    name: command
    for group in COMMANDS if group not in ELSEWHERE
    for name, command in leaves(group, app.get_command(click.Context(app), group))
}  # fmt: skip


def value_of(parameter: click.Parameter, folder: Path, world: World) -> str:
    """What this parameter allows, of globex where it can."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    if kind.name in ("path", "file", "directory"):
        return str(folder)
    named: dict[str, Any] = {"id_or_key": world.ids["memory"], "integer": world.ids["plan"]}
    named |= {"integer range": 1, "float": 1, "float range": 1}
    return str(named.get(kind.name, "globex"))


def line_of(command: click.Command, folder: Path, world: World) -> list[str]:
    """The arguments that the command has and the options that it requires; it asks nobody."""
    given: list[str] = []
    for each in command.params:
        if isinstance(each, click.Argument):
            given.append(value_of(each, folder, world))
        elif "--yes" in each.opts:
            given.append("--yes")
        elif each.required:
            given += [each.opts[0], value_of(each, folder, world)]
    return given


LOGINS = {
    "of another tenant": ("app", "globex"),
    "that may read": ("reader", "acme"),
    "of none": ("unbound", "acme"),
    "unknown": ("nobody", "acme"),
    "of a megabyte": ("x" * 2**20, "acme"),
}
"""By kind: the role, and the tenant that it asks for."""


@pytest.mark.parametrize("kind", LOGINS)
@pytest.mark.parametrize("name", EVERY)
def test_a_login_does_what_it_may_by_no_command(
    name: str, kind: str, bare_pgrecall: Command, with_globex: World, logins: dict[str, str],
    tried: Counter[str], tmp_path: Path,
) -> None:  # fmt: skip
    role, tenant = LOGINS[kind]
    url = make_conninfo(with_globex.url, user=logins.get(role, role))
    (tmp_path / "note.md").write_text("# A note\n\nNobody may store this.\n")
    before = with_globex.digest() if role == "app" else everything(with_globex)
    given = line_of(EVERY[name], tmp_path, with_globex)
    ended = bare_pgrecall("--tenant", tenant, *name.split(), *given, database_url=url)
    said = ended.out + ended.err
    assert UNKNOWN not in said
    assert len(said) < 20_000 or name == "tools"
    assert ended.code in (0, 1, 2, 3, 4)
    if role not in ("app", "reader") and name not in ALONE:
        assert ended.code in (2, 3), said
        assert said.startswith(("Error: ", "Usage: ")), said
    assert (with_globex.digest() if role == "app" else everything(with_globex)) == before
    tried["command"] += 1
