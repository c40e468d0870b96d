"""From revision 0032: names in full-width letters and half-width kana are found as they are compared now."""

from __future__ import annotations

import psycopg

from tests.migration.catalogue import fetch
from tests.migration.old_schemas import fill, take_to


def test_names_are_folded(empty_database: str) -> None:
    take_to(empty_database, "0032")
    fill(empty_database, "0032")
    [(memory, tenant)] = fetch(empty_database, "SELECT id, tenant FROM recall.memory ORDER BY id LIMIT 1")
    before = fetch(empty_database, "SELECT tenant, name, memory_id FROM recall.name ORDER BY 1, 2, 3")
    with psycopg.connect(empty_database) as connection:
        for name in ("ａｂｃ　ｄ", "abc d", "ｶﾅ", "straße", "™"):
            connection.execute(
                "INSERT INTO recall.name (tenant, name, memory_id, entity) VALUES (%s, %s, %s, false)",
                (tenant, name, memory),
            )

    take_to(empty_database, "0034")

    added = [(tenant, name, memory) for name in ("abc d", "カナ", "straße")]
    after = fetch(empty_database, "SELECT tenant, name, memory_id FROM recall.name ORDER BY 1, 2, 3")
    assert sorted(map(tuple, after)) == sorted([*map(tuple, before), *added])
