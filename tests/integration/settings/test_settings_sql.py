"""Settings in SQL: whose value is in force, for one number and for all weights of vitality at once."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import pytest

from pgrecall.vitality.parameters import DEFAULT_WEIGHTS, WEIGHT_BOUNDS, VitalityWeights
from tests.databases import Query

EVERYBODY = "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', %s, to_jsonb(%s::float8))"


def weights(sql: Query, tenant: str = "acme") -> dict[str, Any]:
    [row] = sql("SELECT w.* FROM recall_private.vitality_weights(%s) w", (tenant,))
    return row


def number(sql: Query, name: str, tenant: str = "acme") -> float:
    return float(sql("SELECT recall_private.setting_number(%s, %s) AS value", (tenant, name))[0]["value"])


def test_the_weights_of_a_new_database_are_those_of_python(sql: Query) -> None:
    assert weights(sql) == asdict(DEFAULT_WEIGHTS)


def test_sql_bounds_weights_as_python_does(sql: Query) -> None:
    known = {row["name"]: row for row in sql("SELECT * FROM recall_private.known_settings()")}
    for weight, bounds in WEIGHT_BOUNDS.items():
        row = known[f"vitality.{weight}"]
        # Where Python leaves an end out, SQL stops a little before it.
        assert row["low"] in bounds
        assert row["high"] in bounds
        assert (row["low"], row["high"]) == pytest.approx((bounds.low, bounds.high), abs=0.002)


@pytest.mark.parametrize("weight", [field.name for field in fields(VitalityWeights)])
def test_a_tenants_own_weight_wins_over_everybodys(sql: Query, weight: str) -> None:
    name = f"vitality.{weight}"
    sql(EVERYBODY, (name, 0.25))
    assert weights(sql) == asdict(DEFAULT_WEIGHTS) | {weight: 0.25}
    sql("SELECT recall.set_setting(%s, 0.75)", (name,))
    assert weights(sql) == asdict(DEFAULT_WEIGHTS) | {weight: 0.75}
    assert (number(sql, name), number(sql, name, "other")) == (0.75, 0.25)
    assert weights(sql, "other") == asdict(DEFAULT_WEIGHTS) | {weight: 0.25}
    sql("SELECT recall.set_setting(%s, NULL)", (name,))
    assert weights(sql)[weight] == number(sql, name) == 0.25


def test_settings_that_are_none_of_vitality_are_no_weights(sql: Query) -> None:
    for name in ("access.weight_read", "spread.damping", "vitality", "vitality_spread_weight"):
        sql(EVERYBODY, (name, 0.9))
    assert weights(sql) == asdict(DEFAULT_WEIGHTS)


def test_a_weight_of_a_kind_counts_for_the_next_access(sql: Query) -> None:
    call = "SELECT recall_private.access_weight('acme', %s) AS weight"
    kinds = ("write", "read", "reference", "used", "retrieval", "glance")
    assert [sql(call, (kind,))[0]["weight"] for kind in kinds] == [1, 1, 1, 1, 0.1, None]
    sql("SELECT recall.set_setting('access.weight_reference', 0.4)")
    assert sql(call, ("reference",)) == [{"weight": 0.4}]
