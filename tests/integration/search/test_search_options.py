"""What can be asked beside one question: sub-queries, hints, cues, windows, the past, profiles, weights."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from tests.conftest import NOW
from tests.databases import Query

DAY = timedelta(days=1)
Rows = list[dict[str, Any]]

QUIET = {"explain": False, "vitality_mode": "off"}


def remember(sql: Query, body: str, *, at: Any = NOW - 10 * DAY, **fields: Any) -> int:
    values = {"body": body, "now": at, **fields}
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return int(sql(f"SELECT recall.remember({call}) AS id", values)[0]["id"])


def ask(sql: Query, query: str | None = None, **options: Any) -> Rows:
    values = {"query": query, "now": NOW, **options}
    for name in ("weights", "metadata"):
        if name in values:
            values[name] = json.dumps(values[name])
    call = ", ".join(f"p_{name} => %({name})s" for name in values)
    return sql(f"SELECT * FROM recall.search({call})", values)


def keys(rows: Rows) -> list[str]:
    return [row["key"] for row in rows]


def refusal(sql: Query, query: str | None = "harbour", **options: Any) -> str:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        ask(sql, query, **options)
    return refused.value.diag.message_primary or ""


# --- sub-queries and hints ------------------------------------------------------------------------------


def test_sub_queries_are_answered_together_each_memory_by_the_one_it_answers_best(sql: Query) -> None:
    remember(sql, "Odile mends the winch", key="winch")
    remember(sql, "The ferry leaves at noon", key="ferry")
    remember(sql, "Gulls nest under the crane", key="gulls")

    rows = ask(sql, queries=["who mends the winch", "when does the ferry leave"])

    assert set(keys(rows)) == {"winch", "ferry"}
    asked = {row["key"]: row["explanation"]["query"] for row in rows}
    assert asked == {"winch": "who mends the winch", "ferry": "when does the ferry leave"}


def test_a_sub_query_takes_no_relevance_away(sql: Query) -> None:
    remember(sql, "Odile mends the winch", key="winch")
    remember(sql, "The ferry leaves at noon", key="ferry")
    sql("SELECT recall.refresh_lexemes()")

    alone = {row["key"]: row["relevance"] for row in ask(sql, "who mends the winch", **QUIET)}
    both = ask(sql, "who mends the winch", queries=["when does the ferry leave"], **QUIET)

    assert {row["key"]: row["relevance"] for row in both}["winch"] == pytest.approx(alone["winch"], rel=1e-12)


def test_the_order_of_the_queries_does_not_matter(sql: Query) -> None:
    for number, body in enumerate(("the winch and the ferry", "a winch", "a ferry at noon", "noon")):
        remember(sql, body, key=f"m{number}")
    queries = ["winch repair", "ferry timetable", "noon"]

    forwards = ask(sql, queries=queries, **QUIET)
    backwards = ask(sql, queries=queries[::-1], **QUIET)

    assert [(r["key"], r["score"]) for r in forwards] == [(r["key"], r["score"]) for r in backwards]


def test_a_hint_must_occur(sql: Query) -> None:
    remember(sql, "The winch was mended in the shipyard", key="mended")
    remember(sql, "The winch was painted", key="painted")

    assert set(keys(ask(sql, "winch"))) == {"mended", "painted"}
    assert keys(ask(sql, "winch", hints=["shipyard"])) == ["mended"]
    assert ask(sql, "winch", hints=["shipyard", "painted"]) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"query": None}, "The query is empty."),
        ({"query": None, "queries": []}, "The list of queries is empty."),
        ({"queries": ["one"] * 500}, "There are 500 queries; the limit is 16"),
        ({"queries": ["good", ""]}, "The query is empty."),
        ({"queries": ["good", None]}, "The query is empty."),
        ({"queries": ["good", "?!"]}, "The query '?!' holds no letter or digit."),
        ({"profile": "nonsense"}, "The profile 'nonsense' is unknown."),
        ({"weights": {"smell": 1}}, "There is no arm 'smell'."),
        ({"weights": {"lexical": -1}}, "The weight of lexical is -1;"),
        ({"weights": {"lexical": "much"}}, 'The weight of lexical is "much";'),
        ({"weights": [1]}, "The weights are not a JSON object"),
        ({"cues": [1] * 33}, "There are 33 cues; the limit is 32."),
        ({"as_of": NOW + DAY}, "as_of is 2026-06-02 12:00:00+00, which is in the future."),
        ({"as_of": NOW - DAY, "since": NOW}, "begins after as_of"),
        ({"since": NOW, "until": NOW - DAY}, "The time window is empty"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    sql: Query, options: dict[str, Any], named: str
) -> None:
    message = refusal(sql, **({"query": "harbour"} | options))

    assert named in message
    assert message.endswith(".")


def test_a_cue_of_another_tenant_is_not_there(sql: Query) -> None:
    remember(sql, "harbour", key="ours")
    theirs = sql("SELECT recall.remember('harbour', p_key => 'theirs') AS id", tenant="other")[0]["id"]

    with pytest.raises(psycopg.errors.NoDataFound, match=str(theirs)):
        ask(sql, "harbour", cues=[theirs])


# --- what was just used, and links ------------------------------------------------------------------------


def test_what_was_used_in_a_session_cues_its_associates(sql: Query) -> None:
    winch = remember(sql, "Winch manual", key="winch")
    for number in range(3):
        remember(sql, f"Order form number {number}", key=f"form{number}")
    form = sql("SELECT recall.id_of('form2') AS id")[0]["id"]
    for session in ("a", "b", "c"):
        for memory in (winch, form):
            sql("SELECT recall.record_access(%s, 'used', p_session_id => %s, p_now => %s)",
                (memory, session, NOW - DAY))  # fmt: skip
    just_now = NOW - DAY / 24
    sql("SELECT recall.record_access(%s, 'used', p_session_id => 'now', p_now => %s)", (winch, just_now))

    without = ask(sql, "order form", **QUIET)
    within = ask(sql, "order form", session_id="now", vitality_mode="off")

    assert keys(without)[0] == "form0"
    assert keys(within)[0] == "form2"
    cue = within[0]["explanation"]["arms"]["cue"]
    assert cue["cue"] == winch
    assert 0 < cue["strength"] <= 1
    assert within[0]["explanation"]["relevance"]["cue"] > 0
    # Named by the caller, the same cue counts four times as much.
    named = ask(sql, "order form", cues=[winch], vitality_mode="off")[0]["explanation"]["arms"]["cue"]
    assert named["strength"] == pytest.approx(4 * cue["strength"])


def test_cues_alone_rank_by_association_whatever_their_weight(sql: Query) -> None:
    sql("INSERT INTO recall.relevance_model "
        "SELECT (jsonb_populate_record(m, '{\"tenant\": \"acme\", \"cue\": 0.1}')).* "
        "FROM recall.relevance_model m WHERE m.tenant = '*' AND m.profile = 'balanced'")  # fmt: skip
    cue, rarely, often = (remember(sql, f"Form {n}", key=f"form{n}", now=NOW - 30 * DAY) for n in range(3))
    for day, memories in enumerate([(cue, often)] * 3 + [(cue, rarely), (rarely,), (rarely,)]):
        for memory in memories:
            sql("SELECT recall.record_access(%s, 'used', %s, p_session_id => %s, p_now => %s)",
                (memory, NOW - (9 - day) * DAY, f"day {day}", NOW))  # fmt: skip

    assert keys(ask(sql, cues=[cue])) == ["form2", "form1"]


def test_beside_words_a_cue_does_not_raise_what_every_session_uses(sql: Query) -> None:
    """Alone it foresees that memory; beside words it would count a second time how much it is used."""
    cue, hub, akin = (
        remember(sql, f"Order form {name}", key=name, now=NOW - 30 * DAY) for name in ("cue", "hub", "akin")
    )
    sessions = [(cue, hub)] * 3 + [(cue, hub, akin)] * 2 + [(hub,)] * 12
    for day, memories in enumerate(sessions):
        for memory in memories:
            sql("SELECT recall.record_access(%s, 'used', p_session_id => %s, p_now => %s)",
                (memory, f"s{day}", NOW - (20 - day) * DAY))  # fmt: skip

    assert keys(ask(sql, cues=[cue]))[:2] == ["hub", "akin"]
    beside = ask(sql, "order form", cues=[cue], vitality_mode="off")
    arms = {hit["key"]: hit["explanation"]["arms"] for hit in beside}
    assert arms["akin"]["cue"]["strength"] > arms["hub"]["cue"]["strength"] > 0


def test_cues_alone_are_a_question(sql: Query) -> None:
    hub = remember(sql, "Harbour office", key="hub")
    near = remember(sql, "Its opening hours", key="near")
    remember(sql, "Gulls", key="gulls")
    sql("SELECT recall.link(%s, %s, p_now => %s)", (hub, near, NOW - DAY))

    assert keys(ask(sql, cues=[hub])) == ["near"]


def test_a_neighbour_of_a_good_hit_is_found_by_its_link(sql: Query) -> None:
    note = remember(sql, "Winch maintenance plan for the northern quay", key="plan")
    neighbour = remember(sql, "Grease every spring", key="grease")
    remember(sql, "Gulls nest under the crane", key="gulls")
    sql("SELECT recall.link(%s, %s, p_now => %s)", (note, neighbour, NOW - DAY))

    rows = ask(sql, "winch maintenance plan", vitality_mode="off")

    assert keys(rows) == ["plan", "grease"]
    graph = rows[1]["explanation"]["arms"]["graph"]
    assert graph == {"share": 0.5, "from": note}
    assert 0 < rows[1]["explanation"]["relevance"]["graph"] <= math.log(6) + 1e-9
    assert keys(ask(sql, "winch maintenance plan", weights={"graph": 0})) == ["plan"]


@pytest.mark.parametrize("relation", ["contradicts", "supersedes"])
def test_nothing_is_lent_along_contradictions(sql: Query, relation: str) -> None:
    note = remember(sql, "Winch maintenance plan", key="plan")
    other = remember(sql, "Grease every spring", key="grease")
    sql("SELECT recall.link(%s, %s, %s, p_now => %s)", (note, other, relation, NOW - DAY))

    assert keys(ask(sql, "winch maintenance plan")) == ["plan"]


def test_the_turn_after_a_hit_is_lent_more_than_the_one_before(sql: Query) -> None:
    before = remember(sql, "Good morning", key="before")
    asked = remember(sql, "The winch is inspected", key="asked")
    after = remember(sql, "On Friday", key="after")
    for src, dst in ((before, asked), (asked, after)):
        sql("SELECT recall.link(%s, %s, 'next', p_now => %s)", (src, dst, NOW - DAY))

    assert keys(ask(sql, "winch inspected", vitality_mode="off")) == ["asked", "after", "before"]


# --- time -----------------------------------------------------------------------------------------------


def test_a_window_alone_is_a_question_ranked_by_vitality(sql: Query) -> None:
    remember(sql, "first worry", key="first", occurred_at=NOW - 30 * DAY, at=NOW - 30 * DAY)
    lively = remember(sql, "second worry", key="second", occurred_at=NOW - 29 * DAY, at=NOW - 29 * DAY)
    remember(sql, "later", key="later", occurred_at=NOW - DAY, at=NOW - DAY)
    sql("SELECT recall.record_access(%s, 'used', p_now => %s)", (lively, NOW - DAY))

    rows = ask(sql, since=NOW - 40 * DAY, until=NOW - 20 * DAY)

    assert keys(rows) == ["second", "first"]
    assert [row["relevance"] for row in rows] == [pytest.approx(1)] * 2
    assert [row["score"] for row in rows] == [pytest.approx(row["vitality"]) for row in rows]


def test_as_of_knows_what_was_known_then(sql: Query) -> None:
    old = remember(sql, "The winch office is on the quay", key="old", at=NOW - 60 * DAY)
    new = remember(sql, "The winch office is on the hill", key="new", at=NOW - 20 * DAY)
    sql("SELECT recall.supersede(%s, %s, %s)", (old, new, NOW - 20 * DAY))
    sql("SELECT recall.record_access(%s, 'used', p_now => %s)", (old, NOW - 40 * DAY))

    today = sql("SELECT * FROM recall.search('winch office')")
    then = sql("SELECT * FROM recall.search('winch office', p_as_of => %s)", (NOW - 30 * DAY,))
    before = sql("SELECT * FROM recall.search('winch office', p_as_of => %s)", (NOW - 90 * DAY,))

    assert keys(today) == ["new"]
    assert keys(then) == ["old"]
    assert then[0]["explanation"]["vitality"]["accesses"] == 2
    assert before == []
    lived = sql("SELECT * FROM recall.vitality_as_of(%s, %s)", (old, NOW - 30 * DAY))[0]
    assert then[0]["vitality"] == pytest.approx(lived["vitality"], rel=1e-9)


def test_as_of_shows_what_was_not_archived_yet(sql: Query) -> None:
    memory = remember(sql, "The winch office", key="office", at=NOW - 60 * DAY)
    sql("SELECT recall.forget(%s, p_now => %s)", (memory, NOW - 5 * DAY))

    assert sql("SELECT FROM recall.search('winch office')") == []
    assert sql("SELECT FROM recall.search('winch office', p_as_of => %s)", (NOW - DAY,)) == []
    assert len(sql("SELECT FROM recall.search('winch office', p_as_of => %s)", (NOW - 6 * DAY,))) == 1


def test_an_expired_memory_is_hidden_until_it_is_archived_and_then_counts_as_archived(sql: Query) -> None:
    memory = remember(sql, "The winch office", key="office", at=NOW - 60 * DAY)
    sql("UPDATE recall.memory SET expires_at = %s", (NOW - 20 * DAY,))
    assert sql("SELECT recall.expire_memories(9, %s) AS gone", (NOW - 5 * DAY,)) == [{"gone": 1}]
    search = "SELECT id FROM recall.search('winch office', p_as_of => %s, p_include_archived => %s)"
    found = {
        (days, archived): [row["id"] for row in sql(search, (NOW - days * DAY, archived))]
        for days in (30, 10, 1)
        for archived in (False, True)
    }
    assert found == {
        (30, False): [memory], (30, True): [memory],
        (10, False): [], (10, True): [],  # past its time, and not archived yet
        (1, False): [], (1, True): [memory],
    }  # fmt: skip
    for days, hidden in ((10, ["expired"]), (1, ["archived"])):
        request = json.dumps({"query": "winch office", "as_of": (NOW - days * DAY).isoformat()})
        [row] = sql("SELECT recall.explain_miss(%s, %s, p_now => %s) AS why", (memory, request, NOW))
        assert row["why"]["filters"] == hidden
    assert sql("SELECT id FROM recall.search('winch office', p_include_archived => true)") == [{"id": memory}]


# --- truth over time ------------------------------------------------------------------------------------


def test_a_superseded_memory_ranks_behind_its_successor_and_both_say_so(sql: Query) -> None:
    chain = [
        remember(sql, f"The winch office phone number is {digits}", key=key)
        for key, digits in (("oldest", "winch office 1 1"), ("older", "winch office 2"), ("newest", "3"))
    ]
    for old, new in pairwise(chain):
        sql("SELECT recall.supersede(%s, %s, %s)", (old, new, NOW - DAY))

    assert keys(ask(sql, "winch office phone number")) == ["newest"]
    rows = ask(sql, "winch office phone number", include_superseded=True)

    assert keys(rows) == ["newest", "older", "oldest"]
    assert [row["superseded_by"] for row in rows] == [None, chain[2], chain[1]]
    assert [row["supersedes"] for row in rows] == [[chain[1]], [chain[0]], []]
    assert sorted((row["score"] for row in rows), reverse=True) == [row["score"] for row in rows]


def test_a_successor_in_other_words_comes_along(sql: Query) -> None:
    old = remember(sql, "The winch office moved to the quay", key="old")
    new = remember(sql, "Ask upstairs from now on", key="new")
    sql("SELECT recall.supersede(%s, %s, %s)", (old, new, NOW - DAY))

    assert keys(ask(sql, "winch office", include_superseded=True)) == ["new", "old"]


def test_contradictions_are_shown_on_both(sql: Query) -> None:
    one = remember(sql, "Planning is on Monday", key="monday")
    two = remember(sql, "Planning is on Wednesday", key="wednesday")
    sql("SELECT recall.link(%s, %s, 'contradicts', p_now => %s)", (one, two, NOW - DAY))

    found = {row["key"]: row["contradicts"] for row in ask(sql, "planning")}

    assert found == {"monday": [two], "wednesday": [one]}


def test_expiry_and_validity_are_shown(sql: Query) -> None:
    remember(sql, "winch", key="winch")
    sql("UPDATE recall.memory SET expires_at = %s, valid_until = %s", (NOW + DAY, NOW - DAY))

    [row] = ask(sql, "winch", include_invalid=True)

    assert (row["expires_at"], row["valid_until"]) == (NOW + DAY, NOW - DAY)
    assert row["archived_at"] is None


# --- profiles, weights and what is told -------------------------------------------------------------------


@pytest.mark.parametrize(
    "profile", ["balanced", "identity", "knowledge", "episodic", "activity", "seed", "rrf"]
)
def test_every_profile_answers(sql: Query, profile: str) -> None:
    remember(sql, "Winch maintenance plan", key="plan")
    remember(sql, "Gulls nest under the winch crane", key="gulls")

    rows = ask(sql, "winch maintenance plan", profile=profile)

    assert keys(rows)[0] == "plan"
    assert all(0 <= row["relevance"] <= 1 for row in rows)
    assert rows[0]["explanation"]["profile"] == profile


def test_the_only_layer_asked_for_brings_its_profile(sql: Query) -> None:
    remember(sql, "Winch", title="Winch", layer="entity", key="winch")

    assert ask(sql, "winch", layers=["entity"])[0]["explanation"]["profile"] == "identity"
    assert ask(sql, "winch", layers=["entity", "knowledge"])[0]["explanation"]["profile"] == "balanced"


def test_an_arm_of_weight_nothing_neither_finds_nor_counts(sql: Query) -> None:
    remember(sql, "Winch maintenance plan", key="plan")

    assert ask(sql, "winch plan", weights={"lexical": 0}) == []
    full, half = (ask(sql, "winch plan", weights={"lexical": w})[0]["explanation"] for w in (1, 0.5))
    assert half["relevance"]["coverage"] == pytest.approx(full["relevance"]["coverage"] / 2)


def test_the_author_weight_is_a_setting(sql: Query) -> None:
    remember(sql, "The winch is green", key="hers", author="Mira")

    before = ask(sql, "what did Mira say of the winch")[0]["explanation"]["relevance"]["author"]
    sql("SELECT recall.set_setting('search.author_weight', 0)")
    after = ask(sql, "what did Mira say of the winch")[0]["explanation"]["relevance"]["author"]

    assert before > 0
    assert after == 0


def test_no_hits_come_with_the_count_of_each_arm(sql: Query) -> None:
    remember(sql, "Winch maintenance plan", key="plan")

    [row] = sql(
        """SELECT * FROM recall.find('{"query": "winch", "min_relevance": 1}', p_now => %s)""", (NOW,)
    )

    assert row["id"] is None
    assert row["summary"]["arms"] == {"semantic": 0, "lexical": 1, "name": 0, "cue": 0, "graph": 0}


def test_features_and_contributions_make_the_relevance(sql: Query) -> None:
    hub = remember(sql, "Winch maintenance plan", key="plan", title="Plan", author="Mira")
    other = remember(sql, "Winch grease", key="grease")
    sql("SELECT recall.link(%s, %s, p_now => %s)", (hub, other, NOW - DAY))

    for row in ask(sql, "what is Mira's winch maintenance plan", cues=[other]):
        told = row["explanation"]["relevance"]
        features = told["features"]
        assert sum(told[term] for term in ("intercept", *features)) == pytest.approx(told["logit"], abs=1e-9)
        assert len(features) == 13


# --- explain --------------------------------------------------------------------------------------------


def test_explain_says_where_a_memory_is_and_why(sql: Query) -> None:
    remember(sql, "Winch maintenance plan", key="plan")
    grease = remember(sql, "Winch grease", key="grease")

    told = sql("""SELECT recall.explain(%s, '{"query": "winch maintenance plan"}') AS told""", (grease,))[0][
        "told"
    ]

    assert (told["found"], told["rank"], told["candidates"]) == (True, 2, 2)
    assert told["sentence"].startswith("Rank 2 of 2. Relevant with a probability of 0.")
    assert told["arms"]["lexical"]["step"] == "some words"


def test_explain_says_why_a_memory_is_not_there(sql: Query) -> None:
    gulls = remember(sql, "Gulls nest under the crane", key="gulls")
    winch = remember(sql, "Winch", key="winch")
    sql("SELECT recall.forget(%s)", (winch,))

    unfound = sql("""SELECT recall.explain(%s, '{"query": "winch"}') AS told""", (gulls,))[0]["told"]
    hidden = sql("""SELECT recall.explain(%s, '{"query": "winch"}') AS told""", (winch,))[0]["told"]

    assert (unfound["found"], "no arm found it" in unfound["sentence"]) == (False, True)
    assert hidden["sentence"].endswith("A default search leaves it out: it is archived.")
    with pytest.raises(psycopg.errors.NoDataFound):
        sql("""SELECT recall.explain(987654, '{"query": "winch"}')""")


def test_explain_keeps_to_its_filters(sql: Query) -> None:
    remember(sql, "Winch maintenance plan", key="plan", layer="episodic", author="Mira")
    grease = remember(sql, "Winch grease", key="grease")

    def explained(**options: Any) -> dict[str, Any]:
        request = json.dumps({"query": "winch", **options})
        return dict(sql("SELECT recall.explain(%s, %s) AS told", (grease, request))[0]["told"])

    assert (explained()["candidates"], explained(layers=["knowledge"])["candidates"]) == (2, 1)
    for filters in (
        {"layers": ["episodic"]},
        {"authors": ["Mira"]},
        {"hints": ["plan"]},
        {"min_relevance": 1},
    ):
        without = explained(**filters)
        assert (without["found"], without["sentence"].endswith("no arm found it within its filters.")) == (
            False,
            True,
        )
    sql("SELECT recall.forget(%s)", (grease,))
    assert (explained()["found"], explained(include_archived=False)["found"]) == (True, False)
