"""What people do on the page, without a browser: every action and what takes it back, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.page_tools import Page, complaints, sent
from tests.waiting import until

SAME = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def served(url: str) -> Iterator[Served]:
    with member(url) as memory:
        memory.remember("The first memory.", key="first")
    with serving(url) as running:
        yield running


@pytest.fixture(scope="module")
def memory(url: str, served: Served) -> Iterator[Memory]:
    with member(url) as client:
        yield client


def note(memory: Memory, name: str, body: str = "", **fields: object) -> int:
    return memory.remember(body or f"About {name}.", key=name, title=f"The {name}", **fields).id  # type: ignore[arg-type]


def shown(served: Served, path: str) -> Page:
    page = Page(served.client.get(path))
    assert complaints(page) == [], path
    return page


def followed(served: Served, answer: httpx.Response) -> Page:
    assert answer.status_code == 303, answer.text
    return shown(served, answer.headers["location"])


def test_a_memory_is_pinned_and_unpinned(served: Served, memory: Memory) -> None:
    number = note(memory, "crane")
    page = followed(served, sent(served.client, shown(served, f"/memories/{number}").form(f"/pin/{number}")))
    assert "Pinned. It will not be pruned." in page.said
    assert memory.get(number).pinned
    undone = followed(
        served, sent(served.client, next(f for f in page.forms if f.action == f"/unpin/{number}"))
    )
    assert "Unpinned." in undone.said
    assert not memory.get(number).pinned


def test_a_session_is_seen_and_forgotten(served: Served, memory: Memory) -> None:
    number = note(memory, "tender", session_id="chat/7")
    note(memory, "dinghy", session_id="chat/7")
    assert 'href="/memories?session=chat%2F7"' in served.client.get(f"/memories/{number}").text
    page = shown(served, "/memories?session=chat%2F7")
    assert "Archive 2 memories of this session." in page.said
    form = page.form("/forget-session")
    unsure = served.client.post("/forget-session", data=form.fields, headers=SAME)
    assert (unsure.status_code, memory.get(number).archived_at) == (422, None)
    answer = served.client.post("/forget-session", data=form.fields | {"sure": "1"}, headers=SAME)
    after = followed(served, answer)
    assert "2 memories archived." in after.said
    assert not [one for one in after.forms if one.action == "/forget-session"]
    assert memory.get(number).archived_at is not None
    undone = followed(served, sent(served.client, after.form("/unarchive-session")))
    assert "Archive 2 memories of this session." in undone.said
    assert memory.get(number).archived_at is None


def test_a_memory_is_archived_and_comes_back(served: Served, memory: Memory) -> None:
    number = note(memory, "buoy")
    page = followed(
        served, sent(served.client, shown(served, f"/memories/{number}").form(f"/archive/{number}"))
    )
    assert "Archived. Searches no longer find it" in page.said
    assert memory.get(number).archived_at is not None
    undo = [form for form in page.forms if form.action == f"/unarchive/{number}"]
    assert len(undo) == 2, "one beside what was done, and one among the actions"
    assert "Searches find it again" in followed(served, sent(served.client, undo[0])).said
    assert memory.get(number).archived_at is None
    again = served.client.post(f"/unarchive/{number}", data=undo[0].fields, headers=SAME)
    assert "Nothing to change." in followed(served, again).said


def test_memories_are_linked_and_unlinked(served: Served, memory: Memory) -> None:
    one, other = note(memory, "quay", "The quay is made of stone."), note(memory, "wall", "A wall of stone.")
    choose = shown(served, f"/link/{one}?q=stone")
    form = choose.forms[-1]
    offered = {e.attributes["value"] for e in choose.all("input", type="radio")}
    assert str(other) in offered
    assert str(one) not in offered, "not itself"
    page = followed(served, sent(served.client, form, other=str(other), relation="supports"))
    assert "Linked." in page.said
    assert [(link.other, link.relation) for link in memory.get(one).links] == [(other, "supports")]
    undo = next(form for form in page.forms if form.action == f"/unlink/{one}")
    gone = followed(served, sent(served.client, undo))
    assert "Link removed." in gone.said
    assert memory.get(one).links == ()
    back = next(form for form in gone.forms if form.action == f"/link/{one}")
    assert "Linked." in followed(served, sent(served.client, back)).said
    [link] = memory.get(one).links
    assert (link.other, link.relation, link.weight) == (other, "supports", 1.0)
    mine = next(form for form in shown(served, f"/memories/{other}").forms if form.action == f"/unlink/{one}")
    followed(served, sent(served.client, mine))
    assert memory.get(one).links == (), "a link is removed from its far end too"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "No memory was chosen"),
        ({"named": "nobody"}, "There is no memory with key 'nobody'"),
        ({"named": "quay2"}, "cannot link to itself"),
        ({"named": "first", "relation": "hates"}, "The relation 'hates' is unknown"),
        ({"named": "first", "weight": "1000"}, "weight 1000"),
    ],
)
def test_a_link_that_cannot_be_made_says_why(
    served: Served, memory: Memory, typed: dict[str, str], said: str
) -> None:
    one = note(memory, "quay2")
    form = shown(served, f"/link/{one}").forms[-1]
    answer = sent(served.client, form, **typed)
    assert answer.status_code in (404, 422)
    assert said in Page(answer).said
    assert memory.get(one).links == ()


def test_a_memory_is_superseded_and_holds_again(served: Served, memory: Memory) -> None:
    old, new = note(memory, "old-office"), note(memory, "new-office")
    form = shown(served, f"/supersede/{old}").forms[-1]
    page = followed(served, sent(served.client, form, named="new-office"))
    assert "Superseded" in page.said
    assert memory.get(old).superseded_by == new
    undo = next(form for form in page.forms if form.action == f"/unlink/{new}")
    gone = followed(served, sent(served.client, undo))
    assert memory.get(old).superseded_by is None
    again = next(form for form in gone.forms if form.action == f"/supersede/{old}")
    followed(served, sent(served.client, again))
    assert memory.get(old).superseded_by == new


@pytest.mark.parametrize("stays", ["this", "other"])
def test_two_memories_are_merged_by_a_plan_and_come_apart_again(
    served: Served, memory: Memory, stays: str
) -> None:
    one = note(memory, f"mole-{stays}", "The mole is 40 metres long.")
    other = note(memory, f"jetty-{stays}", "The jetty has 40 metres.", tags=("stone",))
    choose = shown(served, f"/merge/{one}").forms[-1]
    assert memory.plans.list() == () or memory.plans.list()[0].state != "planned"
    page = followed(served, sent(served.client, choose, named=f"jetty-{stays}", stays=stays))
    assert "Chosen by hand" in page.said
    assert "1 memory would be merged into 1 other, as you chose." in page.said
    plan = memory.plans.list()[0].id
    assert memory.get(one).archived_at is None, "a plan merges nothing"
    done = followed(served, sent(served.client, page.form(f"/plans/{plan}/apply"), sure="1"))
    keeper, goes = (one, other) if stays == "this" else (other, one)
    assert memory.get(goes).superseded_by == keeper
    assert memory.get(keeper).tags == ("stone",)
    followed(served, sent(served.client, done.form(f"/plans/{plan}/undo"), sure="1"))
    assert memory.get(goes).archived_at is None
    itself = sent(served.client, choose, named=f"mole-{stays}")
    assert (itself.status_code, "cannot be merged into itself" in itself.text) == (422, True)


def test_a_merge_of_long_texts_says_how_much_of_them_is_compared(served: Served, memory: Memory) -> None:
    sentence = "Of long texts, the first 20,000 characters are compared here."
    short = memory.plans.merge(note(memory, "dune", "A dune."), [note(memory, "hill", "A hill.")]).id
    assert sentence not in shown(served, f"/plans/{short}").said
    long = note(memory, "tide", "A tide of " + "sand " * 4000)
    plan = memory.plans.merge(long, [note(memory, "flood", "A flood.")]).id
    assert shown(served, f"/plans/{plan}").said.count(sentence) == 1


def test_something_is_added_and_what_it_repeats_is_named(served: Served, memory: Memory) -> None:
    form = shown(served, "/add").form("/add")
    typed = {"body": "# Crane\n\nThe crane **lifts** 40 t.", "tags": "crane, heavy", "metadata": '{"p": 1}'}
    page = followed(served, sent(served.client, form, **typed))
    assert "Remembered." in page.said
    [stored] = memory.list(tags=("heavy",))
    assert (stored.body, stored.metadata) == (typed["body"], {"p": 1})
    assert page.all("strong"), "Markdown is rendered"
    assert "Already stored. Nothing changed." in followed(served, sent(served.client, form, **typed)).said
    bad = sent(served.client, form, body="x", occurred_at="never")
    assert bad.status_code == 422
    assert Page(bad).form("/add").fields["body"] == "x"


def test_forgetting_shows_what_goes_and_asks(served: Served, memory: Memory) -> None:
    number, other = note(memory, "secret", "A secret of 24 letters."), note(memory, "neighbour")
    memory.link(number, other)
    memory.record_access(number, "used")
    plan = shown(served, f"/forget/{number}")
    assert "its text of 23 characters" in plan.said
    assert "used once" in plan.said
    assert "1 link" in plan.said
    assert "The neighbour" in plan.said
    form = plan.form(f"/forget/{number}")
    assert sent(served.client, form).status_code == 422
    memory.edit(number, author="Mira")
    stale = sent(served.client, form, sure="1")
    assert stale.status_code == 422
    assert "was changed since the plan" in Page(stale).said
    gone = followed(served, sent(served.client, Page(stale).form(f"/forget/{number}"), sure="1"))
    assert "Deleted for good." in gone.said
    assert served.client.get(f"/memories/{number}").status_code == 404


def test_a_part_of_a_plan_is_applied(served: Served, memory: Memory) -> None:
    from datetime import UTC, datetime, timedelta

    old = datetime.now(UTC) - timedelta(days=900)
    drafts = [Draft(f"An old log {n}.", key=f"log/{n}", layer="activity", occurred_at=old) for n in range(3)]
    ids = [stored.id for stored in memory.remember_many(drafts, now=old)]
    made = sent(served.client, shown(served, "/plans").form("/plans/prune"), max_share="100", grace_days="0")
    address = made.headers["location"]
    form = shown(served, address).form(f"{address}/apply")
    assert {("only", str(number)) for number in ids} <= set(form.ticked)
    none = sent(served.client, form, sure="1", only=[])
    assert none.status_code == 422
    assert "Nothing is ticked" in Page(none).said
    strange = sent(served.client, form, sure="1", only=["1"])
    assert strange.status_code == 422
    outcome = followed(served, sent(served.client, form, sure="1", only=[str(ids[0])]))
    assert "1 memory was archived" in outcome.said
    assert [memory.get(number).archived_at is None for number in ids] == [False, True, True]
    followed(served, sent(served.client, outcome.form(f"{address}/undo"), sure="1"))
    assert memory.get(ids[0]).archived_at is None


def test_files_are_imported_with_their_progress(served: Served, memory: Memory) -> None:
    token = shown(served, "/add").form("/import").fields["token"]
    files = [
        (
            "files",
            ("../../etc/harbour.md", b"---\ntags: [dropped]\n---\nThe harbour is closed.", "text/markdown"),
        ),
        ("files", ("notes.jsonl", b'{"body": "A line.", "key": "line"}\nbroken', "application/jsonl")),
        ("files", ("picture.png", b"\x89PNG", "image/png")),
    ]
    answer = served.client.post("/import", data={"token": token}, files=files, headers=SAME)
    assert answer.status_code == 303, answer.text
    address = answer.headers["location"]

    def done() -> bool:
        state = served.client.get(address, headers={"Accept": "application/json"}).json()
        return bool(state["done"])

    until(done, "the import")
    page = shown(served, address)
    assert "2 new" in page.said
    assert "picture.png has an unknown format" in page.said
    assert "notes.jsonl: line 2" in page.said or "line 2" in page.said
    assert "/tmp" not in page.said
    [dropped] = memory.list(tags=("dropped",))
    assert dropped.source == "page:harbour.md"
    assert memory.get("line").body == "A line."
    assert served.client.get("/import/nothing").status_code == 404
    empty = served.client.post("/import", data={"token": token}, files=[("files", ("", b""))], headers=SAME)
    assert empty.status_code == 422


@pytest.mark.parametrize("body", [b"--x\r\n", b"--x\r\nContent-Disposition: nothing\r\n\r\n", b""])
def test_a_broken_upload_is_refused(served: Served, body: bytes) -> None:
    headers = {**SAME, "Content-Type": "multipart/form-data; boundary=x"}
    assert served.client.post("/import", content=body, headers=headers).status_code in (400, 403)


def test_lists_are_filtered(served: Served, memory: Memory) -> None:
    note(memory, "tagged", tags=("one", "two"), author="Ann", metadata={"p": "q"}, source="notes")
    for query in (
        "tags=one,two",
        "author=Ann,Bob",
        "metadata=p=q",
        "source=notes",
        "tags=one&since=2020-01-01",
    ):
        listed = served.client.get(f"/memories?{query}")
        assert "The tagged" in Page(listed).said, query
        found = served.client.get(f"/?q=tagged&{query}")
        assert "The tagged" in Page(found).said, query
    for query in ("tags=one,three", "author=Bob", "source=elsewhere", "until=2020-01-01"):
        assert "The tagged" not in Page(served.client.get(f"/memories?{query}")).said, query
        assert "The tagged" not in Page(served.client.get(f"/?q=tagged&{query}")).said, query
    assert served.client.get("/memories?since=tomorrow").status_code == 422
    assert served.client.get("/memories?after=nonsense").status_code == 422
    assert served.client.get("/?tags=one").headers["location"] == "/memories?tags=one"


def test_a_hit_without_a_title_is_headed_by_its_words(served: Served, memory: Memory) -> None:
    memory.remember("The brass key hangs in shed 2.", key="chat/2f1b")
    page = served.client.get("/?q=brass+key").text
    assert "<bdi>The brass key hangs in shed 2.</bdi></a></h3>" in page
    assert '<span class="from"><bdi>chat/2f1b</bdi></span>' in page


def test_a_filter_goes_from_the_list_to_a_search_and_is_cleared(served: Served, memory: Memory) -> None:
    note(memory, "slip", "The steep way to the water.", source="harbour log")
    note(memory, "hatch", "The steep way to the hold.")
    form = next(each for each in shown(served, "/memories").forms if "source" in each.fields)
    listed = Page(sent(served.client, form, source="harbour log"))
    assert "Filters (1)" in listed.said
    assert ("The slip" in listed.said, "The hatch" in listed.said) == (True, False)
    narrowed = next(each for each in listed.forms if "source" in each.fields)
    assert narrowed.fields["source"] == "harbour log", "what narrows is seen"
    asked = sent(served.client, narrowed, q="the steep way")
    found = shown(served, asked.headers["location"])
    assert ("The slip" in found.said, "The hatch" in found.said) == (True, False)
    again = next(each for each in found.forms if "source" in each.fields)
    assert (again.fields["q"], again.fields["source"]) == ("the steep way", "harbour log")
    cleared = "/?q=the+steep+way"
    assert found.all("a", href=cleared)
    assert "The hatch" in shown(served, cleared).said


def test_an_empty_tenant_says_how_to_begin(url: str, served: Served) -> None:
    with serving(url, tenant="blank") as running:
        page = shown(running, "/")
        assert "No memories yet" in page.said
        assert page.form("/import").method == "POST"
        for path in ("/overview", "/overview?layer=activity"):
            assert "No live memories." in shown(running, path).said, path
        with member(url, tenant="blank") as memory:
            memory.forget(memory.remember("A note of last year.").id)
        page = shown(running, "/")
        assert "All memories are archived." in page.said
        assert "No memories yet" not in page.said
        assert "A note of last year." in shown(running, "/memories?archived=1").said


def test_the_front_page_has_counts_lists_and_questions(served: Served, memory: Memory) -> None:
    note(memory, "lighthouse")
    page = shown(served, "/")
    assert "Most alive" in page.said
    assert "Fading soon" in page.said
    asked = [
        e.attributes["href"] for e in page.all("a") if (e.attributes.get("href") or "").startswith("/?q=")
    ]
    assert asked
    assert Page(served.client.get(asked[0] or "")).all("li", **{"class": "hit"}), "an example has an answer"
    zones = {e.attributes["href"] for e in page.all("a", **{"class": "zone"})}
    assert zones <= {f"/zones#{name}" for name in ("active", "stale", "fading", "dormant")}


def test_a_floor_is_shown_with_its_shield(served: Served, memory: Memory) -> None:
    from datetime import UTC, datetime, timedelta

    old = datetime.now(UTC) - timedelta(days=2000)
    [stored] = memory.remember_many(
        [Draft("Held.", key="held", layer="activity", pinned=True, occurred_at=old)], now=old
    )
    for path in (f"/memories/{stored.id}", "/memories", "/?q=held", "/overview"):
        page = shown(served, path)
        assert "kept at stale" in page.said, path
        assert page.all("a", **{"class": "zone", "href": "/zones#kept"}), path
        assert page.all("svg", **{"class": "glyph shield"}), path
    zones = shown(served, "/zones")
    assert "The shield marks a memory that stays in a higher zone" in zones.said
    assert zones.all("div", id="kept")
