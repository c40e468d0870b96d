"""One memory: what it says, what is known of it, its uses, and how alive it was, is and will be."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from pgrecall.faces.charts.plots_memory import future_instants, past_instants
from pgrecall.faces.cli.values import parse_reference
from pgrecall.faces.page.memory_chart import Life, lifeline
from pgrecall.faces.page.request_handling import Visit
from pgrecall.models.charts import AccessRecord
from pgrecall.models.memories import StoredMemory
from pgrecall.search.explanation import activation_terms

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

MOST_ACCESSES, SHOWN_ACCESSES, SHOWN_LINKS = 300, 25, 60
_GRID, _DETAILED = 48, 30
_NO_FACT = ("title", "body", "vitality", "links", "key", "id", "layer", "superseded_by", "embedded_with")


async def life(visit: Visit) -> Response:
    """Everything that is stored of a memory, and its picture."""
    memory = await visit.memory.get(parse_reference(visit.request.path_params["memory"]), now=visit.now)
    records = await visit.memory.charts.accesses(memory.id, limit=MOST_ACCESSES)
    accesses = tuple(access for access in records if access.at <= visit.now)
    return await visit.page(
        "memory.html.j2",
        memory=memory,
        successor=await _named(visit.memory, memory.superseded_by),
        facts=_facts(memory),
        terms=activation_terms(asdict(memory.vitality)),
        accesses=accesses,
        shown=SHOWN_ACCESSES,
        most=MOST_ACCESSES,
        links=memory.links[:SHOWN_LINKS],
        line=await _lifeline(visit, memory, accesses),
    )


async def _lifeline(visit: Visit, memory: StoredMemory, accesses: tuple[AccessRecord, ...]) -> Any:
    """The curve, its past and its future; None of a memory that has hardly begun."""
    born = min([memory.created_at, memory.occurred_at or memory.created_at, *(one.at for one in accesses)])
    used = [access for access in accesses if access.kind != "retrieval"]
    instants = past_instants(born, used, visit.now, grid=_GRID, detailed=_DETAILED)
    curve = await visit.memory.charts.vitality_curve(
        memory.id, [*instants, *future_instants(visit.now)], now=visit.now
    )
    past = tuple(point for point in curve if point.at <= visit.now)
    future = tuple(point for point in curve if point.at >= visit.now)
    if len(past) < 2 or len(future) < 2:
        return None
    bounds = {layer.name: layer.rates.zones for layer in await visit.memory.layers.list()}[memory.layer]
    return lifeline(Life(memory, accesses, past, future, bounds, visit.now))


async def _named(memory: AsyncMemory, number: int | None) -> StoredMemory | None:
    return None if number is None else await memory.get(number)


def _facts(memory: StoredMemory) -> list[tuple[str, object]]:
    """What is stored of it beside its text, in the order in which it was given."""
    facts: list[tuple[str, object]] = [("id", memory.id)]
    if memory.key:
        facts.append(("key", memory.key))
    for name in memory.__slots__:
        value = getattr(memory, name)
        if name in _NO_FACT or value in (None, (), "", False) or (name == "metadata" and not value):
            continue
        facts.append((name.replace("_", " "), _fact(value)))
    return facts


def _fact(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value)
    return "yes" if value is True else value if isinstance(value, datetime) else str(value)
