"""What agents do with a memory, as tools: typed arguments, typed results, words for whoever calls them.

base       a tool, and the two ways to call one
schema     JSON Schemas, as plain as models read them best
arguments  what the tools take
results    what they return
finding    search, context, get, status
changing   remember, used, link, supersede, forget, prune_plan

Faces serve them (MCP) and integrations hand them to a model (OpenAI style): one definition, and so one
behaviour.
"""

from pgrecall.tools.catalogue import INSTRUCTIONS, TOOLS, tool_named
from pgrecall.tools.tool import Tool, call, call_async

__all__ = ["INSTRUCTIONS", "TOOLS", "Tool", "call", "call_async", "tool_named"]
