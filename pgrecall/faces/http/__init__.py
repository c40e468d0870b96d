"""The HTTP service: the client's operations as a JSON API.

app               the application: API, MCP server and page
openapi_document  the OpenAPI document of the routes
routes            the routes of the API, a module for each noun
schemas           pydantic models of requests and responses, derived from the package's dataclasses
authentication    bearer keys and the tenant of each
request_handling  common steps of all routes: authenticate, read the body, wait in the queue
request_limits    how large and how slow a body may be; disconnects
connections       how many connections wait without a key, and which gives way
request_queue     how many requests run and wait, and the share of one tenant
middleware        logs, counts and traces each request; checks the Host header
problems          errors as problem+json (RFC 9457)
imports           files that are imported in the background
service           the state that routes share
metrics, logs     Prometheus, structlog
endpoint          /metrics and probes of a process that is not a service
server            uvicorn with time limits for slow clients
reference         the reference of the routes, for the docs and the page /docs
"""
