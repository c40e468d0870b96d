"""What a memory said before is kept, compared and brought back; it costs searches nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.nouns.history.models import Version
from tests.conftest import NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


@pytest.fixture
def contract(memory: Memory) -> Memory:
    """A contract of three texts, each a day after the other."""
    store(memory, "Mira signs on Friday", key="contract", title="Contract", tags=("harbour",), now=NOW)
    store(memory, "Mira signs on Monday", key="contract", tags=(), now=NOW + DAY)
    memory.edit("contract", body="Mira has signed", author="Tomas", now=NOW + 2 * DAY)
    return memory


def store(memory: Memory, body: str, *, now: datetime, **fields: Any) -> None:
    memory.remember_many([Draft(body, **fields)], now=now)


def bodies(memory: Memory, key: str = "contract") -> list[str]:
    return [version.body for version in memory.history.versions(key)]


def test_each_rewrite_keeps_what_was_there(contract: Memory, query: Query) -> None:
    present, second, first = contract.history.versions("contract")
    assert [present.body, second.body, first.body] == [
        "Mira has signed", "Mira signs on Monday", "Mira signs on Friday",
    ]  # fmt: skip
    assert [present.number, second.number, first.number] == [3, 2, 1]
    assert (first.tags, second.tags, present.author) == (("harbour",), (), "Tomas")
    assert (first.written_at, first.replaced_at) == (NOW, NOW + DAY)
    assert (second.written_at, second.replaced_at) == (NOW + DAY, NOW + 2 * DAY)
    assert (present.written_at, present.replaced_at) == (NOW + 2 * DAY, None)
    [role] = query("SELECT session_user AS name")
    assert (first.written_by, first.written_through) == (None, None)
    assert (second.written_by, second.written_through) == (role["name"], "client")


def test_pages_of_versions_end_by_number_and_by_size(contract: Memory, query: Query) -> None:
    whole = contract.history.versions("contract")
    assert contract.history.versions("contract", limit=2) == whole[:2]
    assert contract.history.versions("contract", before=2) == whole[2:]
    assert contract.history.versions("contract", before=1) == ()
    with pytest.raises(InvalidInput, match="There is no version 0"):
        contract.history.versions("contract", before=0)
    ends = list(accumulate(size(one) for one in whole))
    for most in (0, *ends, *(end - 1 for end in ends), None):
        rows = query(
            "SELECT number FROM recall.versions(recall.id_of('contract'), p_max_bytes => %s)", (most,)
        )
        fitting = [one.number for one, end in zip(whole, ends, strict=True) if most is None or end <= most]
        assert [row["number"] for row in rows] == (fitting or [3]), most


def size(version: Version) -> int:
    """What a version counts: its texts, its metadata and its lists."""
    lists = [f"{{{','.join(words)}}}" for words in (version.tags, version.aliases)]
    return len("".join([version.body, version.title, version.author or "", *lists, "{}"]))


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Pact"}, {"body": "Signed"}, {"tags": ("new",)}, {"aliases": ("pact",)},
        {"metadata": {"a": 1}}, {"valid_from": NOW}, {"valid_until": NOW + DAY}, {"occurred_at": NOW - DAY},
        {"author": "Ann"}, {"role": "user"},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_whatever_it_says_counts(memory: Memory, changes: dict[str, Any]) -> None:
    store(memory, "Mira signs", key="contract", title="Contract", now=NOW)
    memory.edit("contract", now=NOW + DAY, **changes)
    assert len(memory.history.versions("contract")) == 2


def test_what_it_does_not_say_makes_no_version(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft("Mira signs", key="contract"), Draft("Mira has signed", key="new")], now=NOW)
    memory.edit("contract", context="of the harbour", layer="episodic", session_id="s", expires_at=NOW + DAY)
    memory.remember("Mira signs", key="contract", layer="episodic", expires_at=NOW + DAY)
    memory.supersede("contract", "new")
    memory.pin("contract")
    memory.link("contract", "new")
    memory.record_access("contract", "used")
    memory.forget("contract")
    assert len(memory.history.versions("contract")) == 1


def test_plain_sql_is_recorded_as_sql(memory: Memory, query: Query) -> None:
    query("SELECT recall.remember('Mira signs', p_key => 'contract')")
    query("SELECT recall.remember('Mira has signed', p_key => 'contract')")
    assert memory.history.versions("contract")[0].written_through == "sql"


def test_restoring_makes_a_version(contract: Memory) -> None:
    before = contract.get("contract", now=NOW)
    restored = contract.history.restore("contract", 1, now=NOW + 3 * DAY)
    assert (restored.id, restored.key, restored.outcome) == (before.id, "contract", "updated")
    after = contract.get("contract", now=NOW)
    assert (after.body, after.tags, after.author) == ("Mira signs on Friday", ("harbour",), None)
    assert after.embedded_with == before.embedded_with  # of the text that came back
    assert bodies(contract) == [
        "Mira signs on Friday", "Mira has signed", "Mira signs on Monday", "Mira signs on Friday",
    ]  # fmt: skip
    assert contract.history.restore("contract", 1).outcome == "unchanged"
    assert contract.history.restore("contract", 4).outcome == "unchanged"  # the present
    assert [hit.key for hit in contract.search("Friday").hits][:1] == ["contract"]


def test_versions_of_an_archived_memory(contract: Memory) -> None:
    contract.forget("contract", now=NOW + 3 * DAY)
    assert contract.history.restore("contract", 1, now=NOW + 3 * DAY).outcome == "updated"
    assert contract.get("contract").archived_at is not None
    contract.remember("Back again", key="contract")
    assert bodies(contract)[:2] == ["Back again", "Mira signs on Friday"]


def test_what_differs(contract: Memory) -> None:
    tags, body = sorted(contract.history.diff("contract", 1, 2), key=lambda one: one.field, reverse=True)
    assert (tags.field, tags.earlier, tags.later, tags.words) == ("tags", ["harbour"], [], ())
    assert [(run.change, run.text) for run in body.words] == [
        ("same", "Mira signs on "), ("removed", "Friday"), ("added", "Monday"),
    ]  # fmt: skip
    assert {one.field for one in contract.history.diff("contract", 2)} == {"body", "author"}
    assert contract.history.diff("contract", 3) == ()


def test_what_is_not_there_is_refused(contract: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"has no version 7; the current one is 3\."):
        contract.history.restore("contract", 7)
    with pytest.raises(InvalidInput, match="no version 0"):
        contract.history.diff("contract", 0)
    with pytest.raises(InvalidInput, match="p_limit is 0"):
        contract.history.versions("contract", limit=0)
    for call in (contract.history.versions, lambda key: contract.history.restore(key, 1)):
        with pytest.raises(MemoryNotFound):
            call("no such key")  # type: ignore[operator]


def test_so_many_are_kept(memory: Memory) -> None:
    memory.settings.set("versions.per_memory", 2)
    for text in range(6):
        store(memory, f"Text {text}", key="contract", now=NOW + text * DAY)
    assert [(version.number, version.body) for version in memory.history.versions("contract")] == [
        (6, "Text 5"), (5, "Text 4"), (4, "Text 3"),
    ]  # fmt: skip
    memory.settings.set("versions.per_memory", 0)
    memory.remember("Text 6", key="contract")
    assert bodies(memory) == ["Text 6"]


def test_a_search_of_the_past_shows_the_text_of_then(contract: Memory) -> None:
    def said(at: datetime) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (hit.body, hit.tags) for hit in contract.search("contract Mira", as_of=at, now=NOW + 9 * DAY).hits
        ]

    assert said(NOW + DAY / 2) == [("Mira signs on Friday", ("harbour",))]
    assert said(NOW + DAY * 1.5) == [("Mira signs on Monday", ())]
    assert said(NOW + DAY * 3) == [("Mira has signed", ())]
    assert [hit.body for hit in contract.search("contract Mira").hits] == ["Mira has signed"]
    block = contract.context("contract Mira", as_of=NOW + DAY / 2, require_answer=False, now=NOW + 9 * DAY)
    assert "Mira signs on Friday" in block.text


def test_a_search_says_when_the_text_of_then_is_gone(contract: Memory) -> None:
    contract.settings.set("versions.per_memory", 1)
    contract.edit("contract", body="Mira will sign again", now=NOW + 4 * DAY)
    then = contract.search("contract Mira", as_of=NOW + DAY / 2, now=NOW + 9 * DAY)
    assert [hit.body for hit in then.hits] == ["Mira has signed"]
    assert any(reason.startswith("versions: the text of that moment") for reason in then.skipped)
    known = contract.search("contract Mira", as_of=NOW + 3 * DAY, now=NOW + 9 * DAY)
    assert not any(reason.startswith("versions") for reason in known.skipped)


def test_a_passage_of_another_text_is_not_quoted(memory: Memory) -> None:
    long = "The harbour opens at nine. " * 60
    store(memory, "Short harbour text", key="harbour", now=NOW)
    store(memory, long, key="harbour", now=NOW + DAY)
    memory.jobs.run("embed")
    [hit] = memory.search("harbour", as_of=NOW + DAY / 2, now=NOW + 2 * DAY).hits
    assert (hit.body, hit.passage) == ("Short harbour text", None)


def test_forgetting_for_good_takes_versions(contract: Memory, query: Query) -> None:
    contract.forget("contract", hard=True)
    assert query("SELECT FROM recall.memory_version") == []


def test_an_erasure_takes_versions_of_former_authors(memory: Memory, query: Query) -> None:
    store(memory, "Written by Ann", key="one", author="Ann", now=NOW)
    memory.edit("one", body="Rewritten by Bea", author="Bea", now=NOW + DAY)
    store(memory, "Stays", key="two", author="Cleo", now=NOW)
    memory.edit("two", body="Stays too", now=NOW + DAY)
    plan = memory.erasure.plan(author="ann", asked_by="Ann")
    done = memory.erasure.apply(plan.id, signed_by="Dora")
    assert done.counts["memory_version"] == 1
    assert bodies(memory, "one") == ["Rewritten by Bea"]
    assert len(memory.history.versions("two")) == 2


def test_an_export_carries_versions(contract: Memory, tmp_path: Any) -> None:
    file = tmp_path / "all.jsonl"
    contract.export.write(file, now=NOW)
    elsewhere = contract.for_tenant("elsewhere")
    elsewhere.export.read(file)
    assert elsewhere.history.versions("contract") == contract.history.versions("contract")
    again = tmp_path / "again.jsonl"
    elsewhere.export.write(again, now=NOW)
    assert again.read_text().splitlines()[1:] == file.read_text().splitlines()[1:]


def test_a_bad_version_is_not_imported(contract: Memory, tmp_path: Any) -> None:
    file = tmp_path / "all.jsonl"
    contract.export.write(file, now=NOW)
    for there, instead in (
        ('"number": 1', '"number": 0'),
        ('"tags": ["harbour"], "title"', '"tags": null, "title"'),
    ):
        text = file.read_text()
        lines = [
            line.replace(there, instead) if line.startswith('{"memory_version"') else line
            for line in text.splitlines()
        ]
        assert "\n".join(lines) != text.rstrip("\n")
        (tmp_path / "bad.jsonl").write_text("\n".join(lines) + "\n")
        with pytest.raises(InvalidInput, match="cannot be imported"):
            contract.for_tenant("elsewhere").export.read(tmp_path / "bad.jsonl")


def test_versions_of_another_tenant_are_not_there(contract: Memory) -> None:
    other = contract.for_tenant("other")
    number = contract.get("contract").id
    for call in (other.history.versions, lambda one: other.history.diff(one, 1)):
        with pytest.raises(MemoryNotFound):
            call(number)  # type: ignore[operator]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "edit", "restore", "forget"]), st.integers(0, 3), st.integers(1, 4)
    ),
    min_size=1, max_size=12,
)  # fmt: skip


@given(EDITS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_history_has_every_earlier_text(memory: Memory, edits: list[tuple[str, int, int]]) -> None:
    """Whatever is done, the versions are the texts in their order, and each moment shows the text of then."""
    for known in memory.list(include_archived=True):
        memory.forget(known.id, hard=True)
    said: list[tuple[datetime, str]] = []
    now = NOW
    for deed, text, number in (("remember", 0, 1), *edits):
        now += DAY
        body = f"said {text}"
        if deed == "remember":
            store(memory, body, key="contract", now=now)
        elif deed == "edit":
            memory.edit("contract", body=body, now=now)
        elif deed == "restore" and number <= len(said):
            body = memory.history.versions("contract")[-number].body
            memory.history.restore("contract", number, now=now)
        else:
            memory.forget("contract", now=now)
            continue
        if not said or said[-1][1] != body:
            said.append((now, body))
    versions = memory.history.versions("contract")
    assert [version.body for version in reversed(versions)] == [body for _, body in said]
    assert [version.written_at for version in reversed(versions)] == [at for at, _ in said]
    for at, body in said:
        then = memory.search("said", as_of=at, now=now + DAY, include_archived=True).hits
        assert [hit.body for hit in then] == [body]
