"""The HTTP service: the client's operations as a JSON API.

app               the application: API, MCP server and page; its OpenAPI document routes            the routes
of the API, a module per noun schemas           pydantic models of requests and responses, derived from the
package's dataclasses authentication    bearer keys and the tenant each stands for request_handling  common
steps of all routes: authenticate, read the body, wait in the queue, stop on disconnect request_limits    how
many requests run and wait, how large and how slow a body may be middleware        logs, counts and traces
each request; checks the Host header problems          errors as problem+json (RFC 9457) service           the
state that routes share metrics, tracing, logs   Prometheus, OpenTelemetry, structlog server
uvicorn with time limits for slow clients
"""
