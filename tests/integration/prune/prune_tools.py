"""Vaults of old notes, and what a job works with over a test's own connection."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import networkx as nx

from pgrecall.jobs.job import JobContext, Task
from pgrecall.nouns.operation import Operation
from tests.conftest import NOW
from tests.databases import Query

LONG_AGO = NOW - timedelta(days=400)


def note(
    sql: Query, key: str, *targets: str, at: datetime = LONG_AGO, tenant: str = "acme", **fields: Any
) -> int:
    """Stores a note of a layer that fades fast, which refers to notes with these keys."""
    return notes(sql, [{"key": key, "links": targets, **fields}], at=at, tenant=tenant)[key]


def notes(
    sql: Query, drafts: Iterable[dict[str, Any]], *, at: datetime = LONG_AGO, tenant: str = "acme"
) -> dict[str, int]:
    """Stores such notes in one call; their ids by key."""
    items = [
        {"body": f"about {draft['key']}", "title": f"Note {draft['key']}", "layer": "activity"}
        | draft
        | {"links": [{"target": target} for target in draft.get("links", ())]}
        for draft in drafts
    ]
    rows = sql(
        "SELECT key, id FROM recall.remember_many(%s::jsonb, p_now => %s)",
        (json.dumps(items), at),
        tenant=tenant,
    )
    return {row["key"]: row["id"] for row in rows}


def ring(sql: Query, size: int = 6, *, old: Iterable[int] = (0, 3), tenant: str = "acme") -> dict[int, int]:
    """A ring of notes of which only the numbered ones are candidates; ids by number; 0 is livelier."""
    drafts = [
        {
            "key": f"r{i}",
            "links": [f"r{(i + 1) % size}"],
            "pinned": i not in old,
            "layer": "knowledge" if i == 0 else "activity",
        }
        for i in range(size)
    ]
    ids = notes(sql, drafts, tenant=tenant)
    return {i: ids[f"r{i}"] for i in range(size)}


def plan(sql: Query, *, tenant: str = "acme", now: datetime = NOW, **options: Any) -> int:
    """Makes a plan in SQL, without the caps of a large vault; its id."""
    given = {"p_max_share": 1.0, **options, "p_now": now}
    arguments = ", ".join(f"{name} => %({name})s" for name in given)
    [row] = sql(f"SELECT recall.plan_prune({arguments}) AS id", given, tenant=tenant)
    return int(row["id"])


def document(sql: Query, number: int, *, tenant: str = "acme") -> dict[str, Any]:
    [row] = sql("SELECT recall.get_plan(%s) AS plan", (number,), tenant=tenant)
    found: dict[str, Any] = row["plan"]
    return found


def planned(sql: Query, number: int, *, tenant: str = "acme") -> list[str]:
    """The keys of what a plan is for, the least lively first."""
    return [item["key"] for item in document(sql, number, tenant=tenant)["items"]]


def apply(sql: Query, number: int, *, tenant: str = "acme", now: datetime = NOW) -> dict[int, str]:
    """Applies a plan; what became of each item: archived, or why it was skipped."""
    rows = sql("SELECT * FROM recall.apply_plan(%s, %s)", (number, now), tenant=tenant)
    return {row["memory_id"]: row["note"] or row["outcome"] for row in rows}


def undo(sql: Query, number: int, *, now: datetime = NOW) -> int:
    return int(sql("SELECT recall.undo_plan(%s, %s) AS restored", (number, now))[0]["restored"])


def archived(sql: Query, *, tenant: str = "acme") -> set[int]:
    rows = sql(
        "SELECT id FROM recall.memory WHERE tenant = %s AND archived_at IS NOT NULL", (tenant,), tenant=tenant
    )
    return {row["id"] for row in rows}


class OwnSession:
    """The test's own connection, where a job has one."""

    def __init__(self, sql: Query) -> None:
        self._sql = sql

    def fetch(self, call: Operation[Any], *, tenant: str) -> list[dict[str, Any]]:
        return self._sql(call.sql, call.parameters, tenant=tenant)


def job_context(sql: Query, *, tenant: str = "acme") -> JobContext:
    """What a job is given to work with, over the test's own connection."""
    return JobContext(tenant, OwnSession(sql), Task())  # type: ignore[arg-type]


def link_graph(sql: Query, *, tenant: str = "acme") -> nx.Graph[int]:
    """Live memories and the references between them."""
    graph: nx.Graph[int] = nx.Graph()
    live = "SELECT id FROM recall.memory WHERE tenant = %s AND archived_at IS NULL"
    graph.add_nodes_from(row["id"] for row in sql(live, (tenant,), tenant=tenant))
    links = "SELECT src, dst FROM recall.link WHERE tenant = %s AND recall_private.is_reference(relation)"
    for row in sql(links, (tenant,), tenant=tenant):
        if row["src"] in graph and row["dst"] in graph:
            graph.add_edge(row["src"], row["dst"])
    return graph


def cut_off(graph: nx.Graph[int], removed: set[int]) -> int:
    """How many nodes that stay are not in the largest piece left of their component."""
    count = 0
    for component in nx.connected_components(graph):
        pieces = [len(piece) for piece in nx.connected_components(graph.subgraph(component - removed))]
        count += sum(pieces) - max(pieces, default=0)
    return count
