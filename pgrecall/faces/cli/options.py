"""Types of values on the command line, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from pgrecall.faces.cli.values import parse_moment, parse_reference, text

Command = TypeVar("Command", bound=Callable[..., Any])


class _Text(click.ParamType[str]):
    """Text that is not empty and valid Unicode."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return text(value, name_of(param))


class _Reference(click.ParamType["int | str"]):
    """A memory: digits are its id, anything else its key."""

    name = "id_or_key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        return value if isinstance(value, int) else parse_reference(value)


class _Moment(click.ParamType[datetime]):
    """An ISO 8601 date or time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        found = value if isinstance(value, datetime) else parse_moment(value, name_of(param))
        assert found is not None
        return found


def name_of(parameter: click.Parameter | None) -> str:
    """A parameter as the user writes it: ``--tag`` or ``NAME``."""
    if parameter is None:
        return "The value"
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name or "").strip("[].")


TEXT, REFERENCE, MOMENT = _Text(), _Reference(), _Moment()
REFERENCE_HELP = "Digits are an id, anything else is a key; key:42 is the key 42."

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
now_option = click.option(
    "--now", type=MOMENT, help="Time to use instead of now (ISO 8601; UTC without a zone)."
)
since_option = click.option(
    "--since", metavar="TIME", help="Only searches since this date, or since 7d, 2w, 6m, 1y ago."
)
session_option = click.option("--session", type=TEXT, metavar="ID", help="Session that sees the result.")
no_log_option = click.option("--no-log", is_flag=True, help="Do not log the search or count accesses.")
all_tenants_option = click.option(
    "--all-tenants", is_flag=True, help="Cover every tenant, not only that of --tenant."
)
allow_superuser_option = click.option(
    "--allow-superuser",
    is_flag=True,
    help="Run even as a superuser or a role that bypasses row security [PGRECALL_ALLOW_SUPERUSER].",
)
reference_argument = click.argument("memory", type=REFERENCE, metavar="ID_OR_KEY", help=REFERENCE_HELP)


def limit_option(default: int, most: int, things: str) -> Callable[[Command], Command]:
    """The option ``-n``: how many rows at most."""
    return click.option(
        "-n",
        "--limit",
        "limit",
        type=click.IntRange(1, most),
        default=default,
        metavar="N",
        help=f"Maximum number of {things}.",
    )
