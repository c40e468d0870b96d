"""Searching on the page with the plan of a language model."""

from __future__ import annotations

import pytest

from tests.acceptance.http.http_tools import member, serving
from tests.acceptance.page.page_tools import Page
from tests.http_endpoint import Endpoint
from tests.language_model import answering


def test_a_search_is_planned_where_there_is_a_model(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    endpoint = Endpoint(lambda _: answering({"queries": ["timetable <b>"]}, read=70, written=9))
    with member(database_url) as memory:
        memory.remember("The ferry has a new timetable.", key="ferry")
    with serving(database_url, llm_url=endpoint.url, llm_model="m") as served:
        plain = Page(served.client.get("/", params={"q": "ferry"}))
        assert "plan with the language model" in plain.text
        assert "Planned" not in plain.text
        assert endpoint.requests == []
        planned = Page(served.client.get("/", params={"q": "ferry", "plan": "1"}))
        assert "Planned: a fact; queries timetable <b>" in " ".join(planned.text.split())
        assert "Language model: asked once" in planned.text
        assert "70 tokens read, 9 written" in planned.text
        assert ("plan", "1") in planned.forms[0].ticked or ("plan", "1") in planned.forms[1].ticked
    endpoint.stop()
    with serving(database_url) as served:
        assert "plan with the language" not in Page(served.client.get("/", params={"q": "ferry"})).text
