"""Every method of a client, called in an order in which each has something to do. Those that are declared,
only read and need nothing come last, and need not be written.

Both clients are put through the same calls on databases of their own, so every value is fixed: ids follow
from the order, and moments are given.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from pgrecall import Access, Draft, Memory, Problem
from pgrecall.nouns.declared import declarations

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
OLD = NOW - timedelta(days=400)
CODE = f"pgo_c{'a' * 65}"
"""Shaped like the code of a grant."""


class Call(NamedTuple):
    """A method, with its group where it is in one, and what it is given."""

    name: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = {}
    by_the_clock: bool = False
    """Its result depends on when it was made: it is there for those that follow."""


EXPORT = Path(__file__).with_name("empty_export.jsonl")

WRITTEN = (
    Call("keep_warm"),
    Call("export.read", (EXPORT,)),
    Call("remember", ("Mira signs the harbour contract on Friday",), {"key": "contract", "occurred_at": OLD}),
    Call("remember_many", ([Draft("The harbour opens", key="harbour", occurred_at=OLD)],), {"now": NOW}),
    Call("remember_many", ([],)),
    Call(
        "import_drafts",
        ([Draft("The ferry leaves at noon", key="ferry", source="notes"), Problem("b.md", "it is empty")],),
        {"source": "notes"},
    ),
    Call("keys_of", ("notes",)),
    Call("rename_keys", ("notes", {"ferry": "noon"}), {"now": NOW}),
    Call("rename_keys", ("notes", {"noon": "ferry"}), {"now": NOW}),
    Call("imports.list", (), {"source": "notes"}),
    Call("imports.rename", ("notes", {"ferry": "noon"}), {"now": NOW}),
    Call("imports.rename", ("notes", {"noon": "ferry"}), {"now": NOW}),
    Call("imports.archive", ("notes", ["ferry"]), {"now": NOW}),
    Call("imports.undo", (), {"source": "notes", "now": NOW}),
    Call("link", ("harbour", "contract"), {"now": NOW}),
    Call("supersede", ("ferry", "harbour"), {"now": NOW}),
    Call("link", ("ferry", "contract", "mentions"), {"now": NOW}),
    Call("unlink", ("ferry", "contract"), {"now": NOW}),
    Call("record_access", ("harbour",), {"at": NOW, "now": NOW, "idempotency_key": "once"}),
    Call("record_access", ("harbour",), {"at": NOW, "now": NOW, "idempotency_key": "once"}),
    Call("record_accesses", ([Access("contract", "used", OLD), Access("harbour")],), {"now": NOW}),
    Call("maintenance.fold"),
    Call("maintenance.refresh_statistics", (), {"now": NOW}),
    Call("maintenance.refresh_graph"),
    Call("get", ("harbour",), {"now": NOW}),
    Call("list", (), {"now": NOW, "order": "vitality", "limit": 2, "sources": ("notes",)}),
    Call("search", ("harbour contract",), {"now": NOW}),
    Call("context", ("harbour contract",), {"now": NOW, "budget_tokens": 400, "count_tokens": len}),
    Call("stale_summaries", (), {"limit": 3}),
    Call("quality.miss", ("when does the harbour open?", "contract"), {"now": NOW, "k": 1}),
    Call("layers.set", ("diary",), {"now": NOW, "metabolic_rate": 2.0}),
    Call("layers.use_preset", ("seed",), {"now": NOW}),
    Call("layers.list"),
    Call("layers.drop", ("diary",), {"now": NOW}),
    Call("settings.set", ("prune.grace_days", 1.0)),
    Call("settings.list"),
    Call("settings.reset", ("prune.grace_days",)),
    Call("pin", ("ferry",), {"now": NOW}),
    Call("plans.prune", (), {"now": NOW + timedelta(days=4000), "max_share": 1.0}),
    Call("plans.list", (), {"limit": 3}),
    Call("plans.get", (1,)),
    Call("plans.apply", (1,), {"now": NOW + timedelta(days=4000)}),
    Call("plans.undo", (1,), {"now": NOW + timedelta(days=4000)}),
    Call("plans.find_duplicates", (), {"limit": 2}),
    Call("plans.dedupe", (), {"now": NOW + timedelta(days=4000), "max_count": 5}),
    Call("plans.get", (2,)),
    Call("plans.apply", (2,), {"now": NOW + timedelta(days=4000)}),
    Call("plans.undo", (2,), {"now": NOW + timedelta(days=4000)}),
    Call("plans.merge", ("harbour", ["contract"]), {"now": NOW + timedelta(days=4000)}),
    Call("plans.drop", (3,)),
    Call("plans.redact", (), {"now": NOW + timedelta(days=4000)}),
    Call("history.vitality", ("contract", NOW)),
    Call("history.zones", (NOW,)),
    Call("maintenance.rebuild", (["contract"],)),
    Call("maintenance.verify", (), {"now": NOW}),
    Call("jobs.run", ("statistics",), {"now": NOW}),
    Call("jobs.runs", ("statistics",), {"limit": 1}),
    Call("jobs.list", (), {"now": NOW}),
    Call("status", (), {"now": NOW}),
    Call("forget", ("ferry",), {"now": NOW}),
    Call("unarchive", ("ferry",), {"now": NOW}),
    Call("forget", ("ferry",), {"now": NOW}),
    Call("forget_session", ("chat-42",), {"dry_run": True, "now": NOW}),
    Call("unarchive_session", ("chat-42",), {"now": NOW}),
    Call("context", ("harbour contract",), {"k": 2}, by_the_clock=True),
    Call("used", (1, "harbour")),
    Call("rejected", (1, ["contract"])),
    Call("quality.feedback"),
    Call("quality.qrels"),
    Call("quality.report", by_the_clock=True),
    Call("quality.experiment", (), {"difference": 0.2}),
    Call("quality.replay", (), {"vitality_mode": "off"}, by_the_clock=True),
    Call("quality.relevance_models"),
    Call("quality.rerank_models"),
    Call("quality.reset_calibration"),
    Call("settings.languages"),
    Call("settings.set_language", ("german",)),
    Call("charts.accesses", ("harbour",)),
    Call("charts.vitality_histogram", (4,), {"now": NOW}),
    Call("charts.vitality_curve", ("harbour", [OLD, NOW]), {"now": NOW}),
    Call("charts.overview", (["alive", "unused"],), {"now": NOW, "bins": 4, "limit": 2}, by_the_clock=True),
    Call("charts.zones_over_time", ([NOW],)),
    Call("charts.neighbourhood", ("harbour",), {"now": NOW}, by_the_clock=True),
    Call("export.write", (BytesIO(),), {"now": NOW}),
    Call("service.cells"),
    Call("keys.any"),
    Call("keys.create", ("editor",), {"now": NOW}, by_the_clock=True),  # its secret is random
    Call("keys.revoke", (1,), {"now": NOW}),
    Call("keys.list"),
    Call("keys.holder", ("no such secret",)),
    Call("keys.open_session", ("no such secret", "cookie", 60)),
    Call("keys.session_tenant", ("cookie",)),
    Call("keys.close_session", ("cookie",)),
    Call("keys.open_grant", ("cookie", CODE, {}, 60)),
    Call("keys.grant", (CODE,)),
    Call("keys.exchange_grant", (CODE, CODE, CODE, 60, 60)),
    Call("keys.close_grant", (CODE,)),
    Call("keys.grants"),
    Call("keys.end_grant", ("0" * 16,)),
    Call("readers.add", ("friend",), {"now": NOW}),
    Call("readers.add", ("friend",), {"may_share": True, "now": NOW}),
    Call("readers.list"),
    Call("readers.remove", ("friend",)),
    Call("edit", ("harbour",), {"title": "Opening hours", "now": NOW}),
    Call("history.versions", ("harbour",), {"limit": 5}),
    Call("history.diff", ("harbour", 1)),
    Call("history.restore", ("harbour", 1), {"now": NOW}),
    Call("history.changes", (), {"limit": 5}, by_the_clock=True),  # cursors name transactions
    Call("history.cursor", by_the_clock=True),
    Call("erasure.plan", (), {"author": "nobody", "asked_by": "Ann", "now": NOW}),
    Call("erasure.drop", (1,)),
    Call("erasure.plan", (), {"source": "notes", "asked_by": "Ann", "now": NOW}),
    Call("erasure.list", (), {"limit": 2}),
    Call("erasure.get", (2,), {"sample": 1}),
    Call("erasure.apply", (2,), {"signed_by": "Bea", "now": NOW}, by_the_clock=True),  # names sizes
    Call("service.schema"),
    Call("service.caller"),
    Call("service.census", by_the_clock=True),
)


def methods_of(client: type) -> dict[str, Any]:
    """The public methods of a client and of its groups, by the name to call them by."""
    groups = {f"{name}.": each for name, each in inspect.getmembers(client, inspect.isclass)}
    del groups["__class__."]
    return {
        f"{prefix}{name}": method
        for prefix, owner in {"": client, **groups}.items()
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }


def _plain() -> Iterator[Call]:
    """Calls of declared methods that read and need nothing."""
    written = {call.name for call in WRITTEN}
    for name, method in methods_of(Memory).items():
        verbs = {one.verb for one in declarations(method)}
        arguments = list(inspect.signature(method).parameters.values())[1:]
        needed = [each for each in arguments if each.default is each.empty]
        if verbs == {"GET"} and not needed and name not in written:
            yield Call(name, by_the_clock=True)


CALLS = (*WRITTEN, *_plain())

_OF_THE_CLOCK = {
    "last_shown_at",
    "at",
    "created_at",
    "due_at",
    "finished_at",
    "last_access_at",
    "seconds",
    "started_at",
    "statistics_at",
    "timings",
    "updated_at",
}
"""Fields that tell when a call was made, or how long it took."""


def timeless(value: Any) -> Any:
    """A result without what the clock of the database put into it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: timeless(held) for name, held in fields.items() if name not in _OF_THE_CLOCK}
    if isinstance(value, (tuple, list)):
        return [timeless(each) for each in value]
    return value
