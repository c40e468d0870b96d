"""Imports that are kept: what each did, and undo, which gives back, restores and deletes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pgrecall import Draft, DraftLink, InvalidInput, Memory
from tests.databases import Query

pytestmark = pytest.mark.in_turns

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SOURCE = "notes"


def note(key: str, body: str, *links: str, **fields: object) -> Draft:
    return Draft(body, key=key, source=SOURCE, links=tuple(map(DraftLink, links)), **fields)  # type: ignore[arg-type]


def bring(memory: Memory, *drafts: Draft, day: int = 0) -> int | None:
    return memory.import_drafts(drafts, source=SOURCE, now=NOW + timedelta(days=day)).import_id


def live(query: Query) -> dict[str, str]:
    rows = query("SELECT key, body FROM recall.memory WHERE archived_at IS NULL ORDER BY key")
    return {row["key"]: row["body"] for row in rows}


def links(query: Query) -> set[tuple[str, str]]:
    rows = query(
        "SELECT s.key AS src, d.key AS dst FROM recall.link l JOIN recall.memory s ON s.id = l.src "
        "JOIN recall.memory d ON d.id = l.dst UNION ALL "
        "SELECT s.key, '?' || p.target FROM recall.pending_link p JOIN recall.memory s ON s.id = p.src"
    )
    return {(row["src"], row["dst"]) for row in rows}


def test_what_was_never_used_since_its_import(memory: Memory) -> None:
    memory.remember("The yard.", key="yard")
    bring(memory, note("winch", "The winch."), note("rope", "The rope."), note("mast", "The mast."))
    memory.record_access("rope", "used")
    memory.forget("mast")
    unused = [(one.key, one.source, one.imported_at) for one in memory.imports.unused()]
    assert unused == [("winch", SOURCE, NOW)]


def test_a_first_import_is_deleted_and_can_be_repeated(memory: Memory, query: Query) -> None:
    memory.remember("The yard.", key="yard")
    made = bring(memory, note("winch", "The winch.", "yard", "rope"), note("rope", "The rope."))
    [listed] = memory.imports.list()
    assert (listed.id, listed.source, listed.created, listed.changed, listed.archived) == (
        made,
        SOURCE,
        2,
        0,
        0,
    )
    undone = memory.imports.undo()
    assert (undone.id, undone.deleted, undone.archived, undone.kept) == (made, 2, 0, ())
    assert live(query) == {"yard": "The yard."}
    assert memory.imports.list()[0].undone_at is not None
    assert bring(memory, note("winch", "The winch.", "yard", "rope"), note("rope", "The rope.")) != made
    assert links(query) == {("winch", "yard"), ("winch", "rope")}
    assert memory.maintenance.verify()


def test_changed_notes_get_back_text_fields_and_links(memory: Memory, query: Query) -> None:
    bring(memory, note("winch", "Old.", "rope", tags=("a",)), note("rope", "Rope."), note("yard", "Yard."))
    before = links(query)
    made = bring(
        memory,
        note("winch", "New.", "yard", "boat", layer="episodic", tags=("b",), pinned=True),
        note("rope", "Rope.", tags=("c",)),
        note("yard", "Yard."),
        day=1,
    )
    [newest, _] = memory.imports.list(source=SOURCE)
    assert (newest.id, newest.created, newest.changed) == (made, 0, 2)
    undone = memory.imports.undo(source=SOURCE, now=NOW + timedelta(days=2))
    assert (undone.deleted, undone.given_back, undone.kept) == (0, 2, ())
    winch = memory.get("winch")
    assert (winch.body, winch.layer, winch.tags, winch.pinned) == ("Old.", "knowledge", ("a",), False)
    assert memory.get("rope").tags == ()
    assert links(query) == before
    assert [version.body for version in memory.history.versions("winch")] == ["Old.", "New.", "Old."]


def test_a_note_with_a_link_that_waited_is_undone(memory: Memory, query: Query) -> None:
    bring(memory, note("a", "One.", "nowhere"))
    bring(memory, note("a", "Two.", "nowhere"), day=1)

    assert memory.imports.undo().given_back == 1
    assert live(query) == {"a": "One."}
    assert links(query) == {("a", "?nowhere")}


def test_imports_are_undone_one_after_the_other(memory: Memory, query: Query) -> None:
    for day in range(3):
        drafts = [note("a", f"a{day}"), note("b", "b", tags=(f"t{day}",)), note(f"c{day}", "c")]
        bring(memory, *drafts, day=day)
    for day in (2, 1):
        undone = memory.imports.undo(now=NOW + timedelta(days=5, hours=day))
        assert (undone.deleted, undone.given_back, undone.kept) == (1, 2, ())
        assert (memory.get("a").body, memory.get("b").tags) == (f"a{day - 1}", (f"t{day - 1}",))
    assert memory.imports.undo().deleted == 3
    assert live(query) == {}


def test_what_changed_since_is_kept_and_named(memory: Memory, query: Query) -> None:
    bring(memory, note("a", "a"), note("b", "b"))
    bring(
        memory,
        note("a", "a2"),
        note("b", "b2"),
        note("c", "c"),
        note("d", "d"),
        note("e", "e"),
        note("f", "f"),
        day=1,
    )
    memory.edit("a", body="By hand.")
    memory.edit("c", tags=("mine",))
    memory.pin("d")
    memory.record_access("e", "used")
    memory.link("b", "f")
    undone = memory.imports.undo()
    assert {kept.key: kept.note for kept in undone.kept} == {
        "a": "changed since, kept", "c": "changed since, kept", "d": "pinned since, kept",
        "e": "used since, archived", "f": "linked since, archived",
    }  # fmt: skip
    assert (undone.deleted, undone.archived, undone.given_back) == (0, 2, 1)
    assert live(query) == {"a": "By hand.", "b": "b", "c": "c", "d": "d"}


def test_a_search_that_shows_it_is_no_use(memory: Memory) -> None:
    bring(memory, note("winch", "The winch."))
    assert memory.search("winch").hits
    assert memory.imports.undo().deleted == 1


def test_archived_in_one_step_and_restored(memory: Memory, query: Query) -> None:
    report = memory.import_drafts([note("a", "a"), note("b", "b")], source=SOURCE)
    report = memory.import_drafts([note("a", "a")], source=SOURCE)
    assert (report.removed, report.import_id) == (("b",), None)
    memory.remember("Other.", key="other")
    assert memory.imports.archive(SOURCE, [*report.removed, "other", "missing"]) == 1
    [newest, first] = memory.imports.list()
    assert (newest.archived, first.created, newest.source) == (1, 2, SOURCE)
    assert memory.imports.undo().restored == 1
    assert sorted(live(query)) == ["a", "b", "other"]


def test_what_an_import_archived_comes_back_with_its_note(memory: Memory, query: Query) -> None:
    bring(memory, note("a", "a"), note("b", "b"))
    memory.imports.archive(SOURCE, ["a"])
    memory.forget("b")
    report = memory.import_drafts([note("a", "a"), note("b", "b")], source=SOURCE)
    assert (report.updated, report.unchanged) == (1, 1), "what a person forgot stays so"
    assert list(live(query)) == ["a"]
    undone = memory.imports.undo()
    assert (undone.given_back, live(query)) == (1, {})


def test_links_to_what_is_deleted_wait_for_it_again(memory: Memory, query: Query) -> None:
    bring(memory, note("a", "a", "b"))
    bring(memory, note("a", "a", "b"), note("b", "b"), day=1)
    assert links(query) == {("a", "b")}
    assert memory.imports.undo().deleted == 1
    assert links(query) == {("a", "?b")}


def test_an_import_without_changes_is_not_kept(memory: Memory) -> None:
    bring(memory, note("a", "a"))
    assert bring(memory, note("a", "a"), day=1) is None
    assert len(memory.imports.list()) == 1


def test_batches_are_one_import(memory: Memory, query: Query) -> None:
    made = bring(
        memory, *(note(f"n{number}", f"Note {number}.") for number in range(700)), note("n1", "Again.")
    )
    [only] = memory.imports.list()
    assert (only.id, only.created) == (made, 701 - 1)
    assert memory.imports.undo(made).deleted == 700


def test_without_versions_a_text_cannot_be_given_back(memory: Memory, query: Query) -> None:
    memory.settings.set("versions.per_memory", 0)
    bring(memory, note("a", "a"))
    bring(memory, note("a", "a2"), day=1)
    undone = memory.imports.undo()
    assert [kept.note for kept in undone.kept] == ["its earlier version is not kept any more"]
    assert live(query) == {"a": "a2"}


def test_what_cannot_be_undone(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="There is no import to undo"):
        memory.imports.undo()
    made = bring(memory, note("a", "a"))
    with pytest.raises(InvalidInput, match="There is no import to undo of the source 'other'"):
        memory.imports.undo(source="other")
    with pytest.raises(InvalidInput, match=r"There is no import 99"):
        memory.imports.undo(99)
    with pytest.raises(InvalidInput, match=r"There is no import -1"):
        memory.imports.undo(-1)
    memory.imports.undo(made)
    with pytest.raises(InvalidInput, match=f"Import {made} was already undone"):
        memory.imports.undo(made)
    assert made is not None
    with pytest.raises(InvalidInput, match="There is no plan"):
        memory.plans.undo(made)
    assert memory.plans.list() == ()


def test_other_tenants_see_nothing(memory: Memory) -> None:
    made = bring(memory, note("a", "a"))
    other = memory.for_tenant("other")
    assert other.imports.list() == ()
    with pytest.raises(InvalidInput, match="There is no import"):
        other.imports.undo(made)


def test_an_export_keeps_imports(memory: Memory, tmp_path: Path, query: Query) -> None:
    bring(memory, note("a", "a"))
    bring(memory, note("a", "a2"), note("b", "b"), day=1)
    memory.export.write(tmp_path / "all.jsonl")
    other = memory.for_tenant("other")
    other.export.read(tmp_path / "all.jsonl")
    undone = other.imports.undo()
    assert (undone.deleted, undone.given_back) == (1, 1)
    assert other.get("a").body == "a"
    assert all(not check.problems for check in other.maintenance.verify())


def test_an_erasure_of_a_source_leaves_no_import_of_it(memory: Memory) -> None:
    bring(memory, note("a", "a"))
    memory.import_drafts([Draft("b", key="b", source="others")], source="others")
    erasure = memory.erasure.plan(source=SOURCE, asked_by="Ann")
    memory.erasure.apply(erasure.id, signed_by="Ann")
    assert [made.source for made in memory.imports.list()] == ["others"]


def test_an_agent_that_imports_each_turn_pushes_out_only_its_own(memory: Memory, query: Query) -> None:
    made = bring(memory, note("winch", "The winch."))
    query(
        "INSERT INTO recall.plan (tenant, id, kind, state, created_at, applied_at, options, report) "
        "OVERRIDING SYSTEM VALUE SELECT %s, recall_private.import_plan_id(n), 'import', 'applied', now(), "
        """now(), '{"source": "agent"}', '{}' FROM generate_series(%s + 1, %s + 1000) n""",
        (memory.tenant, made, made),
    )

    memory.import_drafts([Draft("At noon.", key="turn")], source="agent")

    kept = memory.imports.list(limit=1_000)
    assert len(kept) == 1_000
    assert [one.id for one in kept if one.source == SOURCE] == [made]
    assert memory.imports.undo(made).deleted == 1


def test_a_second_import_of_drafts_without_keys_stores_nothing(memory: Memory) -> None:
    def imported(*tags: str, source: str = "log") -> tuple[int, int, int]:
        drafts = [Draft("One.", author="Ann"), Draft("One.", tags=tags), Draft("Two.")]
        report = memory.import_drafts((replace(draft, source=source) for draft in drafts), source=source)
        return report.created, report.updated, report.unchanged

    assert imported() == (3, 0, 0)
    assert imported() == (0, 0, 3)
    assert imported("lock") == (0, 1, 2)
    assert imported(source="other") == (3, 0, 0)


def test_equal_drafts_without_keys_are_one_memory_and_counted(memory: Memory) -> None:
    for outcome in ((1, 0, 0), (0, 0, 1)):
        drafts = [Draft("One."), Draft("One."), Draft("One.", tags=("lock",))]
        report = memory.import_drafts(drafts, source="log")
        assert (report.created, report.updated, report.unchanged) == outcome
        assert [(one.what, one.count) for one in report.skipped] == [
            ("records without a key that repeat one before them", 2)
        ]
