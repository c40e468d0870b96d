"""From revision 0014 with a stored prune plan: its report and items call the lowest zone dormant."""

from __future__ import annotations

import psycopg
from psycopg.types.json import Jsonb

from tests.migration.catalogue import fetch
from tests.migration.old_schemas import fill, take_to

ZONES = {"activity": {"archived": 3, "fading": 1}, "entity": {"active": 2}, "empty": {}}
NEIGHBOURS = [{"id": 7, "zone": "archived"}, {"id": 8, "zone": "stale"}, {"id": 9, "zone": "archived"}]


def test_stored_plans_name_the_dormant_zone(empty_database: str) -> None:
    take_to(empty_database, "0014")
    fill(empty_database, "0014")
    before = dict(fetch(empty_database, "SELECT id, report FROM recall.prune_plan"))
    report = {"planned": 1, "zones": ZONES, "neighbours": NEIGHBOURS, "histogram": [1, 2]}
    with psycopg.connect(empty_database) as connection:
        [(plan,)] = connection.execute(
            "INSERT INTO recall.prune_plan (tenant, state, created_at, options, report) "
            "VALUES ('other', 'planned', '2026-05-31', '{}', %s) RETURNING id",
            [Jsonb(report)],
        )
        connection.execute("""UPDATE recall.prune_item SET terms = '{"zone": "archived", "base": -2}'""")

    take_to(empty_database, "0015")

    after = dict(fetch(empty_database, "SELECT id, report FROM recall.prune_plan"))
    assert after.pop(plan) == report | {
        "zones": {"activity": {"dormant": 3, "fading": 1}, "entity": {"active": 2}, "empty": {}},
        "neighbours": [
            {"id": 7, "zone": "dormant"},
            {"id": 8, "zone": "stale"},
            {"id": 9, "zone": "dormant"},
        ],
    }
    assert after == before
    terms = fetch(empty_database, "SELECT terms FROM recall.prune_item")
    assert {row["zone"] for (row,) in terms} == {"dormant"}
