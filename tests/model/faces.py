"""The same calls through SQL and the Python client; each answers in plain values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgrecall import Access, Draft, Memory
from pgrecall.nouns.history.models import FieldDifference
from pgrecall.nouns.history.word_differences import fields_by_word

Values = dict[str, Any]
Rows = list[Values]
Found = tuple[int | None, list[Values]]
"""The id of the logged search, and its hits."""

USE = ("memory_id", "kind", "at", "session_id", "idempotency_key")
Outcomes = dict[int, tuple[str, str | None]]
"""What became of each memory of a plan, and why it was skipped."""


class Sql:
    """Statements of a role that names its tenant, each in a transaction, by its own or a given connection."""

    name = "sql"

    def __init__(self, url: str, tenant: str, connection: psycopg.Connection[Values] | None = None) -> None:
        self.url, self.tenant = url, tenant
        self._connection = connection

    @property
    def connection(self) -> psycopg.Connection[Values]:
        if self._connection is None or self._connection.broken or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True, row_factory=dict_row)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def rows(self, call: str, *values: Any) -> Rows:
        with self.connection.transaction():
            self.connection.execute("SELECT set_config('recall.tenant', %s, true)", (self.tenant,))
            return self.connection.execute(
                f"SELECT * FROM recall.{call} AS answer".encode(), values
            ).fetchall()

    def value(self, call: str, *values: Any) -> Any:
        [row] = self.rows(call, *values)
        return row["answer"]

    def remember(
        self, drafts: Sequence[Values], now: datetime, *, revive: bool = True
    ) -> list[tuple[int, str]]:
        rows = self.rows("remember_many(%s, p_now => %s, p_revive => %s)", as_json(drafts), now, revive)
        return [(row["id"], row["outcome"]) for row in rows]

    def record(self, items: Sequence[Values], now: datetime) -> int:
        if len(items) == 1:
            use = [items[0].get(name) for name in USE]
            return int(self.value("record_access(%s, %s, %s, %s, %s, %s)", *use, now))
        return int(self.value("record_accesses(%s, %s)", as_json(items), now))

    def link(self, source: int, target: int, relation: str, weight: float, now: datetime) -> bool:
        return bool(self.value("link(%s, %s, %s, %s, %s)", source, target, relation, weight, now))

    def supersede(self, old: int, new: int, now: datetime) -> bool:
        return bool(self.value("supersede(%s, %s, %s)", old, new, now))

    def forget(self, memory: int, hard: bool, now: datetime) -> bool:
        return bool(self.value("forget(%s, %s, %s)", memory, hard, now))

    def pin(self, memory: int, pinned: bool, now: datetime) -> bool:
        return bool(self.value("pin(%s, %s, %s)", memory, pinned, now))

    def judge(self, verdict: str, search: int, ids: Sequence[int], now: datetime) -> int:
        return int(self.value(f"{verdict}(%s, %s::bigint[], %s)", search, list(ids), now))

    def search(self, request: Values, now: datetime) -> Found:
        asked = {name: value for name, value in request.items() if name != "log"}
        if request.get("log", True):
            rows = self.rows("search_and_log(%s, p_now => %s)", as_json(asked), now)
        else:
            names = "".join(f"p_{name} => %s, " for name in asked)
            rows = self.rows(f"search({names}p_now => %s)", *map(_sql_value, asked.values()), now)
        search = next((row["search_id"] for row in rows if "search_id" in row), None)
        return search, [row for row in rows if row["id"] is not None]

    def list(self, wanted: Values, order: str, limit: int, now: datetime) -> Rows:
        return self.rows("list_memories(%s, %s, NULL, %s, %s)", as_json(wanted), order, limit, now)

    def get(self, memory: int, now: datetime) -> Values:
        [row] = self.rows("get(%s, %s)", memory, now)
        return row

    def status(self, now: datetime) -> Values:
        return dict(self.value("status(%s)", now))

    def edit(self, memory: int, fields: Values, now: datetime) -> str:
        [row] = self.rows("edit(%s, %s, p_now => %s)", memory, as_json(fields), now)
        return str(row["outcome"])

    def versions(self, memory: int) -> Rows:
        return self.rows("versions(%s, 1001)", memory)

    def diff(self, memory: int, earlier: int, later: int | None) -> Rows:
        found = self.rows("diff_versions(%s, %s, %s)", memory, earlier, later)
        return [asdict(one) for one in fields_by_word([FieldDifference(**row) for row in found])]

    def restore(self, memory: int, version: int, now: datetime) -> str:
        [row] = self.rows("restore_version(%s, %s, p_now => %s)", memory, version, now)
        return str(row["outcome"])

    def changes(self, since: str | None, limit: int, kinds: Sequence[Any] | None) -> Rows:
        return self.rows("changes(%s, %s, %s::text[])", since, limit, kinds and list(kinds))

    def change_cursor(self) -> str:
        return str(self.value("change_cursor()"))

    def plan_dedupe(self, now: datetime) -> Values:
        while self.value("find_duplicates()"):
            pass
        return dict(self.value("get_plan(%s)", self.value("plan_dedupe(p_now => %s)", now)))

    def apply(self, plan: int, now: datetime) -> Outcomes:
        rows = self.rows("apply_plan(%s, p_now => %s)", plan, now)
        return {row["memory_id"]: (row["outcome"], row["note"]) for row in rows}

    def undo(self, plan: int, now: datetime) -> int:
        return int(self.value("undo_plan(%s, %s)", plan, now))


class Client:
    """`Memory`."""

    name = "client"

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def remember(self, drafts: Sequence[Values], now: datetime) -> list[tuple[int, str]]:
        stored = self.memory.remember_many([Draft(**draft) for draft in drafts], now=now)
        return [(one.id, one.outcome) for one in stored]

    def record(self, items: Sequence[Values], now: datetime) -> int:
        accesses = [Access(*(item.get(name) for name in USE)) for item in items]  # type: ignore[arg-type]
        return self.memory.record_accesses(accesses, now=now)

    def link(self, source: int, target: int, relation: str, weight: float, now: datetime) -> bool:
        return self.memory.link(source, target, relation, weight=weight, now=now)

    def supersede(self, old: int, new: int, now: datetime) -> bool:
        return self.memory.supersede(old, new, now=now)

    def forget(self, memory: int, hard: bool, now: datetime) -> bool:
        return self.memory.forget(memory, hard=hard, now=now)

    def pin(self, memory: int, pinned: bool, now: datetime) -> bool:
        return self.memory.pin(memory, pinned, now=now)

    def judge(self, verdict: str, search: int, ids: Sequence[int], now: datetime) -> int:
        judge = self.memory.used if verdict == "used" else self.memory.rejected
        return judge(search, list(ids), now=now)

    def search(self, request: Values, now: datetime) -> Found:
        asked = dict(request) if request.get("log", True) else {**request, "now": now}
        result = self.memory.search(**asked)
        return result.search_id, [asdict(hit) for hit in result.hits]

    def list(self, wanted: Values, order: str, limit: int, now: datetime) -> Rows:
        chosen: Any = {**wanted, "order": order, "limit": limit, "now": now}
        return [asdict(one) for one in self.memory.list(**chosen)]

    def get(self, memory: int, now: datetime) -> Values:
        return asdict(self.memory.get(memory, now=now))

    def status(self, now: datetime) -> Values:
        return asdict(self.memory.status(now=now))

    def edit(self, memory: int, fields: Values, now: datetime) -> str:
        return self.memory.edit(memory, now=now, **fields).outcome

    def versions(self, memory: int) -> Rows:
        return [asdict(one) for one in self.memory.history.versions(memory, limit=1001)]

    def diff(self, memory: int, earlier: int, later: int | None) -> Rows:
        return [asdict(one) for one in self.memory.history.diff(memory, earlier, later)]

    def restore(self, memory: int, version: int, now: datetime) -> str:
        return self.memory.history.restore(memory, version, now=now).outcome

    def changes(self, since: str | None, limit: int, kinds: Sequence[Any] | None) -> Rows:
        return [asdict(one) for one in self.memory.history.changes(since, limit=limit, kinds=kinds)]

    def change_cursor(self) -> str:
        return self.memory.history.cursor()

    def plan_dedupe(self, now: datetime) -> Values:
        return asdict(self.memory.plans.dedupe(now=now))

    def apply(self, plan: int, now: datetime) -> Outcomes:
        results = self.memory.plans.apply(plan, now=now).results
        return {one.id: (one.outcome, one.note) for one in results}

    def undo(self, plan: int, now: datetime) -> int:
        return self.memory.plans.undo(plan, now=now).restored


def as_json(value: Any) -> str:
    """JSON, with times as ISO 8601."""
    return json.dumps(value, default=lambda each: each.isoformat())


def _sql_value(value: Any) -> Any:
    return as_json(value) if isinstance(value, dict) else value
