"""Activation rows as values: given to the SQL expression and to the Python module alike."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import DEFAULT_WEIGHTS, LayerRates, VitalityWeights, ZoneThresholds
from pgrecall.vitality.score import ActivationTerms, activation_terms
from tests.databases import Query

DAY = 86_400.0

_GIVEN = (
    "FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY e(value, place) "
    "CROSS JOIN LATERAL jsonb_populate_record(NULL::recall.activation, e.value -> 'row') a "
    "CROSS JOIN LATERAL jsonb_populate_record(NULL::recall.weights, e.value -> 'weights') w "
    "CROSS JOIN LATERAL jsonb_populate_record(NULL::recall.layer_in_force, e.value -> 'layer') l "
)
SUMS = (
    f"SELECT recall_private.activation_sum(a, w, (e.value ->> 'now')::float8) AS total {_GIVEN} "
    f"ORDER BY e.place"
)
USE = (
    "SELECT s.total, recall_private.use_term(s.total, g.median, recall_private.use_scale("
    "jsonb_populate_record(l, jsonb_build_object('median_base', g.median)))) AS term "
    f"{_GIVEN} CROSS JOIN (SELECT %s::float8 AS min_age, %s::float8 AS median) g CROSS JOIN LATERAL ("
    "SELECT recall_private.activation_sum(a, w, (e.value ->> 'now')::float8, g.min_age) AS total OFFSET 0) s "
    "ORDER BY e.place"
)
TERMS = (
    f"SELECT t.* {_GIVEN} CROSS JOIN LATERAL recall_private.vitality_terms(a, (e.value ->> "
    f"'pinned')::boolean, l, w, "
    "to_timestamp((e.value ->> 'now')::float8)) t ORDER BY e.place"
)


@dataclass(frozen=True)
class Case:
    """A memory's summary and surroundings, and the moment it is looked at."""

    summary: AccessSummary
    now: float
    rates: LayerRates = field(default_factory=LayerRates)
    weights: VitalityWeights = DEFAULT_WEIGHTS
    around: dict[str, Any] = field(default_factory=lambda: {"in_degree": 0})
    pinned: bool = False

    def as_json(self) -> dict[str, Any]:
        recent = [*self.summary.recent, *[None] * 8]
        row = {"n": self.summary.count, "first_at": self.summary.first, "protected": False, "spread": 0.0}
        row |= {f"t{rank + 1}": recent[rank] for rank in range(8)}
        row |= {"decay": self.rates.effective_decay, "clock": self.rates.clock, **self.around}
        return {
            "row": row,
            "weights": asdict(self.weights),
            "layer": {
                **asdict(self.rates.zones),
                "clock": self.rates.clock,
                "decay": self.rates.effective_decay,
                "birth_weight": self.rates.birth_weight,
            },
            "pinned": self.pinned,
            "now": self.now,
        }

    def terms(self) -> ActivationTerms:
        return activation_terms(self.summary, self.rates, self.now, weights=self.weights, **self.around)


def ask(query: Query, statement: str, cases: Iterable[Case], *more: float) -> list[dict[str, Any]]:
    """The rows of ``statement``, one a case."""
    return query(statement, (json.dumps([case.as_json() for case in cases]), *more))


def sums(query: Query, *cases: Case) -> list[float]:
    return [float(row["total"]) for row in ask(query, SUMS, cases)]


def random_case(chance: random.Random) -> Case:
    now = float(chance.randrange(4_000_000_000))

    def moment() -> float:
        return now - chance.choice([-30, 1, 60, 3600, DAY, 30 * DAY, 2000 * DAY]) * chance.uniform(0, 1.5)

    summary = AccessSummary.of(moment() for _ in range(chance.randint(1, 12)))
    if chance.random() < 0.5:  # a ring that is not full though more is counted, as an import may leave it
        kept = summary.recent[: chance.randint(1, 8)]
        summary = AccessSummary(summary.count + chance.randint(0, 10_000), summary.first, kept)
    around = {
        "in_degree": chance.choice([0, 1, 5, 10, 400]),
        "spread": chance.choice([0.0, 1.0, chance.random()]),
        "spread_at": chance.choice([None, moment(), moment()]),
        "last_linked_at": chance.choice([None, moment(), moment()]),
    }
    return Case(summary, now, random_rates(chance), random_weights(chance), around, chance.random() < 0.3)


def random_rates(chance: random.Random) -> LayerRates:
    bounds = sorted((chance.uniform(0.001, 0.999) for _ in range(3)), reverse=True)
    zones = chance.choice([ZoneThresholds(), ZoneThresholds(*bounds)])
    rate = chance.choice([0.1, 1, 2, 3, chance.uniform(0.01, 100)])
    decay = chance.choice([0.5, 1.0, 1 + 1e-9, chance.uniform(0.01, 4)])
    return LayerRates(rate, "clock", decay, zones=zones)


def random_weights(chance: random.Random) -> VitalityWeights:
    if chance.random() < 0.3:
        return DEFAULT_WEIGHTS
    return VitalityWeights(
        spread_weight=chance.choice([0, 0.1, chance.uniform(0, 10)]),
        spread_half_life_days=chance.choice([0.01, 7, chance.uniform(0.01, 3650)]),
        revival_weight=chance.choice([0, 1, chance.uniform(0, 100)]),
        revival_rate=chance.choice([0.2, 100, chance.uniform(0.001, 5)]),
        revival_days=chance.choice([0, 14, 3650, chance.uniform(0, 100)]),
        stretch_per_link=chance.choice([0, 0.1, chance.uniform(0, 1)]),
        stretch_links=chance.choice([0, 10, 2.5, chance.uniform(0, 1000)]),
        protection_floor=chance.choice([0, 0.5, chance.uniform(0, 0.999)]),
    )
