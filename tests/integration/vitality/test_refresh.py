"""The refresh of cached vitality: it writes what the terms of vitality say, for every memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.databases import Query
from tests.integration.access.use_tools import note
from tests.integration.settings.layer_tools import OWN, set_layer

LAYERS = ("entity", "knowledge", "episodic", "activity")

_CACHED = """
SELECT a.memory_id, m.layer, a.vitality, a.computed_at, t.vitality AS wanted, t.zone
FROM recall.activation a
JOIN recall.memory m ON m.tenant = a.tenant AND m.id = a.memory_id
JOIN recall_private.effective_layers('acme') l ON l.name = m.layer
CROSS JOIN (SELECT recall_private.vitality_weights('acme') AS weights OFFSET 0) w
CROSS JOIN LATERAL recall_private.vitality_terms(a, m.pinned, l, w.weights, %s) t
WHERE a.tenant = 'acme' ORDER BY a.memory_id
"""


def scatter(sql: Query, now: datetime, layers: tuple[str, ...]) -> list[int]:
    """Memories of each layer, from a minute to two years old, some pinned and some protected; their ids."""
    ids = []
    for place, days in enumerate((0.001, 0.1, 0.5, 2, 8, 30, 120, 730)):
        for layer in layers:
            ids.append(note(sql, f"{layer} {days}", at=now - timedelta(days), layer=layer))
            if place % 3 == 1:
                sql("SELECT recall.pin(%s)", (ids[-1],))
            if place % 4 == 2:
                sql("UPDATE recall.activation SET protected = true WHERE memory_id = %s", (ids[-1],))
    return ids


def refresh(sql: Query, now: datetime, limit: int) -> list[int]:
    """Refreshes in batches of ``limit``; returns where each ended."""
    ends: list[Any] = [0]
    while ends[-1] is not None:
        row = sql("SELECT recall.refresh_vitality(%s, %s, %s) AS last", (ends[-1], limit, now))[0]
        ends.append(row["last"])
    return ends[1:-1]


@pytest.mark.parametrize("own", [False, True], ids=["zones alike", "a layer with zones of its own"])
@pytest.mark.parametrize("limit", [7, 10_000])
def test_what_is_cached_is_what_the_terms_say(sql: Query, now: datetime, own: bool, limit: int) -> None:
    layers = LAYERS
    if own:
        set_layer(sql, "own", **OWN)
        layers = (*LAYERS, "own")
    ids = scatter(sql, now, layers)
    ends = refresh(sql, now, limit)
    assert ends == ids[limit - 1 :: limit] + ([ids[-1]] if len(ids) % limit else [])
    rows = sql(_CACHED, (now,))
    assert [row["memory_id"] for row in rows] == ids
    for row in rows:
        assert row["vitality"] == pytest.approx(row["wanted"], rel=1e-14)
        assert row["computed_at"] == now
    assert {row["zone"] for row in rows} == {"active", "stale", "fading", "dormant"}
    if own:
        assert {row["layer"] for row in rows} == set(layers)


def test_another_tenant_is_left_alone(sql: Query, now: datetime) -> None:
    ours, theirs = note(sql, at=now), note(sql, at=now, tenant="other")
    refresh(sql, now, 100)
    rows = sql("SELECT memory_id, computed_at FROM recall.activation ORDER BY memory_id")
    assert [(row["memory_id"], row["computed_at"]) for row in rows] == [(ours, now), (theirs, None)]


def test_a_later_refresh_finds_less_vitality(sql: Query, now: datetime) -> None:
    memory = note(sql, at=now - timedelta(days=1))
    seen = []
    for days in (0, 10, 100):
        refresh(sql, now + timedelta(days), 100)
        seen += sql("SELECT vitality FROM recall.activation WHERE memory_id = %s", (memory,))
    vitalities = [row["vitality"] for row in seen]
    assert vitalities == sorted(vitalities, reverse=True)
    assert len(set(vitalities)) == 3


def test_only_what_has_changed_is_written(sql: Query, now: datetime) -> None:
    """An hour later the old are as they were, and the young have lost some vitality or their zone."""
    old = note(sql, "old", at=now - timedelta(days=700))
    young = note(sql, "young", at=now - timedelta(minutes=5))
    refresh(sql, now, 100)
    later = now + timedelta(hours=1)
    refresh(sql, later, 100)
    rows = {row["memory_id"]: row for row in sql(_CACHED, (later,))}
    assert (rows[old]["computed_at"], rows[young]["computed_at"]) == (now, later)
    assert rows[old]["vitality"] == pytest.approx(rows[old]["wanted"], abs=0.005)
    assert rows[young]["vitality"] == pytest.approx(rows[young]["wanted"], rel=1e-14)


def test_a_zone_is_written_however_little_vitality_has_changed(sql: Query, now: datetime) -> None:
    memory = note(sql, at=now - timedelta(days=30))
    refresh(sql, now, 100)
    later = now + timedelta(days=1)
    (row,) = sql(_CACHED, (later,))
    assert abs(row["vitality"] - row["wanted"]) < 0.005
    bound = (row["vitality"] + row["wanted"]) / 2
    sql("UPDATE recall.layer SET active = %s, stale = %s, fading = %s", (bound + 0.1, bound, bound / 2))
    sql("UPDATE recall.activation SET zone = 'stale'")
    refresh(sql, later, 100)
    (row,) = sql("SELECT zone, computed_at FROM recall.activation WHERE memory_id = %s", (memory,))
    assert (row["zone"], row["computed_at"]) == ("fading", later)


def test_nothing_to_refresh_is_the_end(sql: Query, now: datetime) -> None:
    assert refresh(sql, now, 100) == []
