"""Types of arguments, and options that several commands share, such as the filters of a search."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from pgrecall.encoding import memory_reference, parse_metadata
from pgrecall.errors import InvalidInput
from pgrecall.importers import dates
from pgrecall.importers.dates import parse_time
from pgrecall.nouns.memories.models import DIRECTIVES, SpeechAct
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.search.conversations import read_turns

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
    """Returns a parameter as the user writes it: ``--tag`` or ``NAME``."""
    if parameter is None:
        return "The value"
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name or "").strip("[].")


TEXT, REFERENCE, MOMENT = _Text(), _Reference(), _Moment()

STREAM = Path("-")
"""Standard input or output instead of a file."""
REFERENCE_HELP = "Digits are an id, anything else is a key; key:42 is the key 42."

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
now_option = click.option(
    "--now", type=MOMENT, help="Time to use instead of now (ISO 8601; UTC without a zone)."
)
since_option = click.option(
    "--since", metavar="TIME", help="Only searches since this date, or since 7d, 2w, 6m, 1y ago."
)
session_option = click.option(
    "--session", "session_id", type=TEXT, metavar="ID", help="Session that sees the result."
)
conversation_option = click.option(
    "--conversation",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help='JSON list of the last turns, {"role": ..., "content": ..., "at": ...}; - reads standard input.',
)
plan_option = click.option(
    "--plan/--no-plan",
    default=None,
    help="Let the configured language model plan the search.",
)
rerank_option = click.option(
    "--rerank/--no-rerank", default=None, help="Let the configured reranker reorder the best candidates."
)
no_log_option = click.option(
    "--no-log",
    "log",
    flag_value=False,
    default=True,
    show_default=False,
    help="Do not log the search or count accesses.",
)
all_tenants_option = click.option(
    "--all-tenants", is_flag=True, help="Cover every tenant, not only that of --tenant."
)
reference_argument = click.argument("memory", type=REFERENCE, metavar="ID_OR_KEY", help=REFERENCE_HELP)


def limit_option(default: int, maximum: int, things: str) -> Callable[[Command], Command]:
    """The option ``-n``: how many rows at most."""
    return click.option(
        "-n",
        "--limit",
        "limit",
        type=click.IntRange(1, maximum),
        default=default,
        metavar="N",
        help=f"Maximum number of {things}.",
    )


def parse_reference(given: str) -> int | str:
    """``42`` is an id, ``key:42`` and anything else a key."""
    return memory_reference(text(given, "The memory's id or key"))


def parse_moment(given: str | None, option: str) -> datetime | None:
    """An ISO 8601 date or time; without a zone it is UTC."""
    return _read(parse_time, given, option)


def parse_since(given: str | None, now: datetime) -> datetime | None:
    """A time, or how long before ``now``: ``36h``, ``7d``, ``2w``, ``6m``, ``1y``."""
    return _read(partial(dates.parse_since, now=now), given, "--since")


def parse_until(given: str | None, now: datetime) -> datetime | None:
    """Like ``parse_since``; a date without a time means the end of that day."""
    return _read(partial(dates.parse_until, now=now), given, "--until")


def _read(parse: Callable[[str], datetime], given: str | None, option: str) -> datetime | None:
    if given is None:
        return None
    try:
        return parse(given)
    except ValueError as error:
        raise InvalidInput(f"{option}: {error}.") from error


def current_time() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def text(given: str, what: str) -> str:
    """The text itself.

    Raises:
        InvalidInput: it is blank or not valid Unicode; names ``what``.
    """
    if not given.strip():
        raise InvalidInput(f"{what} is empty.")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid UTF-8.", hint="Check the encoding of your terminal."
        ) from error
    return given


def read_query(given: str) -> str:
    """The query of a command; ``-`` reads it from standard input."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Standard input is not UTF-8 (byte {error.start}).", hint="Convert it to UTF-8."
        ) from error


def read_conversation(file: Path | None) -> tuple[ConversationTurn, ...] | None:
    """The turns in a JSON file, oldest first; ``-`` is standard input.

    Raises:
        InvalidInput: the file is not a JSON list of turns.
    """
    if file is None:
        return None
    name = "Standard input" if file == STREAM else str(file)
    form = 'Write [{"role": "user", "content": "..."}].'
    try:
        given = json.loads(sys.stdin.buffer.read() if file == STREAM else file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is not JSON.", hint=form) from error
    if not isinstance(given, list):
        raise InvalidInput(f"{name} is not a list of turns.", hint=form)
    return read_turns(given)


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
        "--act", "speech_acts", type=click.Choice(get_args(SpeechAct)), multiple=True,
        help="Only memories that say this; may be repeated.",
    ),
    click.option(
        "--directives", is_flag=True, help="Only instructions and preferences: --act for both of them."
    ),
    click.option(
        "--source", "sources", type=TEXT, multiple=True,
        help="Only memories from this source; may be repeated.",
    ),
    click.option(
        "--metadata", metavar="KEY=VALUE", type=TEXT, multiple=True,
        help="Only memories with this metadata: KEY=VALUE or a JSON object; may be repeated.",
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


def read_search_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a search as arguments of ``Memory.search`` and ``Memory.context``.

    Raises:
        InvalidInput: a time or the metadata cannot be read.
    """
    found = {name: None if value == () else value for name, value in given.items()}
    now = found["now"] or current_time()
    if found.pop("directives", False):
        found["speech_acts"] = tuple(dict.fromkeys((*(found["speech_acts"] or ()), *DIRECTIVES)))
    if "conversation" in found:
        found["conversation"] = read_conversation(found["conversation"])
    return found | {
        "since": parse_since(found["since"], now),
        "until": parse_until(found["until"], now),
        "metadata": parse_metadata(given["metadata"]),
    }


def read_arm_weights(given: tuple[str, ...]) -> dict[str, float]:
    """The weights of arms, given as ``ARM=N``.

    Raises:
        InvalidInput: one is not an arm and a number.
    """
    weights: dict[str, float] = {}
    for one in given:
        arm, _, number = one.partition("=")
        try:
            weights[arm.strip()] = float(number)
        except ValueError:
            raise InvalidInput(
                f"--weight {one!r} is not an arm and a number.", hint="Write it as --weight lexical=0.5."
            ) from None
    return weights
