"""The vitality expression in SQL: the same numbers as the vector file and the Python module, inlined."""

from __future__ import annotations

import json
import math
import random
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall.embedded import EmbeddedServer
from pgrecall.vitality import MIN_AGE_DAYS, AccessSummary, LayerRates, activation_terms
from pgrecall.vitality.structure import SEED_REVIVAL_DAYS
from tests.conftest import Query
from tests.vectors import ages_of

DOCUMENT = json.loads((Path(__file__).parents[1] / "actr_vectors.json").read_text())
COMPONENTS = DOCUMENT["components"]
LOOSE = ("10000 regular", "t_n nearly t_k", "d just below 1", "d just above 1")
DAY = 86_400.0

POWER_SUM = (
    "SELECT recall.power_sum(%(n)s, %(first)s, %(t1)s, %(t2)s, %(t3)s, %(t4)s, %(t5)s, %(t6)s, %(t7)s, "
    "%(t8)s, %(decay)s, 0, %(min_age)s) AS total"
)
ACTIVATION_SUMS = (
    "SELECT recall.activation_sum(a, (%(nows)s::float8[])[a.memory_id]) AS total "
    "FROM json_populate_recordset(NULL::recall.activation, %(rows)s::json) a ORDER BY a.memory_id"
)


@pytest.fixture(scope="module")
def shared_query(server: EmbeddedServer, template: str) -> Iterator[Query]:
    """One connection to the migrated template's clone, for what reads no table."""
    name = f"vectors_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        try:
            url = make_conninfo(server.url, dbname=name)
            with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
                yield lambda sql, parameters=None: connection.execute(sql, parameters).fetchall()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def newest_times(ages: list[float]) -> dict[str, float | None]:
    """t1..t8 in seconds relative to a now of 0, so that no digit of an age is lost."""
    times = [-age * DAY for age in ages] + [None] * 8
    return {f"t{rank + 1}": times[rank] for rank in range(8)}


def power_sum(query: Query, vector: dict[str, Any], *, ranks: slice, n: int) -> float:
    ages = ages_of(vector)
    parameters = {"n": n, "first": -ages[-1] * DAY, "decay": vector["d"], "min_age": vector["min_age_days"]}
    [row] = query(POWER_SUM, parameters | newest_times(ages[ranks]))
    return float(row["total"])


@pytest.mark.parametrize("vector", DOCUMENT["vectors"], ids=[v["name"] for v in DOCUMENT["vectors"]])
def test_power_sum_on_every_vector(shared_query: Query, vector: dict[str, Any]) -> None:
    k, n = vector["k"], vector["n"]
    if k <= 8:
        total = power_sum(shared_query, vector, ranks=slice(0, k), n=n)
    else:
        total = power_sum(shared_query, vector, ranks=slice(0, 8), n=8)
        total += power_sum(shared_query, vector, ranks=slice(8, k), n=n - 8)
    tolerance = 1e-9 if vector["name"].startswith(LOOSE) else 1e-11
    assert math.log(total) == pytest.approx(vector["B_hybrid"], abs=tolerance, rel=1e-11)
    assert total / (1 + total) == pytest.approx(vector["vitality_hybrid"], abs=tolerance)


def test_stretch_on_every_component(shared_query: Query) -> None:
    for entry in COMPONENTS["structural_boost"]:
        [row] = shared_query("SELECT recall.stretch(%(in_degree)s) AS s", entry)
        assert row["s"] == pytest.approx(entry["s"], abs=1e-11)


def test_revival_on_every_component_with_the_cut_of_the_source(shared_query: Query) -> None:
    for entry in COMPONENTS["revival"]:
        [row] = shared_query("SELECT recall.revival(%s, %s) AS r", (entry["days"], SEED_REVIVAL_DAYS))
        assert row["r"] == pytest.approx(entry["r"], abs=1e-11)


def test_spread_now_on_every_component(shared_query: Query) -> None:
    for entry in COMPONENTS["boost_decay_half_life_7d"]:
        [row] = shared_query("SELECT recall.spread_now(%(boost)s, %(days)s) AS value", entry)
        assert row["value"] == pytest.approx(entry["value"], abs=1e-11)


def test_zone_of_on_every_component(shared_query: Query) -> None:
    for entry in COMPONENTS["zones"]:
        [row] = shared_query("SELECT recall.zone_of(%(vitality)s) AS zone", entry)
        assert row["zone"] == entry["zone"]


def activation_row(
    place: int, summary: AccessSummary, rates: LayerRates, around: dict[str, Any]
) -> dict[str, Any]:
    recent = list(summary.recent) + [None] * 8
    return {
        "memory_id": place,
        "n": summary.count,
        "first_at": summary.first,
        **{f"t{rank + 1}": recent[rank] for rank in range(8)},
        "decay": rates.effective_decay,
        "clock": rates.clock,
        **around,
    }


def random_case(chance: random.Random) -> tuple[AccessSummary, LayerRates, dict[str, Any], float]:
    now = chance.uniform(0, 4e9)

    def moment() -> float:
        return now - chance.choice([-30, 1, 60, 3600, DAY, 30 * DAY, 2000 * DAY]) * chance.uniform(0, 1.5)

    summary = AccessSummary.of(moment() for _ in range(chance.randint(1, 12)))
    if chance.random() < 0.5:  # a ring that is not full though more is counted, as an import may leave it
        kept = summary.recent[: chance.randint(1, 8)]
        summary = AccessSummary(summary.count + chance.randint(0, 10_000), summary.first, kept)
    rates = LayerRates(chance.choice([0.1, 1, 2, 3, chance.uniform(0.01, 100)]), "clock",
                       chance.choice([0.5, 1.0, 1 + 1e-9, chance.uniform(0.01, 4)]))  # fmt: skip
    around = {
        "in_degree": chance.choice([0, 1, 5, 10, 400]),
        "spread": chance.choice([0.0, 1.0, chance.random()]),
        "spread_at": chance.choice([None, moment(), moment()]),
        "last_linked_at": chance.choice([None, moment(), moment()]),
    }
    return summary, rates, around, now


def test_sql_equals_python_on_thousands_of_summaries(shared_query: Query) -> None:
    chance = random.Random(20260601)
    cases = [random_case(chance) for _ in range(5000)]
    rows = [activation_row(place, *case[:3]) for place, case in enumerate(cases, 1)]
    answers = shared_query(ACTIVATION_SUMS, {"rows": json.dumps(rows), "nows": [case[3] for case in cases]})
    wrong = [
        (summary, rates, around, now, expected, row["total"])
        for (summary, rates, around, now), row in zip(cases, answers, strict=True)
        if (expected := activation_terms(summary, rates, now, **around).activation)
        and not math.isclose(row["total"], expected, rel_tol=1e-11)
    ]
    assert wrong == []


def test_extremes_never_raise(shared_query: Query) -> None:
    year_1, year_9999 = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1, 9999))
    times = (year_1, 0.0, 1.78e9, year_9999)
    cases = [
        ({"n": n, "first_at": first, "t1": newest, "t2": first if n > 1 else None, "decay": decay,
          "clock": clock, "in_degree": in_degree, "spread": 1.0, "spread_at": newest,
          "last_linked_at": first}, now)
        for decay in (0.0001, 0.05, 1, 10)
        for clock in (0.001, 1, 1000)
        for first in times
        for newest in times
        for now in times
        for n, in_degree in ((1, 0), (9, 2**31 - 1), (2**62, 10))
        if first <= newest
    ]  # fmt: skip
    rows = [case[0] | {"memory_id": place} for place, case in enumerate(cases, 1)]
    answers = shared_query(ACTIVATION_SUMS, {"rows": json.dumps(rows), "nows": [case[1] for case in cases]})
    assert len(answers) == len(cases)
    assert all(math.isfinite(row["total"]) and row["total"] > 0 for row in answers)


def test_vitality_of_a_stored_memory_is_a_share_at_every_time(query: Query) -> None:
    [row] = query("SELECT recall.remember('a note', p_now => '2026-06-01 12:00+00') AS id")
    for rate, decay in ((0.001, 10), (1000, 10), (1, 0.0001)):
        query("UPDATE recall.activation SET clock = %s, decay = %s, n = 1000000", (rate, decay))
        for now in ("0001-01-01+00", "2026-06-01 12:00+00", "9999-12-31+00"):
            [terms] = query("SELECT * FROM recall.explain_vitality(%s, %s)", (row["id"], now))
            assert 0 < terms["vitality"] <= 1
            assert math.isfinite(terms["base"])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT recall.activation_sum(a, 1.78e9) FROM recall.activation a WHERE a.tenant = 'acme'",
        "SELECT a.memory_id FROM recall.activation a ORDER BY recall.activation_sum(a, recall.epoch(now()))",
        "SELECT m.id, recall.activation_sum(a, 1.78e9) FROM recall.memory m JOIN recall.activation a "
        "ON a.tenant = m.tenant AND a.memory_id = m.id WHERE m.tenant = 'acme'",
    ],
)
def test_the_activation_sum_is_inlined(shared_query: Query, statement: str) -> None:
    plan = "\n".join(row["QUERY PLAN"] for row in shared_query(f"EXPLAIN (VERBOSE) {statement}"))
    called = re.findall(r"\b(activation_sum|power_sum|tail_mean|stretch|revival|spread_now|epoch)\(", plan)
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


def test_the_youngest_age_is_the_one_minute_of_python(shared_query: Query) -> None:
    row = {"memory_id": 1, "n": 1, "first_at": 0, "t1": 0, "decay": 1, "clock": 1, "in_degree": 0}
    [row] = shared_query(ACTIVATION_SUMS, {"rows": json.dumps([row]), "nows": [0.0]})
    assert row["total"] == pytest.approx(1 / MIN_AGE_DAYS, rel=1e-13)
