"""Commands about versions and changes: history, diff, restore, changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import click
from rich.text import Text

from pgrecall.faces.cli.declared_commands import command
from pgrecall.faces.cli.invocation import GlobalOptions, finish, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option, limit_option
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, output, styled, table
from pgrecall.faces.snippets import snippet
from pgrecall.faces.wording import name_of
from pgrecall.nouns.history._sync import HistoryGroup
from pgrecall.nouns.history.models import Change, ChangeKind, FieldDifference, Version

_SNIPPET = 80


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
            output().print(client.history.cursor())
            return
        page = client.history.changes(since, limit=limit, kinds=kinds or None)
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


history = command("history", HistoryGroup.versions, _show_versions)
diff = command(
    "diff",
    HistoryGroup.diff,
    _show_differences,
    otherwise="Nothing differs.",
    more="What was removed is shown as [-removed-], what was added as {+added+}.\n\n"
    "Exit code 1 when nothing differs.",
    arguments=["later"],
)
restore = command(
    "restore",
    HistoryGroup.restore,
    "Restored version {version}.",
    otherwise="The memory already has this text.",
    found=lambda restored: restored.outcome != "unchanged",
    more="Exit code 1 when the memory already has this text.",
    embeds=True,
)
