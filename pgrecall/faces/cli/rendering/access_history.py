"""Loading a history of accesses, a batch at a time."""

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
from pgrecall.faces.cli.rendering.console import Progress
from pgrecall.importers.detect import count_items
from pgrecall.importers.jsonl import read_accesses
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Access

if TYPE_CHECKING:
    from pgrecall import Memory

ACCESS_BATCH = 500


@dataclass(frozen=True, slots=True)
class LoadedAccesses:
    """The outcome of loading a history: new accesses, accesses counted before, lines that cannot be used."""

    new: int = 0
    known: int = 0
    problems: tuple[Problem, ...] = ()


def load_accesses(memory: Memory, path: Path, *, now: datetime | None) -> LoadedAccesses:
    """Records every line of a history of accesses, then updates the medians that search compares use with.

    Each batch is committed on its own.
    """
    loaded = LoadedAccesses()
    items = read_accesses(path)
    with Progress("loading", "accesses", count_items(path, "jsonl")) as bar:
        while batch := list(islice(items, ACCESS_BATCH)):
            loaded = _record_batch(memory, loaded, batch, now)
            bar.add(len(batch))
    if loaded.new:
        memory.maintenance.refresh_statistics(now=now)
    return loaded


def _record_batch(
    memory: Memory, loaded: LoadedAccesses, batch: Sequence[Access | Problem], now: datetime | None
) -> LoadedAccesses:
    accesses = [_with_key(item) for item in batch if isinstance(item, Access)]
    problems = [item for item in batch if isinstance(item, Problem)]
    outcomes = list(_record(memory, accesses, now)) if accesses else []
    new = sum(outcome for outcome in outcomes if isinstance(outcome, int))
    refused = [outcome for outcome in outcomes if isinstance(outcome, Problem)]
    known = len(accesses) - len(refused) - new
    return LoadedAccesses(loaded.new + new, loaded.known + known, (*loaded.problems, *problems, *refused))


def _record(memory: Memory, accesses: Sequence[Access], now: datetime | None) -> Iterator[int | Problem]:
    """Records all in one call; if it is refused, one call each, to name those at fault."""
    try:
        yield memory.record_accesses(accesses, now=now)
    except InvalidInput as error:
        if len(accesses) == 1:
            yield Problem(str(accesses[0].memory), error.message)
            return
        for access in accesses:
            yield from _record(memory, [access], now)


def _with_key(access: Access) -> Access:
    """The access with an idempotency key made of its content, so that loading a file twice counts it once."""
    if access.idempotency_key is not None or access.at is None:
        return access
    content = [access.memory, access.kind, access.at.isoformat(), access.session_id]
    digest = hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
    return replace(access, idempotency_key=f"history:{digest}")
