"""A memory that is in every place that can hold text, and where to look once it was forgotten for good.

Every text of it holds ``MARK``, and no text of any other memory does but what pgrecall itself copied there.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pgrecall import Access, Draft, DraftLink, Memory
from pgrecall.errors import InvalidInput
from pgrecall.importers.chat import read_transcript
from tests.conftest import DIMENSIONS
from tests.databases import Query

MARK = "quxlum"
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
OLD = NOW - timedelta(days=700)
KEY = f"{MARK}-key"
VECTOR = [round(0.0137 * (place + 1), 4) for place in range(DIMENSIONS)]
"""Of its own: an embedding tells much of its text."""

VECTOR_BYTES = struct.pack(f"<{DIMENSIONS}e", *VECTOR)
"""As Postgres stores it."""

JOBS = ("fold", "expire", "vitality", "graph", "statistics", "prune", "verify", "partitions")


def secret(body: str = "body") -> Draft:
    return Draft(
        f"The {MARK}{body} is hidden beneath the {MARK}stone at the harbour",
        key=KEY,
        title=f"{MARK}title harbour",
        layer="activity",
        author=f"{MARK}author",
        context=f"{MARK}context folder",
        source=f"{MARK}source",
        session_id=f"{MARK}session",
        tags=(f"{MARK}tag",),
        aliases=(f"{MARK}alias",),
        metadata={f"{MARK}name": f"{MARK}value"},
        occurred_at=OLD,
        links=(DraftLink("mira"), DraftLink(f"{MARK}missing")),
    )


def fill(memory: Memory, query: Query) -> int:
    """Keeps the memory among others and uses it in every way; returns its id."""
    others = [
        Draft(f"the harbour crane number {number}", key=f"crane-{number}", occurred_at=OLD)
        for number in range(6)
    ]
    memory.remember_many(
        [*others, Draft("Mira of the harbour", key="mira", title="Mira", layer="entity", occurred_at=OLD)]
    )
    # Waits for it, and is resolved when it comes.
    memory.remember("see the stone", key="waiting", links=[DraftLink(KEY), DraftLink(f"{MARK}title harbour")])
    memory.remember_many([secret("former")], now=OLD)
    memory.remember_many([secret()], now=OLD + timedelta(days=1))
    for number in range(3):
        memory.link(f"crane-{number}", KEY)
        memory.link(KEY, f"crane-{number + 3}")
    memory.supersede("crane-0", KEY)
    memory.supersede(KEY, "crane-5")
    _use(memory)
    _plan(memory)
    for job in JOBS:
        memory.jobs.run(job, now=NOW)
    query(
        "SELECT recall_private.replace_vectors('acme', ARRAY[recall.id_of(%s)], ARRAY[%s::halfvec])",
        (KEY, json.dumps(VECTOR)),
    )
    return memory.get(KEY).id


def _use(memory: Memory) -> None:
    memory.record_access(KEY, "used", at=NOW, now=NOW, session_id=f"{MARK}-s", idempotency_key=f"{MARK}-once")
    memory.record_accesses([Access(KEY, "read", NOW), Access("mira", "read", NOW)], now=NOW)
    memory.forget(KEY, now=NOW)
    memory.remember_many([secret()], now=NOW)
    memory.pin(KEY, now=NOW)
    memory.pin(KEY, pinned=False, now=NOW)
    shown = memory.search("harbour stone", include_superseded=True, k=20)
    memory.used(shown.search_id, [KEY])
    other = memory.search("harbour folder", include_superseded=True, k=20)
    memory.rejected(other.search_id, [KEY])
    memory.context("harbour stone", include_superseded=True, k=20)


def _plan(memory: Memory) -> None:
    """A plan that was applied and undone, and one that is open; both with it."""
    later = NOW + timedelta(days=4000)
    undone = memory.plans.prune(now=later, max_share=1.0, grace_days=0.0).id
    memory.plans.apply(undone, now=later)
    memory.plans.undo(undone, now=later)
    memory.plans.prune(now=later, max_share=1.0, grace_days=0.0)


def import_conversation(memory: Memory, folder: Path) -> str:
    """A conversation in which it is the second of three turns; returns its key."""
    texts = ["where is it", f"the {MARK}turn lies beneath\nthe {MARK}stone", "thank you for that"]
    file = folder / "talk.json"
    file.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
    memory.import_drafts(read_transcript(file, source="talk"), source="talk")
    return "talk/2"


def answers(memory: Memory) -> list[str]:
    """What every way to read tells, of what is left and of what was forgotten."""
    reads: list[Callable[[], object]] = [
        lambda: memory.search("harbour", include_superseded=True, include_archived=True, k=100, log=False),
        lambda: memory.search("harbour", as_of=NOW, include_superseded=True, k=100, log=False),
        lambda: memory.search("hidden stone", explain=True, k=100, log=False),
        lambda: memory.context("harbour stone", k=100, log=False),
        lambda: memory.charts.neighbourhood("mira"),
        lambda: memory.get("waiting"),
        lambda: [memory.plans.get(plan.id) for plan in memory.plans.list()],
        lambda: [memory.jobs.runs(job) for job in JOBS],
        lambda: memory.quality.feedback(),
        lambda: memory.quality.qrels(),
        lambda: memory.charts.overview(["alive", "unused"], limit=100),
        lambda: memory.maintenance.verify(),
        lambda: memory.status(),
        lambda: memory.keys_of(f"{MARK}source"),
        lambda: memory.history.zones(NOW),
    ]
    return [_told(read) for read in reads]


def _told(read: Callable[[], object]) -> str:
    try:
        return repr(read())
    except InvalidInput as refused:
        return str(refused)
