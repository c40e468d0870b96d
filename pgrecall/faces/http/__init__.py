"""The HTTP service: pgrecall's operations as JSON, for whoever does not speak Python or SQL.

shapes      what requests and answers look like, derived from the dataclasses
problems    errors as problem+json (RFC 9457)
admission   how much is worked on at once, and how much may wait
bearer      keys, and whom they act for
caller      the other side of a request
guard       what every route of the API goes through
routes_*    the routes
service     what they share, opened at start and closed at the end
probes      is it alive, is it ready, and its figures
metrics     those figures, as Prometheus reads them
tracing     spans, where OpenTelemetry is installed
logs        one line for each request, without anything anybody remembered
observed    the middleware that counts, times, traces and logs
app         the application as a whole, with the MCP server and the page mounted
server      uvicorn, and how it ends
"""
