"""A memory, and how the memory as a whole fares, as documents that a client can read and attach."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import unquote

from mcp.types import Resource, ResourceTemplate

from pgrecall import AsyncMemory
from pgrecall.errors import InvalidInput
from pgrecall.tools import call_async
from pgrecall.tools.read_tools import GET, STATUS

MIME_TYPE = "application/json"
HEALTH = "pgrecall://health"
MEMORY = "pgrecall://memory/"

RESOURCES = (
    Resource(
        uri=HEALTH,
        name="health",
        title="Health of the memory",
        description="How much is remembered by layer and zone, how alive it is, and what needs attention.",
        mime_type=MIME_TYPE,
    ),
)
TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{MEMORY}{{+memory}}",
        name="memory",
        title="A memory",
        description="One memory whole, by id or key; pgrecall://memory/key:42 is the memory with the key 42.",
        mime_type=MIME_TYPE,
    ),
)


async def document(memory: AsyncMemory, uri: str, now: datetime) -> dict[str, Any]:
    """The document at an address.

    Raises:
        InvalidInput: no document has such an address, or there is no such memory.
    """
    if uri == HEALTH:
        return (await call_async(STATUS, memory, {}, now)).model_dump(mode="json")
    name = unquote(uri.removeprefix(MEMORY), errors="replace")
    if not uri.startswith(MEMORY) or not name:
        raise InvalidInput(
            f"There is no resource {uri!r:.200}.", hint=f"There are {HEALTH} and {MEMORY}ID_OR_KEY."
        )
    asked = {"memory": name, "max_chars": 1_000_000}
    return (await call_async(GET, memory, asked, now)).model_dump(mode="json")
