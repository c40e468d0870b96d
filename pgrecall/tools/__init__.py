"""Tools that agents call, with typed arguments and results. MCP and the integrations serve the same ones.

catalogue      all tools, the instructions for agents, and JSON Schemas in the forms of OpenAI and MCP
tool           what a tool is, and how to call one
arguments      the arguments of each tool
results        the result of each tool
read_tools     search, context, get, status
write_tools    remember, used, link, supersede, forget, prune_plan, dedupe_plan
version_tools  history, diff, restore, changes
"""
