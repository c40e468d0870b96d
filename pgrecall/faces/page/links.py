"""The view of the links around a memory, as a chart, as a table and as a list."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.responses import Response

from pgrecall.encoding import memory_reference
from pgrecall.faces.charts.link_graph import HOPS, link_chart, node_name, relations
from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.models.charts import GraphNode, Neighbourhood

MAX_HOPS = 3
NODES, MAX_NODES = 60, 120


async def links(request: PageRequest) -> Response:
    hops = int_field(request.query, "hops", HOPS, low=1, high=MAX_HOPS)
    most = int_field(request.query, "most", NODES, low=2, high=MAX_NODES)
    reference = memory_reference(request.request.path_params["memory"])
    found = await request.memory.neighbourhood(reference, hops=hops, limit=most, now=request.now)
    return await request.render(
        "links.html.j2",
        center=found.nodes[0],
        name=node_name(found.nodes[0]),
        found=found,
        chart=await asyncio.to_thread(partial(link_chart, found, hops, "/links/{}".format)),
        hops=hops,
        most_hops=MAX_HOPS,
        links=_links(found),
    )


def _links(found: Neighbourhood) -> list[tuple[GraphNode, GraphNode, str]]:
    """The links as text, for readers who do not see the chart."""
    nodes = {node.id: node for node in found.nodes}
    return [
        (nodes[source], nodes[target], words) for (source, target), words in relations(found.links).items()
    ]
