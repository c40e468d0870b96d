"""The page without a browser: every view, hostile text, forms without a script, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import Served, is_problem, member, serving
from tests.acceptance.page.page_tools import Page, complaints, sent

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> </textarea></title><!-- {{ 7 * 7 }} {% raw %} "
    "**bold** [link](javascript:alert(3)) \x1b[31mred\x07 \u202eesrever\u202c مرحبا بالعالم " + "w" * 3000
)
TITLE = '"><script>alert("title")</script>\'; ' + "unbroken" * 40
OLD = datetime.now(UTC) - timedelta(days=900)


def fill(memory: Memory) -> None:
    """A few that are alive, a chain that holds together, one that is hostile, and some that may go."""
    memory.remember_many(
        [
            Draft("The ferry leaves at seven.", title="The ferry", key="ferry"),
            Draft("The pier is wet.", title="The pier", key="pier"),
            Draft("The harbour is closed.", title="The harbour", key="harbour"),
            Draft(HOSTILE, title=TITLE, key="<b>key</b>", tags=("<i>tag</i>",), author="<u>who</u>"),
        ]
    )
    memory.remember_many(
        [
            Draft(f"An old buoy number {n}.", layer="activity", key=f"buoy/{n}", occurred_at=OLD)
            for n in range(4)
        ],
        now=OLD,
    )
    memory.link("ferry", "pier")
    memory.link("pier", "harbour")
    memory.maintenance.refresh_graph()
    memory.record_access("ferry", "used")


@pytest.fixture(scope="module")
def served(url: str) -> Iterator[Served]:
    with member(url) as memory:
        fill(memory)
    with serving(url) as running:
        yield running


def shown(served: Served, path: str, **asked: str) -> Page:
    return Page(served.client.get(path, params=asked or None))


def number_of(served: Served, key: str) -> int:
    return int(served.client.get(f"/v1/memories/{key}").json()["id"])


VIEWS = (
    "/", "/?q=ferry", "/memories", "/memories?tags=x", "/memories?order=vitality", "/add", "/edit/1",
    "/link/1", "/supersede/1", "/merge/1",
    "/forget/1", "/versions/1", "/versions/1/1",
    "/zones", "/overview", "/overview?layer=activity", "/overview/alive", "/overview/leaving",
    "/overview/unused", "/memories/ferry", "/memories/1", "/links/pier", "/plans", "/quality",
    "/quality?q=harbour&memory=ferry", "/maintenance", "/imports", "/nowhere",
)  # fmt: skip


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_whole_closed_off_and_for_everybody(served: Served, path: str) -> None:
    answer = served.client.get(path)
    assert answer.status_code == (404 if path == "/nowhere" else 200)
    assert complaints(Page(answer)) == []
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert re.findall(r'(?:src|href)="(?!/|#)', answer.text) == []


def test_hostile_text_stays_text(served: Served) -> None:
    number = number_of(served, "<b>key</b>")
    plan = served.client.post("/v1/plans/prune", json={"grace_days": 0}).json()["id"]
    for path in (
        f"/memories/{number}",
        f"/links/{number}",
        "/?q=alert+script",
        "/overview",
        f"/plans/{plan}",
    ):
        answer = served.client.get(path)
        page = Page(answer)
        assert {element.attributes.get("src") for element in page.all("script")} == {"/page/page.js"}
        assert not page.all("img")
        assert not page.all("u")
        assert not page.all("i")
        assert not any(mark in answer.text for mark in ("\x1b", "\x07", "\u202e")), path
        assert "javascript:" not in "".join(e.attributes.get("href") or "" for e in page.all("a"))
    body = shown(served, f"/memories/{number}")
    assert "<script>alert(1)</script>" in body.text
    assert "{{ 7 * 7 }}" in body.text
    asked = shown(served, "/", q='"><script>x</script>')
    assert asked.all("input", name="q")[0].attributes["value"] == '"><script>x</script>'


_STEP = re.compile(r'class="(base|up|down|none|sum)".*?class="number">([−+]?)<?([\d.]+)[ <]', re.S)


def test_an_answer_says_why_it_stands_where_it_does(served: Served) -> None:
    answer = served.client.get("/", params={"q": "when does the ferry leave"})
    page = Page(answer)
    assert "It answers the question with a probability of" in page.said
    assert (
        page.all("a", **{"class": "name"})[0].attributes["href"] == f"/memories/{number_of(served, 'ferry')}"
    )
    steps = [
        (kind, float(digits) * (-1 if sign == "−" else 1))
        for kind, sign, digits in _STEP.findall(answer.text)
    ]
    first = steps[: [kind for kind, _ in steps].index("sum") + 1]
    assert len(first) > 3
    assert sum(value for _, value in first[:-1]) == pytest.approx(first[-1][1], abs=0.6 + 0.1 * len(first))
    assert "Found by" in page.said
    assert "log-odds" not in page.said


def test_an_answer_names_other_memories_and_words_as_they_were_typed(served: Served) -> None:
    page = shown(served, "/", q="When is the ferry leaving?", nearest="1", include_superseded="on")
    assert "“ferry” and “leaving”" in page.text or "“leaving” and “ferry”" in page.text
    assert "its links to “The ferry”" in page.text


def test_a_query_is_completed_by_what_was_said_before(served: Served) -> None:
    alone = shown(served, "/", q="no, when was that?")
    assert "The query makes sense only with its conversation" in alone.said
    turns = "When does the ferry leave?\nassistant: At eight, I think.\n\n"
    completed = shown(served, "/", q="no, when was that?", turns=turns)
    assert "Searched instead: When does the ferry leave?" in " ".join(completed.said.split())
    assert completed.all("a", **{"class": "name"})[0].attributes["href"] == (
        f"/memories/{number_of(served, 'ferry')}"
    )
    assert completed.forms[0].fields["turns"].strip() == turns.strip()
    wrong = served.client.get("/", params={"q": "no, when was that?", "turns": "x\n" * 101})
    assert wrong.status_code == 422
    assert "The conversation has 101 turns" in Page(wrong).said


def test_a_verdict_is_given_without_a_script(served: Served) -> None:
    page = shown(served, "/", q="the wet pier", k="10")
    form = page.forms[1]
    number = form.fields["memory"]
    answer = sent(served.client, form, verdict="used")
    assert answer.status_code == 303
    again = Page(served.client.get(answer.headers["location"]))
    assert "Recorded: used." in again.said
    assert again.forms[1].fields["search"] == form.fields["search"], "nothing was counted as shown once more"
    assert ">used</td>" in served.client.get(f"/memories/{number}").text
    judged = sent(served.client, again.forms[1], verdict="rejected")
    assert "Recorded: not useful." in Page(served.client.get(judged.headers["location"])).said
    wrong = sent(served.client, form, verdict="loved")
    assert wrong.status_code == 422
    assert "The verdict 'loved' is unknown" in Page(wrong).said


def test_a_question_from_elsewhere_is_not_counted_as_shown(served: Served) -> None:
    for header in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Purpose": "prefetch"}):
        page = Page(served.client.get("/", params={"q": "ferry"}, headers=header))
        assert "you cannot rate" in page.said
        assert [form.action for form in page.forms] == ["/"]


def test_a_plan_is_made_reviewed_applied_and_undone(served: Served) -> None:
    made = sent(served.client, shown(served, "/plans").form("/plans/prune"), max_share="100", grace_days="0")
    assert made.status_code == 303
    address = made.headers["location"]
    review = shown(served, address)
    assert "4 of 8 live memories (50 %) would be archived" in review.said
    assert complaints(review) == []
    unsure = sent(served.client, review.form(f"{address}/apply"))
    assert unsure.status_code == 422
    assert "The plan was not applied." in Page(unsure).said
    number = number_of(served, "buoy/2")
    served.client.post("/v1/accesses", json={"accesses": [{"memory": number, "kind": "used"}]})
    applied = sent(served.client, review.form(f"{address}/apply"), sure="1")
    outcome = Page(served.client.get(applied.headers["location"]))
    assert "3 memories were archived, and 1 memory was skipped" in outcome.said
    assert "Not archived because of changes" in outcome.said
    assert complaints(outcome) == []
    assert served.client.get("/v1/memories/buoy/1").json()["archived_at"]
    sent(served.client, outcome.form(f"{address}/undo"), sure="1")
    assert "undone" in shown(served, address).said
    assert served.client.get("/v1/memories/buoy/1").json()["archived_at"] is None
    again = sent(served.client, review.form(f"{address}/apply"), sure="1")
    assert again.status_code == 422


def test_a_refused_plan_shows_the_reason_at_its_form(served: Served) -> None:
    form = shown(served, "/plans").form("/plans/prune")
    for typed, said in (
        ({"max_share": "400"}, "prune.max_share"),
        ({"max_count": "many"}, "not a whole number"),
    ):
        answer = sent(served.client, form, **typed)
        page = Page(answer)
        assert answer.status_code == 422
        assert said in page.said
        assert typed.items() <= page.form("/plans/prune").fields.items()


def test_checks_run_on_request(served: Served) -> None:
    page = shown(served, "/maintenance")
    assert "No job has run yet." in page.said
    checked = Page(sent(served.client, page.form("/maintenance/verify")))
    assert re.search(r"All \d+ checks passed\.", checked.said)
    assert complaints(checked) == []


def test_a_memory_has_its_life(served: Served) -> None:
    page = shown(served, "/memories/ferry")
    assert len([e for e in page.all("path") if (e.attributes.get("class") or "").startswith("curve")]) == 4, (
        "two charts"
    )
    assert page.all("circle", **{"class": "leaving"})
    assert "leaves active in" in page.said
    assert "The ferry leaves at seven." in page.said
    assert page.all("a", href=f"/links/{number_of(served, 'ferry')}")


def test_articulation_points_are_marked_by_shape_and_in_words(served: Served) -> None:
    page = shown(served, "/links/ferry")
    squares = [
        e
        for e in page.all("path")
        if (e.attributes.get("class") or "").startswith("point square") and "a" in e.path
    ]
    assert len(squares) == 2, "one in the chart of a desk, one in that of a telephone"
    labels = [
        e.attributes["aria-label"] or "" for e in page.all("a") if "dot" in (e.attributes.get("class") or "")
    ]
    assert ["alone holds 1 memory" in label for label in labels if "The pier" in label] == [True, True]
    assert "square: holds others connected" in page.said


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/memories/nobody", 404, "There is no memory with key 'nobody'"),
        ("/plans/999999", 404, "There is no plan 999999"),
        ("/plans/x", 404, "There is no such plan."),
        ("/quality?q=x&memory=nothing", 404, "There is no memory with key 'nothing'"),
        ("/quality?memory=1", 422, "The query is empty"),
        ("/overview/loudest", 404, "There is nothing at this address."),
        ("/overview?layer=attic", 404, "There is no layer 'attic'"),
        ("/?q=x&k=1000", 422, "K is 1000; it must be between"),
        ("/?q=ferry&as_of=tomorrow", 422, "As of"),
        ("/?q=ferry&layer=attic", 422, "The layer 'attic' is unknown."),
        ("/feedback", 405, "This address does not accept such a request."),
        ("/page/../app.py", 404, "There is nothing at this address."),
    ],
)
def test_every_kind_of_error_is_a_page_with_its_message(
    served: Served, path: str, status: int, said: str
) -> None:
    answer = served.client.get(path)
    assert (answer.status_code, said in Page(answer).said) == (status, True), Page(answer).said


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Origin": "http://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({}, True),
        ({"Sec-Fetch-Site": "same-origin"}, False),
    ],
)
def test_no_other_site_can_send_a_form(served: Served, headers: dict[str, str], token: bool) -> None:
    form = shown(served, "/plans").form("/plans/prune")
    before = served.client.get("/v1/plans").json()
    values = form.fields if token else {"token": "0" * 64}
    answer = served.client.post("/plans/prune", data=values, headers=headers)
    assert answer.status_code == 403
    assert Page(answer).said
    assert served.client.get("/v1/plans").json() == before


def test_only_forms_are_read_and_only_small_ones(served: Served) -> None:
    same = {"Sec-Fetch-Site": "same-origin"}
    assert served.client.post("/plans/prune", json={"token": "x"}, headers=same).status_code == 415
    assert served.client.post("/plans/prune", data={"token": "x" * 70_000}, headers=same).status_code == 413
    assert (
        served.client.post(
            "/plans/prune",
            content=b"token=%ff",
            headers={**same, "Content-Type": "application/x-www-form-urlencoded"},
        ).status_code
        == 400
    )


def test_the_api_stays_what_it_is(served: Served) -> None:
    assert is_problem(served.client.get("/v1/nothing"), 404, "not-found")
    assert is_problem(served.client.get("/v1"), 404, "not-found")
    assert is_problem(served.client.get("/v1/search"), 405, "method-not-allowed")
    assert all(
        path.startswith("/v1/") or path in ("/healthz", "/readyz", "/metrics")
        for path in served.client.get("/openapi.json").json()["paths"]
    )
    strange = served.client.get("/", headers={"Host": "evil.example"})
    assert is_problem(strange, 421, "misdirected-request")


def test_neither_log_nor_figures_hold_what_was_looked_for(served: Served) -> None:
    served.client.get("/", params={"q": "a secret question"})
    served.client.get("/memories/secret-key")
    served.client.get("/overview/alive")
    served.client.post("/plans/1/apply")
    for route in ("/", "/memories/{memory:path}", "/plans/{plan}/apply"):
        served.logged_once("route", route)
    assert "secret" not in str(served.logged())
    assert 'route="/overview/{listed}"' in served.client.get("/metrics").text
