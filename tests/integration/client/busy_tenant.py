"""A tenant's database after everything that can happen to it, and what verification finds in it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from pgrecall.jobs.catalogue import job_named
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.access.use_tools import fold_all, record
from tests.integration.prune.prune_tools import LONG_AGO, apply, job_context, note, plan, undo

DAY = timedelta(days=1)
CHECKS = (
    "summaries", "spreading", "links", "layers", "accesses", "idempotency keys", "floors",
    "feedback", "archivals", "versions", "statistics", "plans", "merges", "names", "waiting links",
    "successions", "vectors", "passages", "token signs",
)  # fmt: skip


SEARCH = """SELECT recall.search_and_log('{"query": "about hub leaf1 leaf2"}', p_now => %s)"""


def verify(sql: Query, *, tenant: str = "acme") -> dict[str, Any]:
    document: dict[str, Any] = sql("SELECT recall.verify(%s) AS found", (NOW,), tenant=tenant)[0]["found"]
    return document


def problems(sql: Query, *, tenant: str = "acme") -> dict[str, list[str]]:
    """The examples of each check that something breaks."""
    found = {check["name"]: check for check in verify(sql, tenant=tenant)["checks"]}
    assert tuple(found) == CHECKS
    assert all(len(check["examples"]) == min(check["problems"], 5) for check in found.values())
    return {name: check["examples"] for name, check in found.items() if check["problems"]}


def use(
    sql: Query, *memories: int, at: Any = NOW, session: str | None = None, key: str | None = None
) -> None:
    items = [
        {"memory_id": memory, "at": at, "session_id": session, "kind": "used", "idempotency_key": key}
        for memory in memories
    ]
    record(sql, items, at)


def busy(sql: Query, *, tenant: str = "acme") -> dict[str, int]:
    """A tenant's database after everything that can happen to it; ids by key."""

    def ours(text: str, parameters: Any = None, **_: str) -> list[dict[str, Any]]:
        return sql(text, parameters, tenant=tenant)

    ids = {key: note(ours, key, layer="knowledge", at=LONG_AGO) for key in ("hub", "pin", "old", "new")}
    ids |= {f"leaf{place}": note(ours, f"leaf{place}", "hub", layer="entity") for place in range(8)}
    ids |= {key: note(ours, key) for key in ("pruned", "undone", "revived", "forgotten", "expired")}
    ids["spare"] = note(ours, "spare", "hub", layer="episodic")
    for far in range(2):
        ids[f"far{far}"] = note(ours, f"far{far}", f"leaf{far}", layer="entity")
    ours("SELECT recall.set_layer('activity', 4, p_base_decay => 0.6)")
    ours("SELECT recall.set_setting('prune.max_share', 0.9)")

    for day in range(1, 14):
        use(ours, ids["hub"], ids["leaf1"], at=LONG_AGO + day * DAY, session=f"s{day}")
    use(ours, ids["hub"], at=LONG_AGO + DAY / 2, key="late")
    ours(SEARCH, (NOW - 2 * DAY,))
    call = "SELECT recall.log_shown(%s, p_now => %s, p_query => 'who?') AS id"
    [search] = ours(call, ([ids["spare"], ids["leaf2"]], NOW - 2 * DAY))
    ours("SELECT recall.rejected(%s, %s, %s)", (search["id"], [ids["leaf2"], ids["spare"]], NOW - DAY))
    fold_all(ours)
    job_named("graph").run(job_context(ours))
    for said in ("once", "twice", "again"):
        ours("SELECT recall.edit(%s, %s)", (ids["leaf6"], json.dumps({"body": f"leaf6 {said} #hub"})))
    ours("SELECT recall.pin(%s, p_now => now())", (ids["pin"],))
    ours("SELECT recall.pin(%s, p_now => now() + interval '1 second')", (ids["new"],))
    ours("SELECT recall.pin(%s, false, p_now => now() + interval '2 seconds')", (ids["new"],))
    ours("SELECT recall.supersede(%s, %s)", (ids["old"], ids["new"]))
    ours("SELECT recall.forget(%s, p_now => %s)", (ids["forgotten"], NOW - DAY))
    ours("SELECT recall.forget(%s, true)", (ids["spare"],))
    ours("UPDATE recall.memory SET expires_at = %s WHERE id = %s", (NOW - DAY, ids["expired"]))
    ours("SELECT recall.expire_memories(p_now => %s)", (NOW - DAY,))
    first = plan(ours, now=NOW - DAY, p_layers=["activity"])
    assert set(apply(ours, first, now=NOW - DAY).values()) == {"archived"}
    use(ours, ids["revived"])
    assert undo(ours, first) == 2
    assert "archived" in apply(ours, plan(ours, p_layers=["activity"])).values()
    plan(ours)
    ours("SELECT recall.refresh_statistics(%s)", (NOW,))
    ours("SELECT recall.refresh_vitality(p_now => %s)", (NOW,))
    ours(SEARCH, (NOW,))
    del ids["spare"]
    return ids
