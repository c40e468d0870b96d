"""Commands about memories: list, show, access, links and stale summaries, pin, forget, unarchive."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
from click.exceptions import Exit
from rich.table import Table
from rich.text import Text

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.declared_commands import command
from pgrecall.faces.cli.invocation import BAD_INPUT, DONE, NOTHING_FOUND, GlobalOptions, finish, pass_globals
from pgrecall.faces.cli.options import (
    MOMENT,
    REFERENCE,
    REFERENCE_HELP,
    TEXT,
    filter_options,
    json_option,
    limit_option,
    now_option,
    read_search_options,
    reference_argument,
)
from pgrecall.faces.cli.rendering.console import (
    SafeConsole,
    notes,
    output,
    styled,
    table,
    vitality_bar,
    zone_text,
)
from pgrecall.faces.snippets import snippet
from pgrecall.faces.wording import counted, name_of
from pgrecall.nouns.links._sync import Links
from pgrecall.nouns.memories._sync import Store
from pgrecall.nouns.memories.models import (
    AccessCounts,
    AccessKind,
    Link,
    ListedMemory,
    ListOrder,
    StoredMemory,
)
from pgrecall.search.explained_numbers import activation_terms


@click.command("list")
@filter_options
@click.option(
    "--order",
    type=click.Choice(get_args(ListOrder)),
    default="newest",
    help="Newest first, or highest vitality first.",
)
@click.option("--session", "session_id", type=TEXT, metavar="ID", help="Only memories of this session.")
@click.option("--after", type=TEXT, metavar="CURSOR", help="Continue the list after this cursor.")
@limit_option(50, 1000, "memories")
@json_option
@now_option
@pass_globals
def list_(given: GlobalOptions, /, limit: int, as_json: bool, **options: Any) -> None:
    """List memories page by page, without a query. This does not count as an access."""
    arguments = read_search_options(options)
    with given.opened() as client:
        page = client.list(limit=limit, **arguments)
        # A page may end before its limit, by the size of its texts.
        more = not as_json and page and client.list(limit=1, **{**arguments, "after": page[-1].cursor})
    finish(page, as_json, partial(_show_list, more=bool(more)), found=page, otherwise="Nothing was found.")


@click.command("access")
@click.argument("memory", type=REFERENCE, metavar="[ID_OR_KEY]", required=False, help=REFERENCE_HELP)
@click.option("--kind", type=click.Choice(get_args(AccessKind)), default="used", help="Kind of access.")
@click.option("--at", type=MOMENT, help="Time of the access (ISO 8601); by default now.")
@click.option("--session", type=TEXT, metavar="ID", help="Session of the access.")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Load a history of accesses from JSON Lines instead.",
)
@now_option
@pass_globals
def access(
    given: GlobalOptions,
    memory: int | str | None,
    kind: AccessKind,
    at: datetime | None,
    session: str | None,
    file: Path | None,
    now: datetime | None,
) -> None:
    """Record an access to a memory, which raises its vitality; or load a history of accesses.

    Loading a history twice is harmless: an access with a time counts once.
    """
    if (memory is None) == (file is None):
        raise InvalidInput("Name either a memory or, with --from, a file.")
    if file is not None:
        _load_history(given, file, now)
    assert memory is not None
    with given.opened() as client:
        client.record_access(memory, kind, at=at, session_id=session, now=now)
        stored = client.get(memory, now=now)
    times, state = counted(stored.access_counts.used, "time"), stored.vitality
    output().print(f"Recorded. Used {times}, vitality {state.vitality:.2f}, {state.zone}.")


def _load_history(given: GlobalOptions, file: Path, now: datetime | None) -> None:
    from pgrecall.faces.cli.rendering.access_history import load_accesses
    from pgrecall.faces.cli.rendering.imports import show_problems

    with given.opened() as client:
        loaded = load_accesses(client, file, now=now)
    known = f", {loaded.known:,} counted before" if loaded.known else ""
    output().print(f"{counted(loaded.new, 'access', 'accesses')} recorded{known}.")
    show_problems(output(), loaded.problems)
    raise Exit(BAD_INPUT if loaded.problems and not (loaded.new or loaded.known) else DONE)


@click.command("pin")
@reference_argument
@click.option("--undo", is_flag=True, help="Remove the pin.")
@pass_globals
def pin(given: GlobalOptions, memory: int | str, undo: bool) -> None:
    """Pin a memory: no prune plan archives it, however low its vitality."""
    with given.opened() as client:
        changed = client.pin(memory, not undo)
    if changed:
        output().print("Unpinned." if undo else "Pinned.")
    else:
        output().print("It is not pinned." if undo else "It is already pinned.")


@click.command("forget")
@click.argument("memory", type=REFERENCE, metavar="[ID_OR_KEY]", required=False, help=REFERENCE_HELP)
@click.option("--session", type=TEXT, metavar="ID", help="Archive the memories of this session instead.")
@click.option("--hard", is_flag=True, help="Delete the memory for good, with everything about it.")
@click.option("--yes", "-y", is_flag=True, help="Delete, or archive a session, without asking.")
@pass_globals
def forget(
    given: GlobalOptions, memory: int | str | None, session: str | None, hard: bool, yes: bool
) -> None:
    """Archive a memory, or delete it with --hard; or archive the memories of a session."""
    if (memory is None) == (session is None):
        raise InvalidInput("Name either a memory or, with --session, a session.")
    if session is not None:
        _forget_session(given, session, hard=hard, yes=yes)
        return
    assert memory is not None
    with given.opened() as client:
        if hard and not yes:
            found = client.get(memory)
            _confirm(f"Delete {(found.key or found.title or str(found.id))!r} for good?", "deleted")
        changed = client.forget(memory, hard=hard)
    if not changed:
        notes().print("It is already archived.")
        raise Exit(NOTHING_FOUND)
    output().print("Deleted." if hard else "Archived.")


def _forget_session(given: GlobalOptions, session: str, *, hard: bool, yes: bool) -> None:
    if hard:
        raise InvalidInput(
            "--hard deletes one memory.",
            hint="`pgrecall erasure plan --session ID` plans the deletion of a session.",
        )
    with given.opened() as client:
        found = client.forget_session(session, dry_run=True)
        if found and not yes:
            _confirm(f"Archive {counted(found, 'memory', 'memories')} of session {session!r}?", "archived")
        archived = client.forget_session(session) if found else 0
    if not archived:
        notes().print("The session has no memories that are not archived.")
        raise Exit(NOTHING_FOUND)
    output().print(f"{counted(archived, 'memory', 'memories')} archived.")
    notes().print(f"To undo: pgrecall unarchive-session {shlex.quote(session)}")


def _confirm(question: str, done: str) -> None:
    if not (sys.stderr.isatty() and click.confirm(question, err=True)):
        raise InvalidInput(f"{question} Nothing was {done}.", hint="Confirm with --yes.")


def _show_list(console: SafeConsole, page: Sequence[ListedMemory], more: bool) -> None:
    """A table of memories, and how to continue if there are more."""
    rows = table("id", "happened", "vitality", "layer", "memory", right=("id",))
    for memory in page:
        bar = vitality_bar(memory.vitality, memory.zone, unicode=console.unicode)
        text = memory.title or snippet(memory.directive or memory.body, {}, 80)[0]
        name = name_of(text, memory.key, memory.id)
        description = styled(
            (name, "bold"),
            # Without colours, nothing else tells them apart.
            (" · " if console.unicode and memory.key else " ", "dim"),
            (memory.key or "", "cyan"),
            (" (archived)" if memory.archived_at else "", "dim"),
        )
        vitality = Text(" ").join([bar, zone_text(memory.zone)])
        rows.add_row(str(memory.id), f"{memory.happened_at:%Y-%m-%d}", vitality, memory.layer, description)
    console.print(rows)
    if more:
        notes().print(f"There are more: continue with --after '{page[-1].cursor}'")


def show_memory(console: SafeConsole, memory: StoredMemory) -> None:
    """All fields of a memory, its vitality and links, then its text."""
    console.print(styled((name_of(memory.title, memory.key, memory.id), "bold")))
    console.print(_fields(memory, unicode=console.unicode))
    if memory.body:
        console.print()
        console.print(memory.body, soft_wrap=False)


def _fields(memory: StoredMemory, *, unicode: bool) -> Table:
    fields = table("name", "value", header=False)
    fields.columns[0].no_wrap = True
    for name, value in _values(memory):
        fields.add_row(styled((name, "cyan")), value)
    zone = memory.vitality.zone
    bar = vitality_bar(memory.vitality.vitality, zone, unicode=unicode)
    fields.add_row(styled(("vitality", "cyan")), Text(" ").join([bar, zone_text(zone)]))
    fields.add_row("", styled((activation_terms(asdict(memory.vitality)), "dim")))
    for name, link in zip(["links"] + [""] * len(memory.links), memory.links, strict=False):
        fields.add_row(styled((name, "cyan")), _link(link))
    return fields


def _values(memory: StoredMemory) -> Iterator[tuple[str, str]]:
    skipped = ("title", "body", "vitality", "links")
    for name in memory.__slots__:
        value = getattr(memory, name)
        if name in skipped or value in (None, (), "", False) or (name == "metadata" and not value):
            continue
        if isinstance(value, datetime):
            value = f"{value:%Y-%m-%d %H:%M:%S %Z}"
        elif isinstance(value, tuple):
            value = ", ".join(value)
        elif isinstance(value, AccessCounts):
            numbers = {"stored": value.stored, "shown": value.shown, "used": value.used}
            value = ", ".join(f"{what} {counted(number, 'time')}" for what, number in numbers.items())
        elif isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False)
        yield name.replace("_", " "), "yes" if value is True else str(value)


def _link(link: Link) -> Text:
    arrow = "→" if link.outgoing else "←"
    name = name_of(link.other_title, link.other_key, link.other)
    return styled(f"{arrow} {link.relation.replace('_', ' ')} ", (name, "bold"), f" ({link.other})")


show = command("show", Store.get, show_memory)
stale_summaries = command(
    "stale-summaries",
    Links.stale_summaries,
    otherwise="No source changed after its summary.",
    code=DONE,
)
link = command(
    "link",
    Links.link,
    "Linked.",
    otherwise="They are already linked.",
    code=DONE,
)
unlink = command(
    "unlink",
    Links.unlink,
    "Unlinked.",
    otherwise="They have no such link.",
    more="Exit code 1 when there was none.",
)
supersede = command(
    "supersede", Links.supersede, "Superseded.", otherwise="It is already superseded.", code=DONE
)
unarchive = command(
    "unarchive", Store.unarchive, "It was restored.", otherwise="It is not archived.", code=DONE
)
unarchive_session = command(
    "unarchive-session",
    Store.unarchive_session,
    lambda console, count: console.print(f"{counted(count, 'memory', 'memories')} restored."),
    otherwise="Nothing of this session was forgotten, or it was restored since.",
)
