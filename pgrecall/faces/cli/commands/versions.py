"""Commands about versions and changes: history, diff, restore, changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

import click
from click.exceptions import Exit
from rich.text import Text

from pgrecall.encoding import MAX_INTEGER
from pgrecall.faces.cli.invocation import NOTHING_FOUND, GlobalOptions, finish, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option, limit_option, now_option, reference_argument
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, output, print_json, styled, table
from pgrecall.faces.snippets import snippet
from pgrecall.faces.wording import name_of
from pgrecall.nouns.versions.models import Change, ChangeKind, FieldDifference, Version

_SNIPPET = 80

_number = click.IntRange(1, MAX_INTEGER)


@click.command("history")
@reference_argument
@click.option("--before", type=_number, metavar="VERSION", help="Only versions with lower numbers.")
@limit_option(50, 1001, "versions")
@json_option
@pass_globals
def history(given: GlobalOptions, memory: int | str, before: int | None, limit: int, as_json: bool) -> None:
    """List the versions of a memory, newest first, with the current one on top."""
    with given.opened() as client:
        found = client.versions.list(memory, limit=limit, before=before)
    if as_json:
        print_json(found)
    else:
        _show_versions(output(), found)


@click.command("diff")
@reference_argument
@click.argument("earlier", type=_number, metavar="EARLIER", help="Number of a version.")
@click.argument(
    "later",
    type=_number,
    metavar="[LATER]",
    required=False,
    help="Number of another version; by default the current one.",
)
@json_option
@pass_globals
def diff(given: GlobalOptions, memory: int | str, earlier: int, later: int | None, as_json: bool) -> None:
    """Show what differs between two versions of a memory, word by word: [-removed-] and {+added+}.

    Exit code 1 when nothing differs.
    """
    with given.opened() as client:
        found = client.versions.diff(memory, earlier, later)
    finish(found, as_json, _show_differences, found=found, otherwise="Nothing differs.")


@click.command("restore")
@reference_argument
@click.argument("version", type=_number, metavar="VERSION", help="Number of the version.")
@now_option
@pass_globals
def restore(given: GlobalOptions, memory: int | str, version: int, now: datetime | None) -> None:
    """Restore the text and fields of a version; the replaced ones become a version.

    An archived memory stays archived. Exit code 1 when the memory already has this text.
    """
    with given.opened(embeds=True) as client:
        outcome = client.versions.restore(memory, version, now=now).outcome
    if outcome == "unchanged":
        notes().print("The memory already has this text.")
        raise Exit(NOTHING_FOUND)
    output().print(f"Restored version {version}.")


@click.command("changes")
@click.option("--since", type=TEXT, metavar="CURSOR", help="Changes after this cursor.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(get_args(ChangeKind)),
    multiple=True,
    help="Only this kind; may be repeated.",
)
@click.option("--cursor", "only_cursor", is_flag=True, help="Print the cursor after the last change instead.")
@limit_option(100, 1000, "changes")
@json_option
@pass_globals
def changes(
    given: GlobalOptions,
    since: str | None,
    kinds: tuple[ChangeKind, ...],
    only_cursor: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List what changed in memories since a cursor, in order. Exit code 1 when nothing did."""
    with given.opened() as client:
        if only_cursor:
            output().print(client.changes.cursor())
            return
        page = client.changes.list(since, limit=limit, kinds=kinds or None)
    finish(page, as_json, _show_changes, found=page, otherwise="Nothing changed.")


def _show_versions(console: SafeConsole, versions: Sequence[Version]) -> None:
    rows = table("version", "since", "through", "text", right=("version",))
    for version in versions:
        shown = version.title or snippet(version.body, {}, _SNIPPET)[0]
        now = " (now)" if version.replaced_at is None else ""
        rows.add_row(
            f"{version.number}",
            f"{version.written_at:%Y-%m-%d %H:%M}{now}",
            " ".join(filter(None, (version.written_through, version.written_by))),
            shown,
        )
    console.print(rows)


def _show_differences(console: SafeConsole, differences: Sequence[FieldDifference]) -> None:
    for difference in differences:
        console.print(styled((f"{difference.field.replace('_', ' ')}:", "cyan")), _differing(difference))


def _differing(difference: FieldDifference) -> Text:
    """A title or body with what was removed and added in brackets, else both values."""
    if not difference.words:
        return Text(f"[-{_value(difference.earlier)}-] {{+{_value(difference.later)}+}}")
    shown = {"same": ("{}", ""), "removed": ("[-{}-]", "red"), "added": ("{{+{}+}}", "green")}
    parts = [(shown[run.change][0].format(run.text), shown[run.change][1]) for run in difference.words]
    return styled(*parts)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _show_changes(console: SafeConsole, page: Sequence[Change]) -> None:
    rows = table("at", "change", "id", "memory", right=("id",))
    for change in page:
        what: str = change.kind
        if change.zone is not None:
            what += f" to {change.zone}"
        elif change.other_id is not None:
            what += f" by {change.other_id}" if change.kind == "superseded" else f" into {change.other_id}"
        name = "" if change.layer is None else name_of(change.title or "", change.key, change.id)
        rows.add_row(f"{change.at:%Y-%m-%d %H:%M}", what, str(change.id), name)
    console.print(rows)
    notes().print(f"Continue with --since {page[-1].cursor}")
