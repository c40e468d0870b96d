"""What other functions refuse, an import refuses too; and a bad row of one tenant stops nobody's jobs."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import InvalidInput, Memory
from pgrecall.database.error_translation import translated
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query
from tests.integration.export.export_tools import client, read_in_sql
from tests.scale import SCALE
from tests.tenant_world import _GIVEN, _questions, fill_tenant

HELD = "SELECT recall_private.tenant_holdings(recall.current_tenant()) AS held"


@pytest.fixture(scope="module")
def documents(shared_url: str) -> list[dict[str, Any]]:
    """An export with at least one line of nearly every kind."""
    file = io.BytesIO()
    with client(shared_url, "source") as memory:
        fill_tenant(memory, shared_url, seed=9, size=14)
        memory.export.write(file, now=NOW)
    return [json.loads(line) for line in file.getvalue().decode().split("\n")[:-1]]


@pytest.fixture
def target(shared_url: str, sql: Query) -> Iterator[Memory]:
    """An empty tenant, which still is when the test is over."""
    with client(shared_url, "target") as memory:
        yield memory
    assert sql(HELD, tenant="target") == [{"held": None}]


def stream(documents: list[dict[str, Any]]) -> io.BytesIO:
    return io.BytesIO("".join(f"{json.dumps(each)}\n" for each in documents).encode())


def changed(documents: list[dict[str, Any]], kind: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The export with other values in its first line of a kind."""
    place = next(place for place, each in enumerate(documents) if place and kind in each)
    return [*documents[:place], {kind: documents[place][kind] | fields}, *documents[place + 1 :]]


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a number as text": (
        "setting", {"name": "job.fold.minutes", "value": "5"},
        'job.fold.minutes is "5", which is not a number',
    ),
    "a text, out of bounds": ("setting", {"name": "job.fold.minutes", "value": "-5"}, "not a number"),
    "true as a number": ("setting", {"name": "job.fold.minutes", "value": True}, "not a number"),
    "a number beyond all": ("setting", {"name": "job.fold.minutes", "value": 10**400}, "out of range"),
    "a language nobody speaks": ("setting", {"name": "language", "value": "klingon"}, "no language"),
    "a number for a language": ("setting", {"name": "language", "value": 7}, "no language"),
    "statistics before Christ": ("setting", {"name": "statistics_at", "value": "0044-03-15 BC"}, "years"),
    "statistics at no time": ("setting", {"name": "statistics_at", "value": [1]}, "not a time"),
    "a language of no memory": ("memory", {"language": "klingon"}, "klingon"),
    "an unknown layer": ("memory", {"layer": "attic"}, "its layer 'attic' is unknown"),
    "a birth before Christ": ("memory", {"created_at": "0044-03-15 BC"}, "its created_at is out of bounds"),
    "an end of time": ("memory", {"archived_at": "infinity"}, "its archived_at is out of bounds"),
    "an occurrence before Christ": ("memory", {"occurred_at": "0044-03-15 BC"}, "years 1 to 9999"),
    "an occurrence to come": ("memory", {"occurred_at": "2100-01-01"}, "lies in the future"),
    "huge tags": ("memory", {"tags": ["x" * 100_000]}, "its tags have"),
    "huge metadata": ("memory", {"metadata": {"a": "x" * 1_000_001}}, "its metadata has"),
    "deep metadata": ("memory", {"metadata": json.loads('{"a":' * 101 + "1" + "}" * 101)}, "100 levels deep"),
    "a long source": ("memory", {"source": "x" * 3000}, "its source has"),
    "an empty key": ("memory", {"key": ""}, "a key has 1 to 1,000"),
    "metadata of a list": ("memory", {"metadata": [1]}, "its metadata is not a JSON object"),
    "tags of tags": ("memory", {"tags": [["a"], ["b"]]}, "its tags are not a JSON array of texts"),
    "tags that begin at 2": ("memory", {"tags": "[2:2]={a}"}, "its tags is out of bounds"),
    "a tag of nothing": ("memory", {"tags": [None]}, "its tags are not a JSON array of texts"),
    "blank text": ("memory", {"title": " ", "body": " "}, "neither a title nor a body"),
    "a decay that no layer has": (
        "layer", {"reading": "exponent", "metabolic_rate": 900, "base_decay": 9}, "must lie between 0.0001",
    ),
    "a median of nothing": ("layer_median", {"base": "NaN"}, "its median does not lie between"),
    "a median beyond all": ("layer_median", {"base": 1e6}, "its median"),
    "a coefficient of nothing": ("relevance_model", {"similarity": "NaN"}, "its similarity is out of bounds"),
    "a coefficient beyond all": ("relevance_model", {"similarity": 1e9}, "a coefficient of it"),
    "a formula": ("relevance_model", {"form": "rrf"}, "its form is not logistic"),
    "no documents": ("lexeme", {"documents": -5}, "its documents do not lie between 0 and"),
    "a negative length": ("lexeme", {"body_length": -1}, "its body_length"),
    "a vector of zeros": ("vector", {"embedding": str([0] * DIMENSIONS)}, "zero and so has no direction"),
    "a successor of nobody": ("supersession", {"id": 10**9}, "memory that is not there"),
    "negative references": ("activation", {"in_degree": -100}, "activation_degree_check"),
    "a cut below zero": ("activation", {"cut_size": -1}, "its cut_size is negative"),
    "sessions without end": ("activation", {"sessions": "Infinity"}, "its sessions do not lie between 0 and"),
    "a use at no time": ("activation", {"t1": "NaN"}, "its t1 is out of bounds"),
    "a use beyond time": ("activation", {"t1": 1e15}, "one of its times"),
    "uses out of order": ("activation", {"t1": 1000, "t2": 2000}, "its times do not go"),
    "a gap between uses": ("activation", {"t2": None, "t3": 1000}, "its times do not go"),
    "more uses than there can be": ("activation", {"n": 2**62}, "its n"),
    "a vitality beyond 1": ("activation", {"vitality": 2, "computed_at": "2026-01-01"}, "its vitality"),
    "a link before Christ": ("link", {"created_at": "0044-03-15 BC"}, "its created_at is out of bounds"),
    "a link of tears": ("link_history", {"relation": "cries_for"}, "its relation is unknown"),
    "a session of numbers": ("memory", {"session_id": [7] * 2000}, "its session"),
    "an access before Christ": ("access", {"at": "0044-03-15 BC"}, "its at is out of bounds"),
    "an endless access": ("access", {"recorded_at": "infinity"}, "its recorded_at is out of bounds"),
    "spread to more than it gives": ("access", {"spread_to": [1, 2], "spread_by": [0.5]}, "its spread_to"),
    "spread of nothing": ("access", {"spread_to": [1], "spread_by": ["NaN"]}, "its spread_to"),
    "a long idempotency key": ("access_key", {"idempotency_key": "x" * 1500}, "its idempotency key"),
    "a queue of nothing": ("access_queue", {"memory_ids": [None]}, "its memory_ids"),
    "a plan of text": ("plan", {"report": "fine"}, "its options or report"),
    "a plan in words": ("plan", {"options": {"max_count": "many"}}, "its options or report"),
    "an item beyond 1": ("plan_item", {"vitality": 7}, "its vitality"),
    "an item of a list": ("plan_item", {"terms": []}, "its terms"),
    "an archival before Christ": ("archival", {"archived_at": "0044-03-15 BC"}, "its archived_at"),
    "a floor at no time": ("floor_change", {"at": "-infinity"}, "its at is out of bounds"),
    "a long query": ("search_log", {"query": "x" * 20_000}, "its query has more than 10,000"),
    "long sub-queries": ("search_log", {"queries": ["x" * 20_000]}, "a query of it"),
    "sessions at no time": ("activation", {"sessions": 3, "sessions_at": None}, "or have no sessions_at"),
    "a vitality of no time": ("activation", {"vitality": 0.5, "computed_at": None}, "or has no computed_at"),
    "spread below zero": ("access", {"spread_to": [1], "spread_by": [-0.5]}, "its spread_to"),
    "spread to nobody": ("access", {"spread_to": [None], "spread_by": [0.5]}, "its spread_to"),
    "an item before the first": ("plan_item", {"place": -1}, "its place is negative"),
    "a version of nulls": ("memory_version", {"tags": [None]}, "its tags or aliases hold nulls"),
    "a version of a long name": ("memory_version", {"replaced_by": "x" * 101}, "replaced it is too long"),
    "signs of no model": ("token_signs", {"model": ""}, "its model does not have 1 to 500"),
    "a verdict at no time": ("judgement", {"at": "infinity"}, "its at is out of bounds"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_front_door_refuses_is_not_imported(
    target: Memory, documents: list[dict[str, Any]], what: str
) -> None:
    kind, fields, reason = REFUSED[what]
    with pytest.raises(InvalidInput) as caught:
        target.export.read(stream(changed(documents, kind, fields)))
    assert reason in caught.value.message
    assert caught.value.message.startswith("Line ")


def test_a_coefficient_that_is_gone_is_left_out(documents: list[dict[str, Any]], sql: Query) -> None:
    """Exports of before schema 0043 have it."""
    header, *lines = [json.dumps(each) for each in changed(documents, "relevance_model", {"phrase": 0.7})]
    sql("SELECT recall.begin_import(%s)", (header,), tenant="target")
    sql("SELECT recall.import_lines(%s)", (lines,), tenant="target")
    sql("SELECT recall.end_import()", tenant="target")
    [model] = sql("SELECT * FROM recall.relevance_models() WHERE source = 'tenant'", tenant="target")
    assert "phrase" not in model["coefficients"]


def test_a_field_that_one_line_lacks_has_its_default(documents: list[dict[str, Any]], sql: Query) -> None:
    """However lines are batched: one that can be stored alone can be stored beside others."""
    place = next(place for place, each in enumerate(documents) if place and "memory_version" in each)
    row = {name: value for name, value in documents[place]["memory_version"].items() if name != "tags"}
    header, *lines = [
        json.dumps(each) for each in [*documents[:place], {"memory_version": row}, *documents[place + 1 :]]
    ]
    sql("SELECT recall.begin_import(%s)", (header,), tenant="target")
    sql("SELECT recall.import_lines(%s)", (lines,), tenant="target")
    sql("SELECT recall.end_import()", tenant="target")
    found = "SELECT tags FROM recall.versions(%s) WHERE number = %s"
    assert sql(found, (row["memory_id"], row["number"]), tenant="target") == [{"tags": []}]


def test_successors_in_a_circle_are_refused(target: Memory, documents: list[dict[str, Any]]) -> None:
    first = next(each["supersession"] for each in documents if "supersession" in each)
    reverse = {"id": first["superseded_by"], "superseded_by": first["id"]}
    place = next(place for place, each in enumerate(documents) if "supersession" in each)
    counts = documents[0]["counts"]
    header = documents[0] | {"counts": counts | {"supersession": counts["supersession"] + 1}}
    circle = [header, *documents[1:place], {"supersession": reverse}, *documents[place:]]
    with pytest.raises(InvalidInput, match="supersedes itself"):
        target.export.read(stream(circle))


SPOILED = ('"5"', "true", "{}", "[1]", "null", "1e400", "1e-400")


@pytest.mark.parametrize("value", SPOILED)
def test_a_bad_setting_of_one_tenant_stops_nobody(memory: Memory, query: Query, value: str) -> None:
    """As one that came in by an earlier import: it is passed over, and the check of the data names it."""
    memory.remember("The harbour contract")
    other = memory.for_tenant("other")
    other.remember("The tide table")
    other.settings.set("job.fold.minutes", 2)
    query(
        "INSERT INTO recall.setting (tenant, name, value) SELECT 'acme', n, %s::jsonb "
        "FROM unnest(ARRAY['job.fold.minutes', 'vitality.spread_weight', 'search.log_days']) n",
        (value,),
    )
    [pace] = query("SELECT recall.shortest_job_interval('fold') AS minutes")
    assert pace["minutes"] == 0.5  # the default; acme's own value counts for nothing
    due = query("SELECT t FROM recall.due_tenants('fold') t")
    assert {row["t"] for row in due} == {"acme", "other"}
    assert sum(zone.memories for zone in memory.service.census().zones) == 2
    assert [run.state for run in memory.jobs.run("vitality", all_tenants=True)] == ["done", "done"]
    assert memory.search("contract").hits
    [row] = query("SELECT recall.verify() AS verified")
    [wrong] = [check for check in row["verified"]["checks"] if check["name"] == "statistics"]
    assert "setting 'job.fold.minutes'" in wrong["examples"]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, -1, 1, 2, -100, 0.5, 1e6, 1e15, -1e15, 1e300, -1e300, 2**31, 2**53, -(2**63), 2**63 - 1, 10**400]
    ),
    st.sampled_from(
        [
            "5", "NaN", "Infinity", "-Infinity", "infinity", "0044-03-15 BC", "0001-01-01",
            "9999-12-31 23:59", "294276-12-31", "klingon", "german", "*", "", " ", "{}", "{NULL}",
            "[2:2]={1}", "{{1},{2}}", "x" * 2500,
        ]
    ),
    st.text(max_size=20),
    st.lists(st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.sampled_from(["max_count", "live", "kept_back", "a"]), st.integers(), max_size=2),
)  # fmt: skip


@settings(max_examples=25 * SCALE, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(kind=st.integers(0, 100), line=st.integers(0, 1000), field=st.integers(0, 1000), value=VALUES)
def test_after_any_import_every_function_answers(
    kind: int,
    line: int,
    field: int,
    value: Any,
    documents: list[dict[str, Any]],
    shared_url: str,
    shared_connection: psycopg.Connection[Any],
) -> None:
    """One field of a line of any kind is changed. What is let in breaks no function."""
    kinds = sorted({next(iter(each)) for each in documents[1:]})
    rows = [place for place, each in enumerate(documents) if place and kinds[kind % len(kinds)] in each]
    mutated = copy.deepcopy(documents)
    row = next(iter(mutated[rows[line % len(rows)]].values()))
    row[sorted(row)[field % len(row)]] = value
    lines = [json.dumps(each) for each in mutated]
    with shared_connection.transaction(force_rollback=True):
        shared_connection.execute("SELECT set_config('recall.tenant', 'target', true)")
        refused: psycopg.Error | None = None
        try:
            with shared_connection.transaction():
                read_in_sql(shared_connection, lines)
        except psycopg.Error as error:
            refused = error
        if refused is None:
            use_everything(shared_connection)
        else:
            assert isinstance(translated(refused), InvalidInput), refused


def use_everything(connection: psycopg.Connection[Any]) -> None:
    """Asks for all that the imported rows say, and runs the jobs; none may fail."""
    calls = [*_questions(), *((call, f"SELECT * FROM recall.{call}", {}) for call in WORK)]
    for name, sql, values in calls:
        try:
            with connection.transaction():
                connection.execute(sql.encode(), {**_GIVEN, **values}).fetchall()
        except psycopg.Error as error:
            raise AssertionError(f"{name}: {error}") from error
    for sql in DEEDS:
        try:
            with connection.transaction():
                connection.execute(sql.encode(), _GIVEN).fetchall()
        except psycopg.Error as error:
            if not isinstance(translated(error), InvalidInput):
                raise AssertionError(f"{sql}: {error}") from error


WORK = (
    "fold_accesses()",
    "refresh_statistics(%(now)s)",
    "refresh_vitality(p_now => %(now)s)",
    "expire_memories(p_now => %(now)s)",
    "expire_searches(p_now => %(now)s)",
    "plan_prune(p_now => %(now)s)",
    "remember('A new note on the harbour', p_key => 'new')",
    "list_memories(p_now => %(now)s)",
    'search_and_log(\'{"query": "Keeper Storm"}\', p_now => %(now)s)',
    "rebuild()",
    "census()",
    "tenants()",
    "due_tenants('fold', p_now => %(now)s)",
    "shortest_job_interval('fold')",
    "export_lines()",
)

OF_PLANS = (
    "SELECT recall.{deed}_plan(id, p_now => %(now)s) FROM recall.plan "
    "WHERE tenant = recall.current_tenant() AND state = '{state}' ORDER BY id DESC"
)
DEEDS = (
    *(
        OF_PLANS.format(deed=deed, state=state)
        for deed, state in (("undo", "applied"), ("apply", "planned"), ("undo", "applied"))
    ),
    "SELECT recall.find_duplicates()",
    "SELECT recall.plan_dedupe(p_now => %(now)s)",
    "SELECT recall.restore_version(memory_id, number, p_now => %(now)s) FROM recall.memory_version "
    "WHERE tenant = recall.current_tenant() ORDER BY memory_id, number LIMIT 5",
    "SELECT recall.apply_erasure(recall.plan_erasure('{\"source\": \"world\"}', 'Ann', %(now)s), 'Bo', "
    "p_now => %(now)s)",
    "SELECT recall.forget(id, true, %(now)s) FROM recall.memory "
    "WHERE tenant = recall.current_tenant() LIMIT 3",
    "SELECT recall.export_lines()",
)
"""What may be refused in a sentence, as the undoing of what was not done."""
