"""Whatever an importer lets pass, the database stores."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.faces.import_rules import import_rules
from pgrecall.importers.detect import open_source
from pgrecall.nouns.imports.report import ImportReport
from tests.unit.importers.three_records import FORMATS, KINDS, records, write

pytestmark = pytest.mark.in_turns

VALUES: list[Any] = [
    "2099-01-01", "0001-01-01", "9999-12-31T23:59:59Z", "x" * 30_000, "\0", ["t" * 900] * 30, {"a": 1}, 7, "",
    None,
]  # fmt: skip


def load(memory: Memory, kind: str, path: Path) -> ImportReport:
    rules = import_rules(memory.layers.list())
    items = open_source(path, kind=FORMATS[kind], source=kind, prefix=f"{kind}/", rules=rules)
    return memory.import_drafts(items, source=kind)


def test_records_are_never_refused(memory: Memory, tmp_path: Path) -> None:
    refuses_nothing("lines", memory, tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lines"])
def test_chats_are_never_refused(kind: str, memory: Memory, tmp_path: Path) -> None:
    refuses_nothing(kind, memory, tmp_path)


def refuses_nothing(kind: str, memory: Memory, tmp_path: Path) -> None:
    """The database takes what is read of this kind, whatever is in any field."""
    spoilt = [
        {**records(kind)[number % 3], name: value} if isinstance(records(kind)[0], dict) else None
        for number, (name, value) in enumerate((n, v) for n in records(kind)[0] for v in VALUES)
    ]
    report = load(memory, kind, write(kind, tmp_path, [*spoilt, *records(kind)]))
    assert all("its " not in problem.reason for problem in report.problems), report.problems
    assert report.created + report.updated > 0


def test_a_layer_of_the_tenant_counts_and_any_other_word_does_not(memory: Memory, tmp_path: Path) -> None:
    memory.layers.set("harbour", base_decay=0.5)
    for name in ("harbour", "basement"):
        (tmp_path / f"{name}.md").write_text(f"---\nlayer: {name}\n---\nText.")
    load(memory, "markdown", tmp_path)
    assert memory.get("markdown/harbour").layer == "harbour"
    stored = memory.get("markdown/basement")
    assert (stored.layer, stored.metadata["layer"]) == ("knowledge", "basement")


def test_a_note_of_an_event_to_come_is_found_today(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "feast.md"
    path.write_text("---\ndate: 2099-03-01\n---\nThe harbour feast.")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    report = load(memory, "markdown", tmp_path)
    assert {one.what for one in report.skipped} == {
        "values of 'date' that do not fit, kept as metadata",
        "times of files that lie in the future, ignored",
    }
    [hit] = memory.search("harbour feast").hits
    stored = memory.get(hit.id)
    assert (stored.metadata, stored.occurred_at) == ({"date": "2099-03-01"}, None)
    assert stored.created_at < datetime.now(UTC)


def test_metadata_too_deep_for_json_is_refused_in_a_sentence(memory: Memory) -> None:
    inner: dict[str, Any] = {}
    for _ in range(20_000):
        inner = {"a": inner}
    with pytest.raises(InvalidInput, match="nested too deep"):
        memory.remember("a deep one", metadata=inner)


@pytest.mark.parametrize("call", ["remember", "search"])
def test_half_a_character_is_named(call: str, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^A text holds half a character, U\+D83D\."):
        getattr(memory, call)("a key", metadata={"note": "the key \ud83d"})
