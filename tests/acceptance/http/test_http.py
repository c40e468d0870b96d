"""The HTTP service: every operation over the wire, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from pgrecall import Draft
from tests.acceptance.cli.command_tools import whole_command_line
from tests.acceptance.http.http_tools import Served, is_problem, member, serving
from tests.waiting import until


@pytest.fixture(scope="module")
def api(url: str) -> Iterator[Served]:
    with serving(url, command=whole_command_line, http_body_bytes="100000") as served:
        yield served


def remembered(api: Served, body: str, **fields: Any) -> int:
    answer = api.client.post("/v1/memories", json={"body": body, **fields})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def test_what_is_remembered_is_found(api: Served) -> None:
    links = [{"target": "notes/pier"}]
    number = remembered(api, "The ferry leaves at seven.", key="notes/ferry", tags=["sea"], links=links)
    again = api.client.post("/v1/memories", json={"body": "The ferry leaves at eight.", "key": "notes/ferry"})
    assert again.json() == {
        "id": number,
        "key": "notes/ferry",
        "outcome": "updated",
        "similar": None,
        "unread": 0,
        "secrets": [],
        "changed": ["body"],
    }
    assert api.client.get("/v1/memories/notes/ferry").json()["tags"] == ["sea"]
    found = api.client.post("/v1/search", json={"query": "when does the ferry leave?", "k": 3}).json()
    assert found["hits"][0]["id"] == number
    assert found["hits"][0]["body"] == "The ferry leaves at eight."
    assert found["no_match"] is False
    assert found["hits"][0]["explanation"]["arms"]


def test_a_conversation_completes_a_query(api: Served) -> None:
    number = remembered(api, "The slipway closes at dusk in winter.")
    turn = {"role": "assistant", "content": "Did you ask when the slipway closes?"}
    kept = turn | {"at": "2026-05-01T10:00:00Z", "name": "harbour", "tool_calls": []}
    body = {"query": "no, when was that?", "conversation": [kept]}
    found = api.client.post("/v1/search", json=body).json()
    assert found["completed_query"] == "Did you ask when the slipway closes?\nno, when was that?"
    assert found["hits"][0]["id"] == number
    assert "slipway" in api.client.post("/v1/context", json=body).json()["text"]
    wrong = api.client.post("/v1/search", json=body | {"conversation": [{"role": "robot", "content": ""}]})
    assert wrong.status_code == 422
    assert "conversation" in wrong.text


@pytest.mark.parametrize("key", [".", "..", "./", "../", "a/../b", "/", "//", "%2e%2e", "key:..", "a\\..\\b"])
def test_a_key_that_looks_like_a_step_of_a_path_is_a_key(api: Served, key: str) -> None:
    number = remembered(api, f"What the key {key} names.", key=key)
    address = "key:" + quote(key, safe="")
    assert api.client.get(f"/v1/memories/{address}").json()["id"] == number
    assert len(api.client.get(f"/v1/versions/{address}").json()) == 1
    for method, route in (("PUT", "pins"), ("DELETE", "pins"), ("DELETE", "memories"), ("POST", "unarchive")):
        assert api.client.request(method, f"/v1/{route}/{address}").json() == {"changed": True}
    assert api.client.patch(f"/v1/memories/{address}", json={"author": "Mira"}).json()["id"] == number


def test_remembering_again_keeps_what_is_left_out_and_clears_what_is_empty(api: Served) -> None:
    fields = {"title": "Tug", "layer": "episodic", "author": "Mira", "tags": ["sea"], "metadata": {"a": 1}}
    remembered(api, "The tug casts off at six.", key="again/tug", **fields)

    def after(route: str, body: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        answer = api.client.post(route, json=body)
        assert answer.status_code == 200, answer.text
        [one] = answer.json() if isinstance(answer.json(), list) else [answer.json()]
        stored = api.client.get("/v1/memories/again/tug").json()
        return one["changed"], {name: stored[name] for name in fields}

    again = {"body": "The tug casts off at seven.", "key": "again/tug"}
    assert after("/v1/memories", again) == (["body"], fields)
    assert after("/v1/memories/batch", {"drafts": [again | {"author": None}]}) == ([], fields)
    cleared = {"title": "", "author": "", "tags": [], "metadata": {}}
    assert after("/v1/memories", again | cleared) == (
        ["title", "author", "tags", "metadata"],
        fields | cleared | {"author": None},
    )
    assert after("/v1/memories/batch", {"drafts": [again], "keep": False})[1]["layer"] == "knowledge"


def test_no_proxy_may_keep_what_is_of_a_tenant(api: Served) -> None:
    for path in ("/v1/status", "/v1/memories", "/v1/memories/nobody"):
        assert api.client.get(path).headers["cache-control"] == "no-store", path
    assert "cache-control" not in api.client.get("/openapi.json").headers


def test_a_patch_changes_what_it_has_and_null_empties(api: Served) -> None:
    times = {"valid_until": "2099-01-01", "occurred_at": "2026-10-01"}
    fields = {"author": "Mira", "session_id": "s", "metadata": {"a": 1, "b": 2}, "tags": ["sea"], **times}
    number = remembered(api, "The pilot boards at six.", key="patched/pilot", title="Pilot", **fields)
    path = "/v1/memories/patched/pilot"

    def patched(changes: dict[str, Any]) -> dict[str, Any]:
        answer = api.client.patch(path, json=changes)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["id"], answer.json()["key"]) == (number, "patched/pilot")
        return {"outcome": answer.json()["outcome"], **api.client.get(path).json()}

    after = patched({"body": "The pilot boards at seven.", "metadata": {"b": 3}})
    assert (after["outcome"], after["body"], after["metadata"]) == (
        "updated", "The pilot boards at seven.", {"b": 3},
    )  # fmt: skip
    assert (after["title"], after["author"], after["tags"]) == ("Pilot", "Mira", ["sea"])
    emptied = dict.fromkeys((*fields, "title"), None)
    after = patched(emptied)
    assert after["outcome"] == "updated"
    assert {name: after[name] for name in emptied} == {**emptied, "title": "", "metadata": {}, "tags": []}
    assert (after["body"], after["layer"]) == ("The pilot boards at seven.", "knowledge")
    assert patched(emptied)["outcome"] == "unchanged"
    assert patched({})["outcome"] == "unchanged"
    found = api.client.post("/v1/search", json={"query": "pilot boards at seven"}).json()
    assert found["hits"][0]["id"] == number


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"layer": None}, 422), ({"key": "x"}, 422), ({"pinned": True}, 422), ({"tags": "a"}, 422),
        ({"body": None, "title": None}, 422), ({"layer": "nowhere"}, 422), ({"role": "king"}, 422),
        ({"occurred_at": "soon"}, 422), ([], 422), (None, 422),
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_changes_nothing(api: Served, changes: Any, status: int) -> None:
    remembered(api, "The lock opens at noon.", key="patched/lock")
    before = api.client.get("/v1/memories/patched/lock", params={"now": "2099-01-01"}).json()
    given = {"author": "x", **changes} if isinstance(changes, dict) else changes
    answer = api.client.patch("/v1/memories/patched/lock", json=given)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert api.client.get("/v1/memories/patched/lock", params={"now": "2099-01-01"}).json() == before


def test_a_patch_of_what_is_not_there(api: Served) -> None:
    answer = api.client.patch("/v1/memories/patched/nobody", json={"body": "x"})
    assert is_problem(answer, 404, "memory-not-found")


def test_a_repeated_text_is_unchanged_and_a_near_one_named(api: Served) -> None:
    number = remembered(api, "The tide table hangs by the door.", key="tide")
    again = api.client.post("/v1/memories", json={"body": "The tide table hangs by the door."}).json()
    assert again == {
        "id": number, "key": "tide", "outcome": "unchanged", "similar": None, "unread": 0, "changed": [],
        "secrets": [],
    }  # fmt: skip
    near = api.client.post("/v1/memories", json={"body": "the tide table hangs by the DOOR"}).json()
    assert (near["outcome"], near["similar"]) == ("created", {"id": number, "key": "tide", "similarity": 1.0})


def test_a_search_is_narrowed_by_metadata_and_source(api: Served) -> None:
    remembered(api, "The ferry leaves.", key="a", source="log.md", metadata={"project": {"name": "atlas"}})
    remembered(api, "The ferry returns.", key="b", source="log.md")
    remembered(api, "The ferry rests.", key="c", metadata={"project": {"name": "atlas"}})
    question = {"query": "ferry", "sources": ["log.md"], "metadata": {"project": {"name": "atlas"}}}
    for path in ("/v1/search", "/v1/context"):
        found = api.client.post(path, json=question)
        assert [hit["key"] for hit in found.json()["hits"]] == ["a"], path


def test_a_list_has_filters_and_pages(api: Served) -> None:
    for number in range(3):
        remembered(api, f"Buoy {number}.", key=f"buoy/{number}", tags=["buoy"], metadata={"n": number})
    asked: dict[str, Any] = {"tags": ["buoy"], "limit": 2}
    first = api.client.get("/v1/memories", params=asked).json()
    rest = api.client.get("/v1/memories", params=asked | {"after": first[-1]["cursor"]}).json()
    assert [listed["key"] for listed in first + rest] == ["buoy/2", "buoy/1", "buoy/0"]
    for params in ({"metadata": "n=1"}, {"metadata": '{"n": 1}', "order": "vitality"}):
        found = api.client.get("/v1/memories", params={"tags": "buoy", **params}).json()
        assert [listed["key"] for listed in found] == ["buoy/1"]
    assert api.client.get("/v1/memories", params={"tags": "buoy", "sources": "nowhere"}).json() == []
    for refused in ({"limit": 0}, {"order": "oldest"}, {"after": "7"}, {"metadata": "n"}, {"since": "soon"}):
        assert api.client.get("/v1/memories", params=refused).status_code == 422, refused


def test_a_session_is_listed_and_forgotten(api: Served) -> None:
    for number in range(2):
        remembered(api, f"Lantern {number}.", key=f"lantern/{number}", session_id="a/b")
    asked = {"session_id": "a/b"}
    assert len(api.client.get("/v1/memories", params=asked).json()) == 2
    for dry_run, left in ((True, 2), (False, 0)):
        answer = api.client.post("/v1/forget-session", json=asked | {"dry_run": dry_run})
        assert answer.json() == {"count": 2}
        assert len(api.client.get("/v1/memories", params=asked).json()) == left


def test_many_are_remembered_together_or_not_at_all(api: Served) -> None:
    drafts = [{"body": f"Gauge {n} was calibrated.", "key": f"gauge/{n}"} for n in range(3)]
    answer = api.client.post("/v1/memories/batch", json={"drafts": drafts})
    assert [row["outcome"] for row in answer.json()] == ["created"] * 3
    spoilt = [{"body": "Sound.", "key": "sound"}, {"body": "Spoilt.", "layer": "nowhere"}]
    assert is_problem(api.client.post("/v1/memories/batch", json={"drafts": spoilt}), 422, "invalid-input")
    assert is_problem(api.client.get("/v1/memories/sound"), 404, "memory-not-found")


def test_a_memory_is_read_by_id_and_by_a_key_with_slashes(api: Served) -> None:
    number = remembered(api, "A note of the keeper.", key="lights/north/keeper#watch")
    by_key = api.client.get("/v1/memories/lights/north/keeper%23watch").json()
    assert by_key == api.client.get("/v1/memories/lights%2Fnorth%2Fkeeper%23watch").json()
    by_id = api.client.get(f"/v1/memories/{number}").json()
    assert (by_id["id"], by_id["body"]) == (by_key["id"], "A note of the keeper.")
    assert by_id["vitality"]["zone"] == "active"
    number = remembered(api, "A key of digits.", key="7001")
    assert api.client.get("/v1/memories/key:7001").json()["id"] == number


def test_a_forgotten_memory_is_archived_and_a_deleted_one_gone(api: Served) -> None:
    number = remembered(api, "To be forgotten.")
    assert api.client.delete(f"/v1/memories/{number}").json() == {"changed": True}
    assert api.client.get(f"/v1/memories/{number}").json()["archived_at"] is not None
    assert api.client.delete(f"/v1/memories/{number}").json() == {"changed": False}
    assert api.client.delete(f"/v1/memories/{number}", params={"hard": True}).json() == {"changed": True}
    assert is_problem(api.client.get(f"/v1/memories/{number}"), 404, "memory-not-found")


def test_links_pins_and_successors(api: Served) -> None:
    old, new = remembered(api, "The crane lifts four tons."), remembered(api, "The crane lifts five tons.")
    link = {"source": old, "target": new, "relation": "mentions"}
    assert api.client.post("/v1/links", json=link).json() == {"changed": True}
    assert api.client.post("/v1/links", json=link).json() == {"changed": False}
    assert api.client.post("/v1/supersede", json={"old": old, "new": new}).json() == {"changed": True}
    assert api.client.get(f"/v1/memories/{old}").json()["superseded_by"] == new
    assert api.client.put(f"/v1/pins/{new}").json() == {"changed": True}
    assert api.client.delete(f"/v1/pins/{new}").json() == {"changed": True}


def test_uses_count_once_for_an_idempotency_key(api: Served) -> None:
    number = remembered(api, "Used once.")
    use = {"memory": number, "kind": "used", "idempotency_key": "turn-1"}
    assert api.client.post("/v1/accesses", json={"accesses": [use]}).json() == {"count": 1}
    assert api.client.post("/v1/accesses", json={"accesses": [use]}).json() == {"count": 0}
    terms = api.client.get(f"/v1/history/vitality/{number}").json()
    assert terms["accesses"] == 2
    created = api.client.get(f"/v1/memories/{number}").json()["created_at"]
    later = api.client.get(
        f"/v1/history/vitality/{number}", params={"at": created.replace("Z", "+00:00")}
    ).json()
    assert later["accesses"] <= 2


def test_a_block_of_context(api: Served) -> None:
    number = remembered(api, "The tide table hangs in the harbour office.")
    question = {"query": "where is the tide table?", "budget_tokens": 200, "order": "time"}
    block = api.client.post("/v1/context", json=question).json()
    assert number in [source["id"] for source in block["sources"]]
    assert block["tokens"] <= 200
    assert "tide table" in block["text"]


def test_a_prune_plan_is_made_reviewed_applied_and_undone(api: Served) -> None:
    plan = api.client.post("/v1/plans/prune", json={"max_count": 5, "grace_days": 0}).json()
    assert plan["state"] == "planned"
    assert plan["report"]["staying"] == plan["report"]["eligible"] - plan["report"]["planned"]
    assert api.client.get(f"/v1/plans/{plan['id']}").json() == plan
    applied = api.client.post(f"/v1/plans/{plan['id']}/apply").json()
    assert applied == {"plan": plan["id"], "results": [], "archived": [], "redacted": [], "skipped": []}
    undone = api.client.post(f"/v1/plans/{plan['id']}/undo").json()
    assert undone["restored"] == 0
    listed = api.client.get("/v1/plans", params={"limit": 1}).json()
    assert (listed[0]["id"], listed[0]["state"]) == (plan["id"], "undone")


def test_plans_come_page_by_page(database_url: str) -> None:
    with member(database_url) as memory:
        long_ago = datetime(2020, 1, 1, tzinfo=UTC)
        memory.remember_many(
            [Draft(f"harbour {name}{mark}", key=f"{name}{mark}", layer="activity")
             for name in ("alpha pier", "bravo crane", "charlie quay") for mark in ("", "!")],
            now=long_ago,
        )  # fmt: skip
    with serving(database_url) as served:
        for kind, asked, count, items, name in (
            ("dedupe", {}, "clusters", "clusters", "cluster"),
            ("prune", {"max_share": 1}, "planned", "items", "id"),
        ):
            made = served.client.post(f"/v1/plans/{kind}", json=asked).json()
            path, most = f"/v1/plans/{made['id']}", made["report"][count]
            assert most >= 2
            pages = [
                served.client.get(path, params={"limit": 1, "offset": offset}).json()[items]
                for offset in range(most + 1)
            ]
            assert [len(page) for page in pages] == [1] * most + [0]
            assert [page[0][name] for page in pages[:-1]] == [item[name] for item in made[items]]
            assert is_problem(served.client.get(path, params={"limit": 10_001}), 422, "invalid-request")
            assert is_problem(served.client.get(path, params={"offset": -1}), 422, "invalid-request")
            [listed] = served.client.get("/v1/plans", params={"kind": kind}).json()
            assert listed["id"] == made["id"]
            assert served.client.delete(path).json() == {"changed": True}
            assert served.client.get(path).status_code == 422
        assert is_problem(served.client.get("/v1/plans", params={"kind": "x"}), 422, "invalid-request")


def test_a_subject_is_erased_in_steps(api: Served) -> None:
    for number in range(3):
        remembered(api, f"Ann's note {number}", author="Ann of the erasure")
    subject = {"author": "Ann of the erasure", "asked_by": "Ann"}
    plan = api.client.post("/v1/erasures", json=subject).json()
    assert (plan["state"], plan["planned"], len(plan["sample"])) == ("planned", 3, 3)
    where = f"/v1/erasures/{plan['id']}"
    begun = api.client.post(f"{where}/apply", json={"signed_by": "Bram", "limit": 2}).json()
    assert (begun["state"], begun["remaining"]) == ("begun", 1)
    assert api.client.delete(where).status_code == 422
    done = api.client.post(f"{where}/apply", json={"signed_by": "Bram"}).json()
    assert (done["state"], done["report"]["memories"], done["intact"]) == ("done", 3, True)
    assert api.client.get(where).json()["digest"] == done["digest"]
    assert api.client.get("/v1/erasures").json()[0]["subject"]["author"].startswith("sha256:")
    assert api.client.post("/v1/erasures", json={"asked_by": "Ann"}).status_code == 422
    assert api.client.post("/v1/erasures", json={"author": "Ann"}).status_code == 422


def test_versions_are_listed_compared_and_restored(api: Served) -> None:
    remembered(api, "Mira signs on Friday", key="of/versions")
    remembered(api, "Mira signs on Monday", key="of/versions")
    listed = api.client.get("/v1/versions/of/versions").json()
    assert [(one["number"], one["body"]) for one in listed] == [
        (2, "Mira signs on Monday"), (1, "Mira signs on Friday"),
    ]  # fmt: skip
    assert (listed[0]["written_through"], listed[0]["replaced_at"]) == ("http", None)
    [body] = api.client.get("/v1/differences/of/versions", params={"earlier": 1}).json()
    assert [run["change"] for run in body["words"]] == ["same", "removed", "added"]
    restored = api.client.put("/v1/versions/of/versions", json={"version": 1})
    assert restored.json()["outcome"] == "updated"
    assert api.client.get("/v1/memories/of/versions").json()["body"] == "Mira signs on Friday"
    assert api.client.put("/v1/versions/of/versions", json={"version": 9}).status_code == 422
    assert api.client.get("/v1/versions/nobody").status_code == 404
    assert api.client.get("/v1/differences/of/versions", params={"earlier": 0}).status_code == 422


def test_changes_continue_at_a_cursor(api: Served) -> None:
    start = api.client.get("/v1/changes/cursor").json()["cursor"]
    remembered(api, "Something new", key="of-changes")

    def shown() -> list[dict[str, Any]]:
        """What has changed, once it is shown: what older tests did may be shown before it."""
        page = api.client.get("/v1/changes", params={"since": start}).json()
        return page if any(one["key"] == "of-changes" for one in page) else []

    page = until(shown, "other transactions end")
    assert [(one["kind"], one["key"]) for one in page][-1] == ("new", "of-changes")
    after = {"since": page[-1]["cursor"], "kinds": "deleted"}
    assert api.client.get("/v1/changes", params=after).json() == []
    assert api.client.get("/v1/changes", params={"since": "no cursor"}).status_code == 422
    assert api.client.get("/v1/changes", params={"kinds": "melted"}).status_code == 422


def test_layers_and_settings_are_set_and_reset(api: Served) -> None:
    changed = api.client.put("/v1/layers/harbour", json={"metabolic_rate": 0.5})
    assert changed.json() == {"count": 0}
    layers = {layer["name"]: layer for layer in api.client.get("/v1/layers").json()}
    assert layers["harbour"]["rates"]["metabolic_rate"] == 0.5
    assert layers["harbour"]["source"] == "tenant"
    assert api.client.delete("/v1/layers/harbour").json() == {"changed": True}
    assert api.client.put("/v1/layers/presets/default").status_code == 200
    setting = api.client.put("/v1/settings/prune.grace_days", json={"value": 12}).json()
    assert (setting["value"], setting["source"]) == (12, "tenant")
    setting = api.client.delete("/v1/settings/prune.grace_days").json()
    assert (setting["value"], setting["source"]) == (30, "default")


def test_state_and_jobs(api: Served) -> None:
    state = api.client.get("/v1/status").json()
    assert state["tenant"] == "acme"
    assert state["dimensions"] == 64
    assert "fold" in [job["name"] for job in api.client.get("/v1/jobs").json()]
    assert api.client.get("/v1/jobs/runs", params={"name": "fold"}).json() == []
    assert all(check["problems"] == 0 for check in api.client.get("/v1/maintenance/verify").json())
    zones = api.client.get("/v1/history/zones", params={"at": "2026-06-01"})
    assert zones.json() == []


INVALID: list[tuple[str, str, int, str]] = [
    # The body, before it is read as JSON or as a schema.
    ("/v1/search", "{", 400, "malformed-json"),
    ("/v1/search", '{"query": "a", "k": ' + "9" * 5000 + "}", 400, "bad-request"),
    ("/v1/search", "[" * 50_000, 400, "bad-request"),
    # The schema.
    ("/v1/search", "", 422, "invalid-request"),
    ("/v1/search", "[]", 422, "invalid-request"),
    ("/v1/search", '{"query": 7}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "k": "3"}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "k": true}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "k": 1001}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "min_relevance": NaN}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "since": 5}', 422, "invalid-request"),
    ("/v1/search", '{"query": "a", "unknown": 5}', 422, "invalid-request"),
    ("/v1/search", '{"query": "\\ud800"}', 422, "invalid-request"),
    ("/v1/search", '{"\\ud800": 1}', 422, "invalid-request"),
    ("/v1/context", '{"query": "a", "count_tokens": 1}', 422, "invalid-request"),
    ("/v1/memories", '{"body": "a", "links": [{"target": "b", "much": 1}]}', 422, "invalid-request"),
    # The client and the database.
    ("/v1/search", '{"query": "a\\u0000"}', 422, "invalid-input"),
    ("/v1/memories", '{"body": "a", "metadata": {"x": NaN}}', 422, "invalid-input"),
    ("/v1/accesses", '{"accesses": [{"memory": 999999}]}', 404, "memory-not-found"),
]


@pytest.mark.parametrize(("path", "body", "status", "name"), INVALID)
def test_an_invalid_body_is_a_problem(api: Served, path: str, body: str, status: int, name: str) -> None:
    answer = api.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert is_problem(answer, status, name), answer.text


def test_a_problem_lists_a_hundred_errors_and_says_so(api: Served) -> None:
    answer = api.client.post("/v1/memories", json={"body": "x", **{f"x{n}": 1 for n in range(5000)}})
    assert is_problem(answer, 422, "invalid-request")
    assert len(answer.json()["errors"]) == 100
    assert answer.json()["detail"].endswith(" The first 100 of 5,000 errors are listed.")


MANY: list[tuple[str, Any, str]] = [
    ("/v1/memories/batch", {"drafts": [0] * 10_001}, "body.drafts"),
    ("/v1/memories/batch", {"drafts": [{"body": "x", "tags": [0] * 10_001}]}, "body.drafts[0].tags"),
    ("/v1/accesses", {"accesses": [0] * 10_001}, "body.accesses"),
    ("/v1/search", {"query": "x", "weights": {f"w{n}": 1 for n in range(10_001)}}, "body.weights"),
    ("/v1/search", {"query": "x", **{f"f{n}": 1 for n in range(10_000)}}, "body"),
]


@pytest.mark.parametrize(("path", "body", "place"), MANY)
def test_a_list_in_a_body_has_ten_thousand_items_at_most(
    api: Served, path: str, body: Any, place: str
) -> None:
    answer = api.client.post(path, json=body)
    assert is_problem(answer, 422, "invalid-request")
    [error] = answer.json()["errors"]
    assert error["where"] == place
    assert error["problem"] == "There are 10,001 items; at most 10,000 are allowed in one request"


def test_a_list_is_read_until_the_first_invalid_item(api: Served) -> None:
    answer = api.client.post("/v1/memories/batch", json={"drafts": [{"body": "x"}, {"body": 1}, [], []]})
    assert [error["where"] for error in answer.json()["errors"]] == ["body.drafts[1].body"]


def test_a_problem_names_each_place_and_repeats_nothing(api: Served) -> None:
    secret = "a text that nobody shall read in a log"
    answer = api.client.post("/v1/search", json={"query": [secret], "k": secret, "tags": [1]})
    places = [error["where"] for error in answer.json()["errors"]]
    assert places == ["body.tags[0]", "body.query", "body.k"]
    assert secret not in answer.text


UNKNOWN = [
    ("GET", "/v1/memories", "layer"),
    ("GET", "/v1/memories/a", "layers"),
    ("GET", "/v1/status", "at"),
    ("GET", "/v1/jobs/runs", "job"),
    ("POST", "/v1/search", "k"),
    ("DELETE", "/v1/memories/a", "hrad"),
]


@pytest.mark.parametrize(("method", "path", "name"), UNKNOWN)
def test_an_unknown_parameter_is_refused(api: Served, method: str, path: str, name: str) -> None:
    answer = api.client.request(method, path, params={name: "x"})
    assert is_problem(answer, 422, "invalid-request"), answer.text
    assert answer.json()["detail"].startswith(f"query.{name}: There is no such parameter; available: ")


def test_a_body_that_no_one_reads_is_refused(api: Served) -> None:
    """A client that names parts there would have merged all of them."""
    ids = [
        api.client.post(
            "/v1/memories", json={"body": f"The bell rings at {hour}.", "key": f"bell {hour}"}
        ).json()["id"]
        for hour in ("noon", "dawn")
    ]
    plan = api.client.post("/v1/plans/merge", json={"keeper": ids[0], "memories": ids[1:]}).json()
    path = f"/v1/plans/{plan['id']}"
    for body in ('{"parts": [1]}', "[1]", "null", '{"parts": ['):
        refused = api.client.request(
            "POST", f"{path}/apply", content=body, headers={"Content-Type": "application/json"}
        )
        assert refused.status_code == 422, body
        assert "This route reads no body; parameters of the query: parts, now" in refused.json()["detail"]
    assert api.client.request("GET", path).json()["state"] == "planned"
    done = api.client.request("POST", f"{path}/apply", params={"parts": [1]}, json={}).json()
    assert sorted(one["outcome"] for one in done["results"]) == ["kept", "merged"]


def test_unknown_paths_and_memories_are_problems(api: Served) -> None:
    assert is_problem(api.client.get("/v1/nothing"), 404, "not-found")
    assert is_problem(api.client.get("/v1/memories/999999"), 404, "memory-not-found")
    assert is_problem(api.client.get("/v1/memories/"), 422, "invalid-input")
    refused = api.client.delete("/v1/search")
    assert is_problem(refused, 405, "method-not-allowed")
    assert refused.headers["allow"] == "POST"


def test_only_json_is_taken(api: Served) -> None:
    answer = api.client.post("/v1/search", content='{"query": "a"}', headers={"Content-Type": "text/plain"})
    assert is_problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize("told", [True, False])
def test_an_oversize_body_is_refused_with_or_without_content_length(api: Served, told: bool) -> None:
    body = json.dumps({"body": "x" * 2_000_000}).encode()
    content: Any = body if told else iter([body[:1_000_000], body[1_000_000:]])
    answer = api.client.post("/v1/memories", content=content, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 413, "content-too-large") or is_problem(answer, 413, "request-entity-too-large")


def test_a_page_of_a_browser_cannot_reach_it_by_a_name_of_its_own(api: Served) -> None:
    answer = api.client.get("/v1/status", headers={"Host": "evil.example"})
    assert is_problem(answer, 421, "misdirected-request")
    assert api.client.get("/v1/status", headers={"Host": "localhost:99"}).status_code == 200


def test_every_answer_carries_the_id_of_its_request(api: Served) -> None:
    assert api.client.get("/healthz", headers={"X-Request-ID": "turn-7"}).headers["x-request-id"] == "turn-7"
    made = api.client.get("/healthz", headers={"X-Request-ID": "no id, this"}).headers["x-request-id"]
    assert len(made) == 32


def test_the_log_has_requests_and_no_contents_of_memories(api: Served) -> None:
    remembered(api, "Words nobody may see.", key="secret/key/of/mine")
    api.client.post("/v1/search", json={"query": "unheard question"})
    api.client.get("/v1/memories/secret/key/of/mine", headers={"X-Request-ID": "seen-in-the-log"})
    line = api.logged_of("seen-in-the-log")
    lines = api.logged()
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/memories/{memory:path}", 200)
    assert line["tenant"] == "acme"
    told = json.dumps(lines)
    assert not any(word in told for word in ("nobody may see", "unheard", "secret/key", "key/of"))


def test_a_verdict_on_what_was_shown_counts_once(api: Served) -> None:
    number = remembered(api, "The lamp of the breakwater is green.")
    found = api.client.post("/v1/search", json={"query": "which colour has the lamp?"}).json()
    verdict = {"search_id": found["search_id"], "memories": [number]}
    assert api.client.post("/v1/feedback/used", json=verdict).json() == {"count": 1}
    assert api.client.post("/v1/feedback/used", json=verdict).json() == {"count": 0}
    assert api.client.post("/v1/feedback/rejected", json=verdict).json() == {"count": 1}
