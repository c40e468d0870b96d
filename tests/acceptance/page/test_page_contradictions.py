"""Contradictions that a dedupe plan proposes, linked on its page and unlinked again."""

from __future__ import annotations

from tests.acceptance.http.http_tools import member, serving
from tests.acceptance.page.page_tools import Page, sent

CODE = "The door code of the old boathouse near the market in Alden is {}"


def test_a_contradiction_is_linked_from_its_plan_and_unlinked_again(database_url: str) -> None:
    with member(database_url) as memory, serving(database_url) as served:
        old, new = (memory.remember(CODE.format(code), key=str(code)).id for code in (4711, 8812))
        made = sent(served.client, Page(served.client.get("/plans")).form("/plans/dedupe"))
        plan = Page(served.client.get(made.headers["location"]))
        assert "different numbers (4711; 8812)" in plan.said
        linked = sent(served.client, plan.form(f"/link/{old}"))
        assert [(link.other, link.relation) for link in memory.get(old).links] == [(new, "contradicts")]
        done = Page(served.client.get(linked.headers["location"]))
        undo = next(form for form in done.forms if form.action == f"/unlink/{old}")
        undone = Page(served.client.get(sent(served.client, undo).headers["location"]))
        assert "Link removed." in undone.said
        assert memory.get(old).links == ()
