"""The MCP server: the tools of :mod:`pgrecall.tools` for agents that speak the Model Context Protocol.

server     the protocol's requests, answered by tools and resources
resources  a memory, and how the memory as a whole fares, as documents
opening    a client opened while the first requests are under way
stdio      one client over standard input and output
http       many clients over streamable HTTP, in another application or alone

It needs the extra ``mcp``; :mod:`pgrecall.faces.cli.mcp` says so where it is missing.
"""
