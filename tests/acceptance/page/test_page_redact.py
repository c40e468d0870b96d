"""Redact plans over HTTP, on the page and on the command line: made, applied, undone; no secret is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.page_tools import Page, complaints, sent

TOKEN = "gh" + "p_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"


@pytest.fixture
def served(database_url: str) -> Iterator[Served]:
    with member(database_url) as memory:
        memory.remember("A deployment.", title=f"Token {TOKEN}", key="crane")
        memory.remember("The ferry leaves at seven.", key="ferry")
        memory.edit("crane", body=f"Deploys with {TOKEN}")
    with serving(database_url) as running:
        yield running


def test_a_plan_over_http_has_places_and_no_secret(served: Served) -> None:
    plan = served.client.post("/v1/plans/redact").json()
    [item] = plan["items"]
    assert {(one["version"], one["field"], one["count"]) for one in item["findings"]} == {
        (None, "body", 1), (None, "title", 1), (1, "title", 1),
    }  # fmt: skip
    path = f"/v1/plans/{plan['id']}"
    answers = [served.client.get(path), served.client.get("/v1/plans", params={"kind": "redact"})]
    assert answers[0].json() == plan
    answers += [served.client.post(f"{path}/apply"), served.client.get(path)]
    assert not any(TOKEN in answer.text for answer in answers)
    assert served.client.get("/v1/memories/crane").json()["body"] == "Deploys with [removed: GitHub Token]"
    assert served.client.post(f"{path}/undo").json()["restored"] == 1
    assert TOKEN in served.client.get("/v1/memories/crane").text


def test_a_plan_on_the_page_is_made_reviewed_applied_and_undone(served: Served) -> None:
    made = sent(served.client, Page(served.client.get("/plans")).form("/plans/redact"))
    address = made.headers["location"]
    review = Page(served.client.get(address))
    assert "3 secrets in 1 memory (GitHub Token: 3)." in review.said
    assert "GitHub Token in the title of version 1" in review.said
    unsure = sent(served.client, review.form(f"{address}/apply"))
    assert "The plan was not applied." in Page(unsure).said
    sent(served.client, review.form(f"{address}/apply"), sure="1")
    outcome = Page(served.client.get(address))
    assert "1 memory was redacted, 0 skipped." in outcome.said
    sent(served.client, outcome.form(f"{address}/undo"), sure="1")
    undone = Page(served.client.get(address))
    assert "The secrets are back." in undone.said
    for page in (review, outcome, undone):
        assert complaints(page) == []
        assert TOKEN not in page.said
    sent(served.client, undone.form(f"{address}/drop"))
    assert "No plans yet." in Page(served.client.get("/plans")).said


def test_a_plan_on_the_command_line(pgrecall: Command) -> None:
    assert pgrecall("plan", "redact").code == 1
    pgrecall("remember", f"The token is {TOKEN}", "--key", "crane")
    told = pgrecall("plan", "redact")
    assert (told.code, told.err) == (0, "")
    flat = " ".join(told.out.split())
    for part in (
        "Redact plan 2, created on",
        "1 secret in 1 memory (GitHub Token: 1).",
        "pgrecall plan apply 2",
    ):
        assert part in flat, part
    assert "GitHub Token in the body" in flat
    document = json.loads(pgrecall("plan", "show", "2", "--json").out)
    assert document["report"]["kinds"] == {"GitHub Token": 1}
    applied = pgrecall("plan", "apply", "2")
    assert "Redact plan 2 is applied: 1 memory was redacted, 0 skipped." in applied.out
    assert "pgrecall plan drop 2" in applied.out
    assert "[removed: GitHub Token]" in pgrecall("list", "--json").out
    for again in (pgrecall("plan", "apply", "2"), pgrecall("plan", "show", "2", "--html", "x.html")):
        assert again.code == 2
    assert TOKEN not in told.out + applied.out + pgrecall("plan", "show", "2").out
    assert pgrecall("plan", "undo", "2").code == 0
    assert TOKEN in pgrecall("list", "--json").out
    assert pgrecall("plan", "drop", "2").code == 0
