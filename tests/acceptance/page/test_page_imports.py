"""Imports on the page: the last ones of each source, and undoing one, with the right to write alone."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import PLAIN, Served, member
from tests.acceptance.page.page_tools import Page, complaints, sent


@pytest.fixture(scope="module")
def memory(url: str) -> Iterator[Memory]:
    with member(url) as client:
        yield client


@pytest.fixture(scope="module")
def keys(memory: Memory) -> dict[str, str]:
    return {
        "writer": memory.keys.create("writer").secret,
        "reader": memory.keys.create("reader", read_only=True).secret,
    }


@pytest.fixture
def people(served: Served, keys: dict[str, str]) -> Iterator[dict[str, httpx.Client]]:
    """A browser of each, signed in."""
    with (
        httpx.Client(base_url=served.url, **PLAIN) as writer,
        httpx.Client(base_url=served.url, **PLAIN) as reader,
    ):
        made = {"writer": writer, "reader": reader}
        for name, client in made.items():
            sent(client, Page(client.get("/")).form("/sign-in"), key=keys[name])
        yield made


def imported(memory: Memory, source: str, **texts: str) -> int:
    drafts = [Draft(text, key=key) for key, text in texts.items()]
    number = memory.import_drafts(drafts, source=source).import_id
    assert number is not None
    return number


def shown(client: httpx.Client, path: str) -> Page:
    page = Page(client.get(path))
    assert complaints(page) == [], path
    return page


def addresses(page: Page) -> set[str]:
    return {link.attributes["href"] or "" for link in page.all("a")}


def test_the_last_imports_of_each_source_are_listed(memory: Memory, people: dict[str, httpx.Client]) -> None:
    assert "No import has changed anything yet." in shown(people["writer"], "/imports").said
    numbers = [imported(memory, "<b>log</b>", tide=f"The tide of day {day}.") for day in range(5)]
    other = imported(memory, "vault", gate="The gate is shut.")
    page = shown(people["writer"], "/imports")
    assert "<b>log</b>" in page.text
    undoable = {path for path in addresses(page) if path.endswith("/undo")}
    assert undoable == {f"/imports/{number}/undo" for number in (*numbers[-3:], other)}
    assert "/imports" in addresses(shown(people["writer"], "/add"))
    assert "vault" in shown(people["reader"], "/imports").said
    assert not [path for path in addresses(shown(people["reader"], "/imports")) if path.endswith("/undo")]


def test_an_import_is_undone_after_a_question(memory: Memory, people: dict[str, httpx.Client]) -> None:
    imported(memory, "notes", crane="The crane is green.", winch="The winch is old.")
    number = imported(memory, "notes", crane="The crane is red.", mast="The mast is high.", hull="A hull.")
    memory.edit("mast", body="The mast is very high.")
    path = f"/imports/{number}/undo"
    question = shown(people["writer"], path)
    assert "2 new, 1 changed, 0 archived." in question.said
    unsure = sent(people["writer"], question.form(path))
    assert (unsure.status_code, "The import was not undone." in unsure.text) == (422, True)
    assert memory.get("crane").body == "The crane is red."
    done = Page(sent(people["writer"], question.form(path), sure="1"))
    assert complaints(done) == []
    assert "Of notes, 1 memory deleted, 0 archived, 1 given back as before, 0 restored." in done.said
    assert "changed since, kept" in done.said
    assert memory.get("crane").body == "The crane is green."
    again = sent(people["writer"], question.form(path), sure="1")
    assert (again.status_code, f"Import {number} was already undone" in again.text) == (422, True)
    assert "It was undone" in shown(people["writer"], path).said
    assert path not in addresses(shown(people["writer"], "/imports"))
    assert people["writer"].get("/imports/999999/undo").status_code == 404


def test_whoever_may_only_read_undoes_nothing(memory: Memory, people: dict[str, httpx.Client]) -> None:
    number = imported(memory, "atlas", atlas="The map.")
    path = f"/imports/{number}/undo"
    assert not [form for form in shown(people["reader"], path).forms if form.action == path]
    form = shown(people["writer"], path).form(path)
    token = next(iter(Page(people["reader"].get("/imports")).form("/sign-out").fields.items()))
    refused = people["reader"].post(
        path, data={**form.fields, token[0]: token[1], "sure": "1"}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert (refused.status_code, "read" in Page(refused).said) == (403, True)
    assert memory.get("atlas").body == "The map."
