"""The report of a prune plan as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pgrecall.faces import plan_words, wording
from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.charts.plan_chart import known_nodes, plan_chart
from pgrecall.faces.charts.vitality_histogram import plan_histogram, planned_counts
from pgrecall.nouns.memories.models import VitalityTerms
from pgrecall.nouns.plans.prune import PlanEnd, PlanExample, PlanReport, PrunePlan

if TYPE_CHECKING:
    from jinja2 import Environment

ROWS_MOST = 1000
KEPT_MOST = 200
LINKS_MOST = 500


def plan_page(plan: PrunePlan) -> str:
    """Renders a plan for review: sentences, charts of the affected links and of vitality, and tables of at
    most ``ROWS_MOST`` candidates. Deterministic."""
    return _environment().get_template("plan.html.j2").render(plan_values(plan))


def plan_values(plan: PrunePlan) -> dict[str, Any]:
    """Returns the values for the templates of a plan."""
    counts, planned = plan.report.histogram, planned_counts(plan)
    return {
        "plan": plan,
        "report": plan.report,
        "state_words": plan_words.state_words(plan),
        "summary": plan_words.summary(plan),
        "remarks": plan_words.remarks(plan),
        "options": plan_words.options_words(plan.options),
        "bounds_words": wording.bounds_words(),
        "zones": _zones(plan.report),
        "graph": plan_chart(plan),
        "links_listed": _links(plan),
        "histogram": plan_histogram(plan),
        "bins": [
            (place / len(counts), (place + 1) / len(counts), *each)
            for place, each in enumerate(zip(counts, planned, strict=True))
        ],
        "rows_most": ROWS_MOST,
        "kept_most": KEPT_MOST,
        "kept_count": plan_words.kept_count(plan.report),
    }


def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("pgrecall.faces.charts"), PackageLoader("pgrecall.faces.charts", "styles")]
        ),
        autoescape=True,  # titles are untrusted
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment


def _terms(terms: VitalityTerms) -> str:
    """Describes the number of accesses and the terms of S that are not zero."""
    values = ((name, getattr(terms, name)) for name in ("recent", "tail", "spread", "revival"))
    parts = ", ".join(f"{name} {wording.amount(value)}" for name, value in values if value > 0)
    return f"{wording.counted(terms.accesses, 'access', 'accesses')}: {parts or 'nothing is left of them'}"


def _name(memory: PlanEnd | PlanExample, width: int) -> str:
    return wording.named(memory.title, None, memory.id, width)


FILTERS: Mapping[str, Callable[..., str]] = {
    "amount": wording.amount,
    "counted": wording.counted,
    "moment": wording.moment,
    "name": _name,
    "named": wording.named,
    "number": "{:,}".format,
    "percent": wording.percent,
    "relation": wording.relation_words,
    "short": wording.shortened,
    "terms": _terms,
}


def _zones(report: PlanReport) -> dict[str, Any]:
    counts = {layer: [zones.get(zone, 0) for zone in ZONES] for layer, zones in report.zones.items()}
    return {
        "names": ZONES,
        "rows": [{"layer": layer, "counts": counts[layer]} for layer in sorted(counts)],
        "totals": [sum(column) for column in zip(*counts.values(), strict=True)],
    }


def _links(plan: PrunePlan) -> list[dict[str, str]]:
    """Lists the links of the report by name, for readers who cannot see the chart."""
    nodes = known_nodes(plan)
    return [
        {
            "source": nodes[link.source].name if link.source in nodes else f"memory {link.source}",
            "target": nodes[link.target].name if link.target in nodes else f"memory {link.target}",
            "relation": wording.relation_words(link.relation),
        }
        for link in plan.report.links[:LINKS_MOST]
    ]
