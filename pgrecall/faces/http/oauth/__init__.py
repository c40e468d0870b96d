"""OAuth 2.1 for ``/mcp``: this service as the authorization server, by the parts of the MCP SDK.

A person signs in to the page with a key and lets a client use it; the client then has tokens of a grant.

clients   what a client is: its id describes it
provider  what the SDK asks for: codes and tokens
server    the routes, the view's requests, and access tokens of ``/mcp``
"""
