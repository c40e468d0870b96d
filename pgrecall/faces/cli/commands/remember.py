"""The commands that write one memory: remember and edit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast, get_args

import click

from pgrecall.arguments import DraftFields, EditFields
from pgrecall.encoding import parse_metadata
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.invocation import GlobalOptions, pass_globals
from pgrecall.faces.cli.options import (
    MOMENT,
    TEXT,
    json_option,
    now_option,
    read_query,
    reference_argument,
    text,
)
from pgrecall.faces.cli.rendering.console import notes, output, print_json
from pgrecall.nouns.memories.models import Remembered, Role, SpeechAct

Command = Callable[..., Any]

_FIELDS = (
    click.option("--title", help="Title."),
    click.option("--layer", type=TEXT, help="Layer, which determines how fast it fades."),
    click.option("--tag", "tags", multiple=True, help="Tag; may be repeated; '' for none."),
    click.option("--role", type=click.Choice(get_args(Role)), help="Role of the speaker."),
    click.option(
        "--act", "speech_act", type=click.Choice(get_args(SpeechAct)),
        help="What it says; by default found out from its text.",
    ),
    click.option("--author", help="Person who said or wrote it."),
    click.option("--session", "session_id", metavar="ID", help="Session it belongs to."),
    click.option(
        "--metadata", metavar="KEY=VALUE", type=TEXT, multiple=True,
        help="Further data: KEY=VALUE or a JSON object; may be repeated; {} for none.",
    ),
    click.option("--at", "occurred_at", type=MOMENT, help="Time of the event (ISO 8601, UTC by default)."),
)  # fmt: skip


def _field_options(command: Command) -> Command:
    for option in reversed(_FIELDS):
        command = option(command)
    return command


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The fields that were given, some as empty."""
    found = {name: value for name, value in options.items() if value not in (None, ())}
    for name in found.keys() & {"title", "author", "session_id"}:
        found[name] = found[name] and text(found[name], f"--{name.removesuffix('_id')}")
    if "tags" in found:
        found["tags"] = tuple(text(tag, "--tag") for tag in found["tags"] if tag)
    if "metadata" in found:
        found["metadata"] = parse_metadata(found["metadata"])
    return found


@click.command("remember")
@click.argument(
    "body", metavar="TEXT", required=False, help="Text; - or nothing reads it from standard input."
)
@click.option("--key", type=TEXT, help="Your own identifier; the memory with this key is changed.")
@_field_options
@json_option
@now_option
@pass_globals
def remember(
    given: GlobalOptions,
    /,
    body: str | None,
    key: str | None,
    as_json: bool,
    now: datetime | None,
    **options: Any,
) -> None:
    """Store one memory. A text that is already stored is not stored again.

    The memory with the same key keeps what is not given; to clear a field, give it as ''. A memory that
    nearly repeats another is stored, and the other one is named.
    """
    if body is None and sys.stdin.isatty():
        raise InvalidInput("There is no text to remember.", hint='`pgrecall remember "TEXT"`, or pipe it in.')
    body = read_query("-" if body is None else body).strip()
    if not body and not options.get("title"):
        raise InvalidInput("The text is empty.", hint="A memory has a text or a title.")
    fields = cast(DraftFields, _given(options) | ({"key": key} if key else {}))
    from pgrecall.nouns.memories.models import Draft

    with given.opened(embeds=True) as client:
        [stored] = client.remember_many([Draft(body, **fields)], compare=True, now=now)
        if as_json:
            print_json(stored)
            return
        output().print(f"{_OUTCOMES[stored.outcome]} {_name(stored)}{_fields(stored)}.")
        if stored.similar is not None:
            like = stored.similar
            notes().print(
                f"Similar to {like.key or like.id} ({like.similarity:.2f}): `pgrecall show "
                f"{like.id}` shows it, `pgrecall supersede` replaces it by this one."
            )
        _warn(stored)


_OUTCOMES = {
    "created": "Stored as",
    "updated": "Updated",
    "revived": "Restored and updated",
    "unchanged": "Unchanged: it is already stored as",
}


def _warn(stored: Remembered) -> None:
    if stored.secrets:
        notes().print(
            f"The text seems to hold a secret ({', '.join(stored.secrets)}). `pgrecall plan redact` "
            "plans to take it out of all texts."
        )
    if stored.unread:
        notes().print(
            f"The last {stored.unread:,} characters are not embedded, so a search may not find them: "
            "store them as another memory."
        )


def _name(stored: Remembered) -> str:
    return f"{stored.key} (id {stored.id})" if stored.key else f"id {stored.id}"


@click.command("edit")
@reference_argument
@click.option("--body", help="Text; - reads it from standard input.")
@_field_options
@click.option("--clear", multiple=True, metavar="FIELD", type=TEXT, help="Empty a field; may be repeated.")
@json_option
@now_option
@pass_globals
def edit(
    given: GlobalOptions,
    /,
    memory: int | str,
    body: str | None,
    clear: tuple[str, ...],
    as_json: bool,
    now: datetime | None,
    **options: Any,
) -> None:
    """Change fields of a memory. Without options its text is opened in $EDITOR.

    Links, key, source and accesses stay as they are.
    """
    emptied = {name: value or None for name, value in _given(options).items()}
    changes = emptied | {name.replace("-", "_"): None for name in clear}
    if body is not None:
        changes["body"] = read_query(body).strip()
    with given.opened(embeds=True) as client:
        if not changes:
            changes["body"] = _edited(client.get(memory, now=now).body)
        changed = client.edit(memory, now=now, **cast(EditFields, changes))
    if as_json:
        print_json(changed)
    elif changed.outcome == "unchanged":
        output().print("Nothing changed.")
    else:
        output().print(f"Updated {_name(changed)}{_fields(changed)}.")
        _warn(changed)


def _fields(stored: Remembered) -> str:
    return f": {', '.join(stored.changed)}" if stored.changed else ""


def _edited(body: str) -> str:
    """The text as the person leaves it in the editor; unchanged if it is not saved."""
    if not sys.stdin.isatty():
        raise InvalidInput("No change was given.", hint="Give --body, --title, --tag or another field.")
    try:
        found = click.edit(body, extension=".md")
    except click.ClickException as error:
        raise InvalidInput(
            f"The editor could not be used: {error.format_message().rstrip('.')}.",
            hint="Set EDITOR, or give --body.",
        ) from error
    return body if found is None else found.strip()
