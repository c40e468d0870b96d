"""The vitality expression in SQL: the same numbers as the vector file and the Python module, inlined."""

from __future__ import annotations

import json
import math
import random
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pgrecall.vitality.activation import MIN_AGE_DAYS, AccessSummary
from pgrecall.vitality.parameters import SEED_REVIVAL_DAYS, LayerRates
from pgrecall.vitality.score import activation_terms
from tests.databases import Query
from tests.integration.vitality.vitality_cases import TERMS, Case, ask, random_case, sums
from tests.vectors import ages_of

DOCUMENT = json.loads((Path(__file__).parents[2] / "actr_vectors.json").read_text())
COMPONENTS = DOCUMENT["components"]
LOOSE = ("10000 regular", "t_n nearly t_k", "d just below 1", "d just above 1")

POWER_SUM = (
    "SELECT recall_private.power_sum(%(n)s, %(first)s, %(t1)s, %(t2)s, %(t3)s, %(t4)s, %(t5)s, %(t6)s, "
    "%(t7)s, "
    "%(t8)s, %(decay)s, 0, %(min_age)s) AS total"
)
DEFAULTS = "(SELECT recall_private.vitality_weights('acme') AS w OFFSET 0) x"


def newest_times(ages: list[float]) -> dict[str, float | None]:
    """t1..t8 in days, as the vectors are, relative to a now of 0: the function counts in any unit."""
    times = [-age for age in ages] + [None] * 8
    return {f"t{rank + 1}": times[rank] for rank in range(8)}


def power_sum(query: Query, vector: dict[str, Any], *, ranks: slice, n: int) -> float:
    ages = ages_of(vector)
    parameters = {"n": n, "first": -ages[-1], "decay": vector["d"], "min_age": vector["min_age_days"]}
    [row] = query(POWER_SUM, parameters | newest_times(ages[ranks]))
    return float(row["total"])


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=[v["name"] for v in DOCUMENT["vectors"]])
def test_power_sum_on_every_vector(sql: Query, vector: dict[str, Any]) -> None:
    k, n = vector["k"], vector["n"]
    if k <= 8:
        total = power_sum(sql, vector, ranks=slice(0, k), n=n)
    else:
        total = power_sum(sql, vector, ranks=slice(0, 8), n=8)
        total += power_sum(sql, vector, ranks=slice(8, k), n=n - 8)
    tolerance = 1e-9 if vector["name"].startswith(LOOSE) else 1e-11
    assert math.log(total) == pytest.approx(vector["B_hybrid"], abs=tolerance, rel=1e-11)
    assert total / (1 + total) == pytest.approx(vector["vitality_hybrid"], abs=tolerance)


def test_stretch_on_every_component(sql: Query) -> None:
    for entry in COMPONENTS["structural_boost"]:
        [row] = sql(f"SELECT recall_private.link_stretch(%(in_degree)s, x.w) AS s FROM {DEFAULTS}", entry)
        assert row["s"] == pytest.approx(entry["s"], abs=1e-11)


def test_revival_on_every_component_with_the_cut_of_the_source(sql: Query) -> None:
    for entry in COMPONENTS["revival"]:
        [row] = sql("SELECT recall_private.decayed_revival(%s, %s) AS r", (entry["days"], SEED_REVIVAL_DAYS))
        assert row["r"] == pytest.approx(entry["r"], abs=1e-11)


def test_spread_now_on_every_component(sql: Query) -> None:
    for entry in COMPONENTS["boost_decay_half_life_7d"]:
        [row] = sql("SELECT recall_private.decayed_spread(%(boost)s, %(days)s) AS value", entry)
        assert row["value"] == pytest.approx(entry["value"], abs=1e-11)


def test_zone_of_on_every_component(sql: Query) -> None:
    for entry in COMPONENTS["zones"]:
        call = (
            "SELECT recall_private.zone_of(%(vitality)s, l) AS zone FROM "
            "recall_private.effective_layers('acme') l"
        )
        assert {row["zone"] for row in sql(call, entry)} == {entry["zone"]}


def test_sql_equals_python_on_ten_thousand_summaries(sql: Query) -> None:
    chance = random.Random(20260601)
    cases = [random_case(chance) for _ in range(10_000)]
    wrong = [
        (case, expected, total)
        for case, total in zip(cases, sums(sql, *cases), strict=True)
        if not math.isclose(total, expected := case.terms().activation, rel_tol=1e-11)
    ]
    assert wrong == []


def test_every_term_equals_pythons_on_a_thousand_summaries(sql: Query) -> None:
    chance = random.Random(20260602)
    cases = [random_case(chance) for _ in range(1000)]
    wrong = []
    for case, row in zip(cases, ask(sql, TERMS, cases), strict=True):
        terms = case.terms()
        names = ("recent", "tail", "spread", "revival", "activation", "vitality")
        expected = {name: getattr(terms, name) for name in names}
        expected["retention"] = terms.retention(protected=case.pinned, weights=case.weights)
        # A part far too small to show in the sum is bounded in SQL, where floats must not underflow.
        hair = 1e-12 * terms.activation
        same = all(
            math.isclose(row[name], value, rel_tol=1e-9, abs_tol=hair) for name, value in expected.items()
        )
        same &= math.isclose(row["base"], terms.base, rel_tol=1e-9, abs_tol=1e-11)
        same &= row["accesses"] == case.summary.count
        same &= row["zone"] == case.rates.zones.zone(row["retention"])
        if not same:
            wrong.append((case, row))
    assert wrong == []


def test_vitality_of_a_stored_memory_is_a_share_at_every_time(query: Query) -> None:
    [row] = query("SELECT recall.remember('a note', p_now => '2026-06-01 12:00+00') AS id")
    for rate, decay in ((0.001, 10), (1000, 10), (1, 0.0001)):
        query("UPDATE recall.activation SET clock = %s, decay = %s, n = 1000000", (rate, decay))
        for now in ("0001-01-03+00", "2026-06-01 12:00+00", "9999-12-29+00"):
            [terms] = query("SELECT * FROM recall.explain_vitality(%s, %s)", (row["id"], now))
            assert 0 < terms["vitality"] <= 1
            assert math.isfinite(terms["base"])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT recall_private.activation_sum(a, x.w, 1.78e9) "
        f"FROM recall.activation a, {DEFAULTS} WHERE a.tenant = 'acme'",
        f"SELECT a.memory_id FROM recall.activation a, {DEFAULTS} "
        "ORDER BY recall_private.activation_sum(a, x.w, recall_private.epoch(now()))",
        "SELECT m.id, recall_private.activation_sum(a, x.w, 1.78e9) FROM recall.memory m JOIN "
        "recall.activation a "
        f"ON a.tenant = m.tenant AND a.memory_id = m.id, {DEFAULTS} WHERE m.tenant = 'acme'",
    ],
)
def test_the_activation_sum_is_inlined(sql: Query, statement: str) -> None:
    plan = "\n".join(row["QUERY PLAN"] for row in sql(f"EXPLAIN (VERBOSE) {statement}"))
    inlined = (
        "activation_sum|scale_of|power_sum|decayed|tail_mean|stretch|spread_term|revival_term|revival|"
        "spread_now|epoch"
    )
    called = re.findall(rf"\b({inlined})\(", plan)
    assert called == []
    assert "sinh" in plan


def test_vitality_and_its_explanation_agree_with_python(query: Query, now: datetime) -> None:
    [row] = query(
        "SELECT recall.remember('a person', p_layer => 'entity', p_occurred_at => %s, p_now => %s) AS id",
        (now - timedelta(days=90), now - timedelta(days=80)),
    )
    [other] = query("SELECT recall.remember('a note', p_now => %s) AS id", (now - timedelta(days=50),))
    query("SELECT recall.link(%s, %s, p_now => %s)", (other["id"], row["id"], now - timedelta(days=4)))
    for days in (70, 60, 60, 33, 21, 20.5, 9, 8, 3, 0.2):
        at = now - timedelta(days=days)
        query("SELECT recall.record_access(%s, p_at => %s, p_now => %s)", (row["id"], at, now))
    query("UPDATE recall.activation SET spread = 0.7, spread_at = %s WHERE memory_id = %s",
          ((now - timedelta(days=5)).timestamp(), row["id"]))  # fmt: skip

    [a] = query("SELECT * FROM recall.activation WHERE memory_id = %s", (row["id"],))
    summary = AccessSummary(a["n"], a["first_at"], tuple(a[f"t{rank}"] for rank in range(1, 9)))
    expected = activation_terms(
        summary, LayerRates(0.1), now.timestamp(), in_degree=1, spread=0.7,
        spread_at=a["spread_at"], last_linked_at=a["last_linked_at"],
    )  # fmt: skip
    [terms] = query("SELECT * FROM recall.explain_vitality(%s, %s)", (row["id"], now))
    [alone] = query("SELECT recall.vitality(%s, %s) AS vitality", (row["id"], now))

    assert (a["n"], a["in_degree"], terms["accesses"]) == (12, 1, 12)
    for name in ("recent", "tail", "spread", "revival", "activation", "base", "vitality"):
        assert terms[name] == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert min(expected.recent, expected.tail, expected.spread, expected.revival) > 0
    assert terms["retention"] == terms["vitality"] == alone["vitality"]
    assert terms["zone"] == "active"


def test_protected_and_pinned_memories_keep_a_retention_of_a_half(query: Query, now: datetime) -> None:
    long_ago = now - timedelta(days=5000)
    for column in ("memory.pinned", "activation.protected"):
        [row] = query("SELECT recall.remember(%s, p_now => %s) AS id", (column, long_ago))
        table, flag = column.split(".")
        key = "id" if table == "memory" else "memory_id"
        query(f"UPDATE recall.{table} SET {flag} = true WHERE {key} = %s", (row["id"],))
        [terms] = query("SELECT * FROM recall.explain_vitality(%s, %s)", (row["id"], now))
        assert terms["vitality"] < 0.1
        assert (terms["retention"], terms["zone"]) == (0.5, "stale")


def test_a_stored_spread_without_its_time_counts_nothing(query: Query, now: datetime) -> None:
    [row] = query("SELECT recall.remember('a note', p_now => %s) AS id", (now - timedelta(days=1),))
    query("UPDATE recall.activation SET spread = 1, spread_at = NULL")
    [terms] = query("SELECT * FROM recall.explain_vitality(%s, %s)", (row["id"], now))
    assert (terms["spread"], terms["activation"]) == (0, pytest.approx(1))


def test_vitality_of_an_unknown_memory_is_null(query: Query) -> None:
    assert query("SELECT recall.vitality(4711) AS v") == [{"v": None}]
    assert query("SELECT * FROM recall.explain_vitality(4711)") == []


def test_vitality_of_another_tenants_memory_is_null(query: Query) -> None:
    [row] = query("SELECT recall.remember('a secret', p_key => 'k') AS id", tenant="other")
    assert query("SELECT recall.vitality(%s) AS v", (row["id"],)) == [{"v": None}]


def test_the_youngest_age_is_the_one_minute_of_python(sql: Query) -> None:
    case = Case(AccessSummary.of([0.0]), 0.0, LayerRates(base_decay=1))
    assert sums(sql, case) == [pytest.approx(1 / MIN_AGE_DAYS, rel=1e-13)]
