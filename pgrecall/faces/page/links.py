"""The links around a memory: its neighbourhood as a chart, as a table and as a list."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.responses import Response

from pgrecall.faces.charts.link_graph import HOPS, link_chart, node_name, relations
from pgrecall.faces.cli.values import parse_reference
from pgrecall.faces.page.form_fields import whole
from pgrecall.faces.page.request_handling import Visit
from pgrecall.models.charts import GraphNode, Neighbourhood

MOST_HOPS = 3
NODES, MOST_NODES = 60, 120


async def around(visit: Visit) -> Response:
    """The chart of what lies around a memory, and the same in words."""
    hops = whole(visit.query, "hops", HOPS, low=1, high=MOST_HOPS)
    most = whole(visit.query, "most", NODES, low=2, high=MOST_NODES)
    reference = parse_reference(visit.request.path_params["memory"])
    found = await visit.memory.neighbourhood(reference, hops=hops, limit=most, now=visit.now)
    return await visit.page(
        "links.html.j2",
        center=found.nodes[0],
        name=node_name(found.nodes[0]),
        found=found,
        chart=await asyncio.to_thread(partial(link_chart, found, hops, "/links/{}".format)),
        hops=hops,
        most_hops=MOST_HOPS,
        links=_links(found),
    )


def _links(found: Neighbourhood) -> list[tuple[GraphNode, GraphNode, str]]:
    """The links in words: what the chart shows, for readers who do not see it."""
    nodes = {node.id: node for node in found.nodes}
    return [
        (nodes[source], nodes[target], words) for (source, target), words in relations(found.links).items()
    ]
