"""What is served beside the API, at every path that the API does not take."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Scope

API = "/v1"


class Beside(Mount):
    """An application mounted at the root. Paths of the API stay its own, so that what is wrong with a request
    for one of them is a problem, not a page."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        super().__init__("/", app, name="page")
        self._taken = frozenset(route.path for route in routes if isinstance(route, Route))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"]
        if path in self._taken or path == API or path.startswith(f"{API}/"):
            return Match.NONE, {}
        return super().matches(scope)
