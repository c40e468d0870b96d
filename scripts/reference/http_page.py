"""docs/reference/http.md: the routes of the service, from its own OpenAPI document."""

from __future__ import annotations

from typing import Any

from pgrecall import AsyncMemory
from pgrecall.faces.http.access_policy import AccessPolicy
from pgrecall.faces.http.app import create_app
from pgrecall.faces.http.logs import service_log
from pgrecall.faces.http.reference.routes_page import routes_page
from pgrecall.faces.http.service import Service
from pgrecall.settings import Settings
from scripts.reference.generated import HEAD

MORE = "[Serve over HTTP](../howto/serve.md) has examples."


def document() -> dict[str, Any]:
    """The OpenAPI document of a service that needs keys."""
    memory = AsyncMemory(settings=Settings(database_url="postgresql:///", embedder="none", reranker="none"))
    return create_app(Service(memory, AccessPolicy(needs_key=True), service_log("json"))).openapi()


def http_page() -> str:
    return HEAD + routes_page(document(), MORE)
