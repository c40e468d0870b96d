"""The MCP server: the tools of :mod:`pgrecall.tools` for agents that speak the Model Context Protocol.

server     the tools and resources, as handlers of the protocol's requests
prompts    what editors offer as commands: recall, remember, review
stdio      one client over standard input and output
handshake  the first answers over standard input, before the libraries of the others are imported
http       many clients over streamable HTTP, as a server or within another application

It needs the extra ``mcp``; :mod:`pgrecall.faces.cli.commands.mcp` reports when it is missing.
"""
