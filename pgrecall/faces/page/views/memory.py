"""The views of a memory: its text, fields, accesses and vitality; and the links around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import Response

from pgrecall.client.concurrency import async_run
from pgrecall.encoding import memory_reference
from pgrecall.faces.charts.axes import NARROW
from pgrecall.faces.charts.link_chart import FOLLOWED_RELATIONS, HOPS, link_chart, node_name, relations
from pgrecall.faces.charts.memory_chart import Life, future_instants, memory_chart, past_instants
from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.markdown import render_markdown
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.faces.page.views.actions import undo_of
from pgrecall.nouns.charts.models import AccessRecord, GraphNode, Neighbourhood
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.search.explained_numbers import activation_terms

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

MAX_ACCESSES, SHOWN_ACCESSES, SHOWN_LINKS, SHOWN_VERSIONS = 300, 25, 60, 5
_GRID, _DETAILED = 48, 30
_SHOWN_ELSEWHERE = (
    "title",
    "body",
    "vitality",
    "links",
    "key",
    "id",
    "layer",
    "superseded_by",
    "embedded_with",
    "access_counts",
    "pinned",
)


async def memory(request: PageRequest) -> Response:
    reference = memory_reference(request.request.path_params["memory"])
    stored = await request.memory.get(reference, now=request.now)
    records = await request.memory.charts.accesses(stored.id, limit=MAX_ACCESSES)
    accesses = tuple(access for access in records if access.at <= request.now)
    life = await _life(request, stored, accesses)
    return await request.render(
        "memory.html.j2",
        memory=stored,
        successor=await _successor(request.memory, stored),
        fields=_fields(stored),
        terms=activation_terms(asdict(stored.vitality)),
        accesses=accesses,
        shown=SHOWN_ACCESSES,
        limit=MAX_ACCESSES,
        links=stored.links[:SHOWN_LINKS],
        versions=await request.memory.history.versions(stored.id, limit=SHOWN_VERSIONS),
        life=life,
        chart=None if life is None else memory_chart(life),
        narrow_chart=None if life is None else memory_chart(life, NARROW),
        html=await async_run(partial(render_markdown, stored.body)),
        kept_at=stored.vitality.zone if stored.vitality.retention > stored.vitality.vitality else None,
        done=request.done,
        undo=undo_of(stored, request.done) if request.may_write else None,
    )


async def _life(
    request: PageRequest, memory: StoredMemory, accesses: tuple[AccessRecord, ...]
) -> Life | None:
    """The vitality curve, past and future; None for a memory that was only just stored."""
    born = min([memory.created_at, memory.occurred_at or memory.created_at, *(one.at for one in accesses)])
    used = [access for access in accesses if access.kind != "retrieval"]
    instants = past_instants(born, used, request.now, grid=_GRID, detailed=_DETAILED)
    curve = await request.memory.charts.vitality_curve(
        memory.id, [*instants, *future_instants(request.now)], now=request.now
    )
    past = tuple(point for point in curve if point.at <= request.now)
    future = tuple(point for point in curve if point.at >= request.now)
    if len(past) < 2 or len(future) < 2:
        return None
    bounds = {layer.name: layer.rates.zones for layer in await request.memory.layers.list()}[memory.layer]
    return Life(memory, accesses, past, future, bounds, request.now)


async def _successor(client: AsyncMemory, memory: StoredMemory) -> StoredMemory | None:
    return None if memory.superseded_by is None else await client.get(memory.superseded_by)


def _fields(memory: StoredMemory) -> list[tuple[str, object]]:
    """The stored fields that are not empty and not shown elsewhere on the page."""
    fields: list[tuple[str, object]] = [("id", memory.id)]
    if memory.key:
        fields.append(("key", memory.key))
    for name in memory.__slots__:
        value = getattr(memory, name)
        if name in _SHOWN_ELSEWHERE or value in (None, (), "", False) or (name == "metadata" and not value):
            continue
        fields.append((name.replace("_", " "), _field(value)))
    return fields


def _field(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return "yes" if value is True else value if isinstance(value, datetime) else str(value)


MAX_HOPS = 3
NODES, MAX_NODES, NARROW_NODES = 60, 120, 20


async def links(request: PageRequest) -> Response:
    hops = int_field(request.query, "hops", HOPS, low=1, high=MAX_HOPS)
    limit = int_field(request.query, "limit", NODES, low=2, high=MAX_NODES)
    reference = memory_reference(request.request.path_params["memory"])
    stored = await request.memory.get(reference, now=request.now)
    found = await request.memory.charts.neighbourhood(stored.id, hops=hops, limit=limit, now=request.now)
    undrawn = [link for link in stored.links if link.relation not in FOLLOWED_RELATIONS]
    return await request.render(
        "links.html.j2",
        center=found.nodes[0],
        name=node_name(found.nodes[0]),
        found=found,
        chart=await async_run(partial(link_chart, found, hops, "/links/{}".format)),
        narrow_chart=await async_run(
            partial(link_chart, nearest(found, NARROW_NODES), hops, "/links/{}".format, NARROW)
        ),
        bounds={layer.name: layer.rates.zones for layer in await request.memory.layers.list()},
        hops=hops,
        max_hops=MAX_HOPS,
        links=_links(found),
        undrawn=undrawn[:SHOWN_LINKS],
        undrawn_count=len(undrawn),
    )


def nearest(found: Neighbourhood, limit: int) -> Neighbourhood:
    """The neighbourhood with at most ``limit`` memories, the nearest ones, for a narrow chart."""
    nodes = found.nodes[:limit]
    ids = {node.id for node in nodes}
    links = tuple(link for link in found.links if link.source in ids and link.target in ids)
    return Neighbourhood(nodes, links, found.left_out + len(found.nodes) - len(nodes))


def _links(found: Neighbourhood) -> list[tuple[GraphNode, GraphNode, str]]:
    """The links as text, for readers who do not see the chart."""
    nodes = {node.id: node for node in found.nodes}
    return [
        (nodes[source], nodes[target], words) for (source, target), words in relations(found.links).items()
    ]
