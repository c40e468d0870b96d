"""The boxes of the search form for models that the settings have take part in every search."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.http.http_tools import member, serving
from tests.acceptance.page.page_tools import Page
from tests.http_endpoint import Endpoint, Reply
from tests.language_model import answering, judging


def properties(request: dict[str, Any]) -> dict[str, Any]:
    """What the answer to a request has to hold."""
    found: dict[str, Any] = request["response_format"]["json_schema"]["schema"]["properties"]
    return found


def honest(request: dict[str, Any]) -> Reply:
    """Plans or judges, as it is asked."""
    return (
        judging(lambda _: 1.0)(request)
        if "memories" in properties(request)
        else answering({"queries": ["boat"]})
    )


CASES = {
    "true": (
        ("", "plan rerank", ""),
        ("&plan=0&plan=1&rerank=0&rerank=1", "plan rerank", ""),
        ("&plan=0&rerank=0&rerank=1", "rerank", "Filters (1)"),
        ("&plan=0&rerank=0", "", "Filters (2)"),
    ),
    "false": (("", "", ""), ("&rerank=1", "rerank", "Filters (1)"), ("&plan=1", "plan", "Filters (1)")),
}
"""What an address adds to a query, which boxes are then ticked, and what the form says, by the settings."""


@pytest.mark.parametrize("usual", CASES)
def test_a_model_takes_part_where_its_box_is_ticked(
    database_url: str, endpoint: Endpoint, usual: str
) -> None:
    with member(database_url) as memory:
        memory.remember("Our ferry leaves at nine.")
    told = {"llm_url": endpoint.url, "llm_model": "m", "reranker": "llm"}
    with serving(database_url, **told, search_plan=usual, search_rerank=usual) as served:
        assert [
            box.attributes["value"] for box in Page(served.client.get("/")).all("input", name="plan")
        ] == (["0", "1"] if usual == "true" else ["1"])
        for number, (address, ticked, said) in enumerate(CASES[usual]):
            before = len(endpoint.requests)
            page = Page(served.client.get(f"/?q=ferry+{number}{address}"))
            asked = [
                "plan" if "queries" in properties(one) else "rerank" for one in endpoint.requests[before:]
            ]
            boxes = {name for name, _ in page.form("/").ticked}
            assert (set(asked), boxes) == (set(ticked.split()), set(ticked.split())), address
            assert ("Filters (" in page.said, said in page.said) == (bool(said), True), address
