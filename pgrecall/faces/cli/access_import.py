"""Loading a history of uses from a file, so that vitality begins with what is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.progress import Progress
from pgrecall.faces.cli.rendering.memory import show_problems
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.importers.detect import count_items
from pgrecall.importers.jsonl import read_accesses
from pgrecall.models.access import Access
from pgrecall.models.imports import Problem

if TYPE_CHECKING:
    from pgrecall import Memory

BATCH = 500


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of a history: uses that were new, uses counted before, lines that cannot be used."""

    new: int = 0
    known: int = 0
    problems: tuple[Problem, ...] = ()


def load_accesses(memory: Memory, path: Path, *, now: datetime | None) -> Loaded:
    """Records every line of the file, batch by batch, each batch committed on its own."""
    loaded = Loaded()
    items = read_accesses(path)
    with Progress("loading", "accesses", count_items(path, "jsonl")) as bar:
        while batch := list(islice(items, BATCH)):
            loaded = _record(memory, loaded, batch, now)
            bar.reached(loaded.new + loaded.known + len(loaded.problems))
    return loaded


def show_loaded(terminal: Terminal, loaded: Loaded) -> None:
    """One line, and the problems."""
    known = f", {loaded.known:,} counted before" if loaded.known else ""
    terminal.print(f"{loaded.new:,} accesses recorded{known}.", soft_wrap=True)
    show_problems(terminal, loaded.problems)


def _record(
    memory: Memory, loaded: Loaded, batch: Sequence[Access | Problem], now: datetime | None
) -> Loaded:
    accesses = [_once(item) for item in batch if isinstance(item, Access)]
    problems = [item for item in batch if isinstance(item, Problem)]
    new = refused = 0
    for some, error in _recorded(memory, accesses, now):
        if error is None:
            new += some
        else:
            refused += 1
            problems.append(error)
    return Loaded(
        loaded.new + new,
        loaded.known + len(accesses) - refused - new,
        (*loaded.problems, *problems),
    )


def _recorded(
    memory: Memory, accesses: Sequence[Access], now: datetime | None
) -> Iterator[tuple[int, Problem | None]]:
    """One call for all of them; where one is refused, one call each, to name those at fault."""
    try:
        yield memory.record_accesses(accesses, now=now), None
    except InvalidInput as error:
        if len(accesses) == 1:
            yield 0, Problem(str(accesses[0].memory), error.message)
            return
        for access in accesses:
            yield from _recorded(memory, [access], now)


def _once(access: Access) -> Access:
    """The access with a key made of what it says, so that loading the same file twice counts it once."""
    if access.idempotency_key is not None or access.at is None:
        return access
    said = [access.memory, access.kind, access.at.isoformat(), access.session_id]
    digest = hashlib.blake2b(json.dumps(said).encode(), digest_size=16).hexdigest()
    return replace(access, idempotency_key=f"history:{digest}")
