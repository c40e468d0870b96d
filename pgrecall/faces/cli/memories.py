"""Commands about single memories: show, access, link, supersede, forget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import (
    BAD_INPUT,
    DONE,
    NOTHING_FOUND,
    AsJson,
    Now,
    Reference,
    globals_of,
    notes,
    output,
)
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option, confirm
from pgrecall.faces.cli.json_output import to_text
from pgrecall.faces.cli.rendering.memory import show_memory
from pgrecall.faces.cli.values import parse_moment, parse_reference, text
from pgrecall.models.access import AccessKind

_KINDS: tuple[AccessKind, ...] = get_args(AccessKind)


def show(
    context: Context,
    memory: Reference,
    as_json: AsJson = False,
    now: Now = None,
) -> None:
    """Show one memory whole: its text, its vitality with every term, its links."""
    reference, moment = parse_reference(memory), parse_moment(now, "--now")
    with globals_of(context).opened() as client:
        found = client.get(reference, now=moment)
    if as_json:
        output().out(to_text(found))
    else:
        show_memory(output(), found)


def access(
    context: Context,
    memory: Annotated[
        str | None, Argument(metavar="ID_OR_KEY", help="Digits are an id; key:42 is a key.")
    ] = None,
    kind: Annotated[str, Option(help="write, read, reference, used or retrieval.")] = "used",
    at: Annotated[str | None, Option(help="When it was used (ISO 8601, UTC); without it now.")] = None,
    session: Annotated[str | None, Option(help="The session it was used in.")] = None,
    history: Annotated[
        Path | None, Option("--from", metavar="FILE", help="Load a history from JSON Lines instead.")
    ] = None,
    now: Now = None,
) -> None:
    """Record that a memory was used, which makes it livelier; or load a whole history of uses.

    A history may be loaded twice: a use with a time counts once.
    """
    moment = parse_moment(now, "--now")
    if (memory is None) == (history is None):
        raise InvalidInput("Name either a memory or, with --from, a file.")
    if history is not None:
        from pgrecall.faces.cli.access_import import load_accesses, show_loaded

        with globals_of(context).opened() as client:
            loaded = load_accesses(client, history, now=moment)
        show_loaded(output(), loaded)
        raise Exit(BAD_INPUT if loaded.problems and not (loaded.new or loaded.known) else DONE)
    assert memory is not None
    reference, happened = parse_reference(memory), parse_moment(at, "--at")
    session_id = text(session, "--session") if session is not None else None
    with globals_of(context).opened() as client:
        client.record_access(reference, _access_kind(kind), at=happened, session_id=session_id, now=moment)
        found = client.get(reference, now=moment)
    state = found.vitality
    output().print(
        f"Recorded. {state.accesses:,} accesses by now, vitality {state.vitality:.2f}, {state.zone}.",
        soft_wrap=True,
    )


def link(
    context: Context,
    source: Annotated[str, Argument(metavar="SRC", help="Where the link begins: an id or key.")],
    target: Annotated[str, Argument(metavar="DST", help="Where it leads: an id or key.")],
    relation: Annotated[str, Option(help="links_to, supports, contradicts and so on.")] = "links_to",
) -> None:
    """Link two memories."""
    begin, end = parse_reference(source), parse_reference(target)
    with globals_of(context).opened() as client:
        new = client.link(begin, end, text(relation, "--relation"))
    output().print("Linked." if new else "They are linked already.")


def supersede(
    context: Context,
    old: Annotated[str, Argument(metavar="OLD", help="What is no longer so: an id or key.")],
    new: Annotated[str, Argument(metavar="NEW", help="What replaces it: an id or key.")],
) -> None:
    """Say that one memory replaces another, which default search then leaves out."""
    earlier, later = parse_reference(old), parse_reference(new)
    with globals_of(context).opened() as client:
        news = client.supersede(earlier, later)
    output().print("Superseded." if news else "That was known already.")


def forget(
    context: Context,
    memory: Reference,
    hard: Annotated[bool, Option("--hard", help="Delete it for good.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before deleting.")] = False,
) -> None:
    """Archive a memory, or with --hard delete it and everything about it."""
    reference = parse_reference(memory)
    with globals_of(context).opened() as client:
        if hard and not yes:
            found = client.get(reference)
            _confirm(found.key or found.title or str(found.id))
        changed = client.forget(reference, hard=hard)
    if not changed:
        notes().print("It was archived already.")
        raise Exit(NOTHING_FOUND)
    output().print("Deleted." if hard else "Archived.")


def _confirm(name: str) -> None:
    if not (notes().interactive and confirm(f"Delete {name!r} for good?", err=True)):
        raise InvalidInput("Nothing was deleted.", hint="Confirm with --yes.")


def _access_kind(given: str) -> AccessKind:
    for kind in _KINDS:
        if given == kind:
            return kind
    raise InvalidInput(f"There is no kind of access {given!r}.", hint=f"Use one of {', '.join(_KINDS)}.")
