"""The options that narrow a search or a list of memories."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from pgrecall.encoding import parse_metadata
from pgrecall.faces.cli.options import TEXT, Command
from pgrecall.faces.cli.values import parse_since, parse_until

# Each option is named after the argument of Memory.search that it becomes.
_FILTERS = (
    click.option(
        "--layer", "layers", type=TEXT, multiple=True, help="Only memories of this layer; may be repeated."
    ),
    click.option(
        "--tag", "tags", type=TEXT, multiple=True,
        help="Only memories with this tag; if repeated, with all of them.",
    ),
    click.option(
        "--author", "authors", type=TEXT, multiple=True,
        help="Only memories by this author; may be repeated.",
    ),
    click.option(
        "--role", "roles", type=TEXT, multiple=True, help="Only memories of this role; may be repeated."
    ),
    click.option(
        "--source", "sources", type=TEXT, multiple=True,
        help="Only memories from this source; may be repeated.",
    ),
    click.option(
        "--metadata", metavar="KEY=VALUE", type=TEXT, multiple=True,
        help="Only memories whose metadata hold this: KEY=VALUE or a JSON object; may be repeated.",
    ),
    click.option(
        "--hint", "hints", type=TEXT, multiple=True,
        help="Only memories that contain this term; may be repeated.",
    ),
    click.option("--since", metavar="TIME", help="Only from this date on, or since 7d, 2w, 6m, 1y ago."),
    click.option("--until", metavar="TIME", help="Only up to this date, which is included."),
    click.option("--include-archived", is_flag=True, help="Include archived memories."),
    click.option(
        "--include-superseded", is_flag=True, help="Include memories that a newer one supersedes."
    ),
    click.option(
        "--include-invalid", is_flag=True, help="Include memories that are not valid yet or no longer."
    ),
)  # fmt: skip

min_relevance_option = click.option(
    "--min-relevance", type=float, default=0.0, help="Leave out hits of lower relevance, 0 to 1."
)


def filter_options(command: Command) -> Command:
    """Adds the filters to a command, which receives them as keyword arguments."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def read_filters(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The filters as arguments of ``Memory.search``; ``7d`` counts back from ``now``.

    Raises:
        InvalidInput: a time or the metadata cannot be read.
    """
    found = {name: None if value == () else value for name, value in given.items()}
    since, until = parse_since(found["since"], now), parse_until(found["until"], now)
    return found | {"since": since, "until": until, "metadata": parse_metadata(given["metadata"])}
