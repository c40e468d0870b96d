"""docs/reference/mcp.md: the tools and resources, as the server lists them."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

from mcp import Client

from pgrecall.faces.http.reference.json_schemas import field_table
from pgrecall.faces.http.reference.markdown import anchor, code, page, table
from pgrecall.faces.mcp.server import build_server
from scripts.reference.generated import HEAD

ABOUT = """
What `pgrecall mcp` and `/mcp` of `pgrecall serve` offer to an agent, word for word.
[Setting it up](../howto/mcp.md) is another page; `pgrecall tools` prints the same tools for function calling.
"""
_SIGNS = {
    "read_only_hint": "reads only",
    "destructive_hint": "may replace or hide a memory",
    "idempotent_hint": "idempotent",
}


async def _nobody(_: Any) -> NoReturn:
    raise AssertionError("nothing is asked of a memory here")


async def _asked() -> tuple[str, list[Any], list[Any], list[Any]]:
    async with Client(build_server(_nobody, lambda _: None)) as client:
        tools, resources, templates = (
            await client.list_tools(), await client.list_resources(), await client.list_resource_templates()
        )  # fmt: skip
        return client.instructions or "", tools.tools, resources.resources, templates.resource_templates


def mcp_page() -> str:
    instructions, tools, resources, templates = asyncio.run(_asked())
    brief = table(
        ("tool", "title", "hints"),
        ((f"[`{tool.name}`](#{anchor(tool.name)})", tool.title, _marks(tool)) for tool in tools),
    )
    found = [(resource.uri, resource) for resource in resources]
    found += [(template.uri_template, template) for template in templates]
    rows = [(code(uri), each.title, each.description) for uri, each in found]
    return HEAD + page(
        "MCP",
        ABOUT,
        [
            ("Instructions", "\n".join(f"> {line}".rstrip() for line in instructions.splitlines())),
            ("Tools", "\n\n".join([brief, *map(_tool, tools)])),
            ("Resources", table(("URI", "title", "description"), rows)),
        ],
    )


def _marks(tool: Any) -> str:
    return ", ".join(words for name, words in _SIGNS.items() if getattr(tool.annotations, name))


def _tool(tool: Any) -> str:
    parts = [f"### {tool.name}", tool.description, "Arguments:", field_table(tool.input_schema) or "none."]
    return "\n\n".join([*parts, "Result:", field_table(tool.output_schema, asked=False)])
