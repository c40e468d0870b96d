"""Commands of feedback: what was used, what did not answer, and what that adds up to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import DONE, NOTHING_FOUND, AsJson, Now, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Exit, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.rendering.feedback import show_feedback
from pgrecall.faces.cli.values import clock, parse_moment, parse_reference, parse_since
from pgrecall.models.feedback import JudgedSearch

feedback_commands = CommandGroup(
    "What became of what was shown: it moves vitality, and what calibration learns from.",
)

SearchId = Annotated[
    int, Argument(metavar="SEARCH_ID", help="The search; --json of search and context has its id.")
]
Memories = Annotated[list[str], Argument(metavar="ID_OR_KEY...", help="Digits are an id; key:42 is a key.")]
Since = Annotated[str | None, Option(help="Only searches from this date on, or 7d, 2w, 6m, 1y ago.")]


@feedback_commands.add("used")
def used(context: Context, search: SearchId, memories: Memories, now: Now = None) -> None:
    """Say which memories of a search were used in an answer, which makes them livelier; twice counts once."""
    references, moment = [parse_reference(memory) for memory in memories], parse_moment(now, "--now")
    with globals_of(context).opened() as client:
        new = client.used(search, references, now=moment)
    _say(new, len(set(references)), "used")


@feedback_commands.add("rejected")
def rejected(context: Context, search: SearchId, memories: Memories, now: Now = None) -> None:
    """Say which memories of a search did not answer; the later of used and rejected stands."""
    references, moment = [parse_reference(memory) for memory in memories], parse_moment(now, "--now")
    with globals_of(context).opened() as client:
        new = client.rejected(search, references, now=moment)
    _say(new, len(set(references)), "rejected")


@feedback_commands.add("show")
def show(
    context: Context,
    limit: Annotated[int, Option("-n", help="At most so many memories, 1 to 10000.")] = 20,
    unused: Annotated[bool, Option("--unused", help="Only memories that were shown and never used.")] = False,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """How often each memory and each rank was shown, used and rejected.

    Exit code 1 when nothing was shown.
    """
    begin = parse_since(since, clock())
    with globals_of(context).opened() as client:
        found = client.feedback.report(limit=limit, unused=unused, since=begin)
    if as_json:
        output().out(to_text(found))
    elif found.ranks:
        show_feedback(output(), found, unused=unused)
    else:
        notes().print("No search that is kept has shown anything.")
    raise Exit(DONE if found.ranks else NOTHING_FOUND)


@feedback_commands.add("export")
def export(
    context: Context,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Write it there instead of to standard output.")
    ] = None,
    since: Since = None,
    judged_only: Annotated[
        bool, Option("--judged-only", help="Leave out what was passed over above a used memory.")
    ] = False,
    limit: Annotated[int, Option("-n", help="The newest so many searches, 1 to 100000.")] = 10_000,
) -> None:
    """Write judged searches as JSON Lines, one a search, as `pgrecall calibrate` reads them.

    Exit code 1 when there are none.
    """
    begin = parse_since(since, clock())
    with globals_of(context).opened() as client:
        searches = client.feedback.qrels(since=begin, skipped=not judged_only, limit=limit)
    lines = (f"{qrels_line(search)}\n" for search in searches)
    if out is None:
        for line in lines:
            output().out(line, end="")
    else:
        _write(lines, out)
    judgements = sum(len(search.judgements) for search in searches)
    notes().print(f"{len(searches):,} searches, {judgements:,} judgements.")
    raise Exit(DONE if searches else NOTHING_FOUND)


def qrels_line(search: JudgedSearch) -> str:
    """One search as one line of JSON; its keys are part of the interface."""
    return json.dumps(plain(search), ensure_ascii=False)


def _say(new: int, named: int, verdict: str) -> None:
    known = f" {named - new:,} known before." if named > new else ""
    output().print(f"{new:,} {verdict}.{known}", soft_wrap=True)


def _write(lines: Iterable[str], file: Path) -> None:
    try:
        with file.open("w", encoding="utf-8") as opened:
            opened.writelines(lines)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.", hint="Name a file elsewhere with --out."
        ) from error
