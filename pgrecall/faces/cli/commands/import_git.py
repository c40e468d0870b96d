"""The command import git: commit messages as memories."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
from click.exceptions import Exit

from pgrecall.faces.cli.invocation import DONE, INCOMPLETE, NOTHING_FOUND, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import current_time, json_option, now_option, parse_since
from pgrecall.faces.cli.rendering.console import output, print_json
from pgrecall.faces.cli.rendering.imports import show_import
from pgrecall.faces.import_rules import import_rules


@click.command("git")
@click.argument(
    "folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path(),
    metavar="[FOLDER]", help="Folder of the repository; by default the current one.",
)  # fmt: skip
@click.option("--since", metavar="TIME", help="Only commits since this date, or since 7d, 2w, 6m, 1y ago.")
@click.option("--keep-secrets", is_flag=True, help="Keep passwords, keys and tokens.")
@json_option
@now_option
@pass_globals
def git(
    given: GlobalOptions,
    folder: Path,
    since: str | None,
    keep_secrets: bool,
    as_json: bool,
    now: datetime | None,
) -> None:
    """Import the messages of the commits up to HEAD. A second import adds those that are new.

    Merges and commits of bots are left out and counted. Exit code 1 when there is no commit to import, 4 when
    some could not be used.
    """
    from pgrecall.importers.git import SOURCE, read_commits

    began = parse_since(since, now or current_time())
    with given.opened(embeds=True) as memory:
        rules = import_rules(memory.layers.list(), now=now)
        commits = read_commits(folder, since=began, keep_secrets=keep_secrets, rules=rules)
        report = memory.import_drafts(commits, source=SOURCE, by_session=True, now=now)
    if as_json:
        print_json(report)
    else:
        show_import(output(), report)
    stored = report.created + report.updated + report.unchanged
    raise Exit(INCOMPLETE if report.problems else DONE if stored else NOTHING_FOUND)
