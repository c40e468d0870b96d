"""Asking recall.search, and what tests of it remember."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query

Rows = list[dict[str, Any]]

TINY = 1e-9
DAY = timedelta(days=1)

law = hypothesis_settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def remember(query: Query, body: str, *, tenant: str = "acme", now: datetime = NOW, **fields: Any) -> int:
    values = {"body": body, "now": now, **fields}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return int(query(f"SELECT recall.remember({call}) AS id", values, tenant=tenant)[0]["id"])


def search(query: Query, text: str, *, tenant: str = "acme", now: datetime = NOW, **options: Any) -> Rows:
    values = {"query": text, "now": now, **options}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return query(f"SELECT * FROM recall.search({call})", values, tenant=tenant)


def keys(rows: Rows) -> list[str]:
    return [row["key"] for row in rows]


def relevances(rows: Rows) -> dict[str, float]:
    return {row["key"]: row["relevance"] for row in rows}


def count_words(query: Query, tenant: str = "acme") -> None:
    query("SELECT recall.refresh_lexemes()", tenant=tenant)


def vector(*shares: tuple[int, float]) -> str:
    """A unit vector: the given shares along the given axes, the rest of its length along the last axis."""
    values = [0.0] * DIMENSIONS
    for axis, share in shares:
        values[axis] = share
    values[-1] = math.sqrt(max(0.0, 1 - sum(share * share for share in values)))
    return "[" + ",".join(f"{value:.5f}" for value in values) + "]"


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def idf(documents: int, total: int) -> float:
    return math.log(1 + (total - documents + 0.5) / (documents + 0.5))
