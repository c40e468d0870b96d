"""The page `/docs`: the reference of the routes, readable offline and without scripts."""

from __future__ import annotations

import re

from tests.acceptance.http.http_tools import serving


def test_the_page_has_every_route_and_loads_nothing(database_url: str) -> None:
    with serving(database_url) as api:
        page, document = api.client.get("/docs"), api.client.get("/openapi.json").json()
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    for path, methods in document["paths"].items():
        for method in methods:
            assert f">{method.upper()} {path}</h3>" in page.text
    assert re.findall(r"<script|src=|href=\"https?:", page.text) == []
    targets = set(re.findall(r'href="#([^"]+)"', page.text))
    assert targets <= set(re.findall(r'id="([^"]+)"', page.text))
