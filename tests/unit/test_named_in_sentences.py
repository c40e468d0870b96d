"""Commands and methods that sentences and docstrings name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

import pgrecall
from pgrecall.faces.cli.main import COMMANDS, app

PACKAGE = Path(pgrecall.__file__).parent
SOURCES = [
    path
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.sql"), *PACKAGE.rglob("*.j2"))
    if "migrations" not in path.parts and path.name != "mem0.py"  # mem0 has a class Memory too
]
COMMAND = re.compile(r"(?:`|<code>|: )pgrecall (?!in\b|as\b)([a-z]+)(?: ([a-z][a-z-]*))?")
METHOD = re.compile(r"\b(?:Async)?Memory\.([a-z_]+)|``memory\.([a-z_]+)(?:\.([a-z_]+))?``")


def found(pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    for path in SOURCES:
        for match in pattern.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(PACKAGE)}: {match.group()}", match


def test_every_command_that_is_named_exists() -> None:
    context = click.Context(app)
    groups = {name: app.get_command(context, name) for name in COMMANDS}
    unknown = []
    for place, match in found(COMMAND):
        name, sub = match.groups()
        group = groups.get(name)
        if group is None or (isinstance(group, click.Group) and sub and sub not in group.commands):
            unknown.append(place)
    assert unknown == []


def test_every_method_that_is_named_exists() -> None:
    unknown = []
    for place, match in found(METHOD):
        daily, group, member = match.groups()
        owner = getattr(pgrecall.Memory, daily or group, None)
        if owner is None or (member and not hasattr(owner, member)):
            unknown.append(place)
    assert unknown == []
