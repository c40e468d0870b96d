"""The report of a prune plan as one HTML page that needs nothing beside it: no script, no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pgrecall.faces.charts import report_words as words
from pgrecall.faces.charts.report_graph import kind_words, known_nodes
from pgrecall.faces.charts.report_svg import SHAPES, GraphPicture, Histogram, graph_picture, histogram
from pgrecall.models.memories import VitalityTerms
from pgrecall.models.prune import PlanEnd, PlanExample, PlanReport, PrunePlan

if TYPE_CHECKING:
    from jinja2 import Environment

ROWS_MOST = 1000
KEPT_MOST = 200
LINKS_MOST = 500
_ZONES = ("active", "stale", "fading", "archived")


def plan_page(plan: PrunePlan) -> str:
    """The plan for the one who reviews it: sentences, the affected links and the distribution of vitality as
    pictures, and tables of at most ``ROWS_MOST`` candidates. The same plan gives the same page."""
    return _environment().get_template("plan.html.j2").render(plan_values(plan), shapes=SHAPES)


def plan_values(plan: PrunePlan) -> dict[str, Any]:
    """What the templates of a plan are filled with."""
    graph, bars = graph_picture(plan), histogram(plan)
    return {
        "plan": plan,
        "report": plan.report,
        "state_words": words.state_words(plan),
        "summary": words.summary(plan),
        "remarks": words.remarks(plan),
        "options": words.options_words(plan.options),
        "bounds_words": words.bounds_words(),
        "zones": _zones(plan.report),
        "graph": graph,
        "graph_about": _graph_about(graph, plan),
        "graph_left_out": _left_out(graph, plan),
        "ends_drawn": any(not line.holds for line in graph.lines),
        "holds_drawn": any(line.holds for line in graph.lines),
        "kind_words": kind_words(plan),
        "links_listed": _links(plan),
        "bars": bars,
        "bars_about": _bars_about(bars, plan),
        "rows_most": ROWS_MOST,
        "kept_most": KEPT_MOST,
        "kept_count": words.kept_count(plan.report),
    }


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pgrecall.faces.charts"),
        autoescape=True,  # whatever a title holds stays text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment


def _terms(terms: VitalityTerms) -> str:
    """The terms of S that are not zero, and the number of uses they come from."""
    values = ((name, getattr(terms, name)) for name in ("recent", "tail", "spread", "revival"))
    told = ", ".join(f"{name} {words.amount(value)}" for name, value in values if value > 0)
    return f"{words.counted(terms.accesses, 'access', 'accesses')}: {told or 'nothing is left of them'}"


def _name(memory: PlanEnd | PlanExample, width: int) -> str:
    return words.named(memory.title, None, memory.id, width)


def _compact(number: int) -> str:
    return f"{number:,}" if number < 1_000_000 else f"{number / 1_000_000:.1f} M"


FILTERS: Mapping[str, Callable[..., str]] = {
    "amount": words.amount,
    "compact": _compact,
    "counted": words.counted,
    "moment": words.moment,
    "name": _name,
    "named": words.named,
    "number": "{:,}".format,
    "percent": words.percent,
    "relation": words.relation_words,
    "short": words.shortened,
    "terms": _terms,
}


def _zones(report: PlanReport) -> dict[str, Any]:
    counts = {layer: [zones.get(zone, 0) for zone in _ZONES] for layer, zones in report.zones.items()}
    return {
        "names": _ZONES,
        "rows": [{"layer": layer, "counts": counts[layer]} for layer in sorted(counts)],
        "totals": [sum(column) for column in zip(*counts.values(), strict=True)],
    }


def _links(plan: PrunePlan) -> list[dict[str, str]]:
    """The links of the report by name: what the picture shows, for those who do not see it."""
    nodes = known_nodes(plan)
    return [
        {
            "source": nodes[link.source].name if link.source in nodes else f"memory {link.source}",
            "target": nodes[link.target].name if link.target in nodes else f"memory {link.target}",
            "relation": words.relation_words(link.relation),
        }
        for link in plan.report.links[:LINKS_MOST]
    ]


def _graph_about(graph: GraphPicture, plan: PrunePlan) -> str:
    kinds = kind_words(plan)
    drawn = Counter(mark.node.kind for mark in graph.marks)
    told = [f"{words.counted(drawn[kind], 'memory', 'memories')}: {kinds[kind]}" for kind in graph.kinds]
    return f"{'; '.join(told)}; {words.counted(len(graph.lines), 'link')}. The links are listed beneath."


def _left_out(graph: GraphPicture, plan: PrunePlan) -> str:
    """What the picture does not show, in sentences; empty when it shows everything."""
    said, unlinked = [], graph.subgraph.unlinked
    if unlinked:
        many = words.counted(unlinked, "planned memory", "planned memories")
        said.append(f"Not drawn: {many} without any link.")
    if rest := graph.subgraph.left_out - unlinked:
        said.append(f"Not drawn for want of room: {words.counted(rest, 'linked memory', 'linked memories')}.")
    if unnamed := _unnamed(plan):
        said.append(
            f"Not drawn: {words.counted(unnamed, 'link')} of memories that this report does not list."
        )
    if (listed := len(plan.report.links)) < plan.report.links_ending:
        said.append(f"The plan lists {listed:,} of {plan.report.links_ending:,} links that end.")
    return " ".join(said)


def _unnamed(plan: PrunePlan) -> int:
    """Links with an end that has been deleted since, or is on another page of items."""
    nodes = known_nodes(plan)
    return sum(link.source not in nodes or link.target not in nodes for link in plan.report.links)


def _bars_about(bars: Histogram, plan: PrunePlan) -> str:
    tallest = max(bars.bars, key=lambda bar: bar.live)
    return (
        f"A histogram of {words.counted(plan.report.live, 'live memory', 'live memories')} in bins of 0.05. "
        f"The largest bin, {tallest.low:.2f} to {tallest.high:.2f}, holds {tallest.live:,}. "
        "The numbers are in the table beneath."
    )
