"""One strange field never costs a record, and a record that is lost never costs its neighbours."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.importers.detect import open_source
from pgrecall.importers.fields import Rules
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft
from tests.unit.importers.three_records import BODIES, FORMATS, KINDS, records, write

RULES = Rules(datetime(2026, 6, 1, tzinfo=UTC), frozenset({"knowledge", "entity", "episodic"}))
Items = list[Draft | Problem | Skipped]


def read(kind: str, path: Path) -> Items:
    return list(open_source(path, kind=FORMATS[kind], rules=RULES))


def bodies(items: Items) -> list[str]:
    return [item.body for item in items if isinstance(item, Draft)]


def test_plain_records_are_imported_without_a_word(tmp_path: Path) -> None:
    for kind in KINDS:
        items = read(kind, write(kind, tmp_path, records(kind)))
        assert bodies(items) == list(BODIES), kind
        assert [item for item in items if isinstance(item, Problem)] == [], kind


FIELD: dict[str, dict[str, str]] = {
    "markdown": {"author": "author", "time": "date", "role": "role", "layer": "layer", "tags": "tags"},
    "jsonl": {"author": "author", "time": "occurred_at", "role": "role", "layer": "layer", "tags": "tags"},
    "mem0": {"author": "user_id", "time": "created_at", "role": "role", "tags": "categories"},
    "hindsight": {"time": "occurred_start", "tags": "tags"},
}
"""The names of our fields in the formats whose records have them."""

STRANGE: list[tuple[str, Any]] = [
    ("author", ["Ada", "Bob"]),
    ("author", {"name": "Ada"}),
    ("author", True),
    ("author", "x" * 2_001),
    ("time", "Friday, May 1st 2026, 3:23:18 pm"),
    ("time", "2026-05"),
    ("time", "01.05.2026"),
    ("time", "2026-05-01 10:15 PM"),
    ("time", "2026-05-01 10:15 Europe/Berlin"),
    ("time", "TBD"),
    ("time", ["2026-05-01", "2026-05-02"]),
    ("time", "2031-03-01"),
    ("time", "0000-00-00"),
    ("time", "10000-01-01"),
    ("role", "Lock keeper"),
    ("role", ["user", "tool"]),
    ("layer", "basement"),
    ("layer", ["entity", "basement"]),
    ("tags", {"a": 1}),
    ("tags", ["t" * 1_000] * 21),
]


@pytest.mark.parametrize("kind", FIELD)
@pytest.mark.parametrize(("field", "value"), STRANGE)
def test_a_value_that_does_not_fit_is_kept_as_metadata_with_a_notice(
    kind: str, field: str, value: Any, tmp_path: Path
) -> None:
    if field not in FIELD[kind] or (kind, value) == ("markdown", True):  # in YAML, true is a word
        return
    name = FIELD[kind][field]
    found = records(kind)
    found[1][name] = value
    items = read(kind, write(kind, tmp_path, found))
    first, strange, last = (item for item in items if isinstance(item, Draft))
    assert (first.body, strange.body, last.body) == BODIES
    metadata = strange.metadata.get(kind, strange.metadata)
    assert metadata[name] == value
    [notice] = [item for item in items if isinstance(item, Skipped)]
    assert notice.what == f"values of {name!r} that do not fit, kept as metadata"
    place = {"markdown": "n1.md: line", "jsonl": "a.jsonl: line 2"}.get(kind, "a.json: record 2")
    assert place in notice.places[0]


@pytest.mark.parametrize("kind", KINDS)
def test_characters_that_cannot_be_stored_are_replaced_and_counted(kind: str, tmp_path: Path) -> None:
    spoilt = json.dumps(records(kind)).replace("The second lock", "The \\u0000second \\ud83dlock")
    items = read(kind, write(kind, tmp_path, json.loads(spoilt)))
    if kind == "markdown":  # half a character is not UTF-8, and so its three bytes are replaced
        assert bodies(items)[1] == "The \ufffdsecond \ufffd\ufffd\ufffdlock is shut."
        return
    assert bodies(items) == [BODIES[0], "The \ufffdsecond \ufffdlock is shut.", BODIES[2]]
    [count] = [item.count for item in items if isinstance(item, Skipped) and "U+FFFD" in item.what]
    assert count == 2
    assert not any("\0" in draft.context for draft in items if isinstance(draft, Draft))


def test_a_nul_in_a_note_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"One\0two.")
    os.utime(tmp_path / "a.md", (0, 0))
    notice, draft = read("markdown", tmp_path)
    assert isinstance(notice, Skipped)
    assert isinstance(draft, Draft)
    assert draft.body == "One\ufffdtwo."


@pytest.mark.parametrize("kind", ["claude", "claude-code", "codex", "gemini", "vscode", "list"])
def test_a_clock_that_was_ahead_does_not_cost_a_turn(kind: str, tmp_path: Path) -> None:
    text = json.dumps(records(kind)).replace("2026-03-06T07:00:02Z", "2099-03-06T07:00:02Z")
    items = read(kind, write(kind, tmp_path, json.loads(text)))
    assert bodies(items) == list(BODIES)
    assert "times that lie in the future, ignored" in {one.what for one in items if isinstance(one, Skipped)}


def test_metadata_of_any_depth_and_any_numbers_is_kept(tmp_path: Path) -> None:
    deep = '{"a": ' * 300 + "1" + "}" * 300
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"body": "x", "metadata": {{"deep": {deep}, "n": NaN, "m": [Infinity]}}}}')
    items = read("jsonl", path)
    [draft] = (item for item in items if isinstance(item, Draft))
    assert draft.metadata["deep"].startswith('{"a": {"a":')
    assert (draft.metadata["n"], draft.metadata["m"]) == ("nan", ["inf"])
    assert len(items) == 3


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-3, 10**20) | st.text(max_size=5)
    | st.sampled_from(["", "\0", "2031-01-01", "9999-12-31T23:59:59-10:00", "[[x]]", "*a", "{{x}}", "~",
                       "- a", "x" * 3_000, ["a", ["b"]], {"a": {"b": []}}, 10**4_000, "9" * 30]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every field in a value, at any depth."""
    names = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [found for name in names for found in ((*path, name), *places_in(value[name], (*path, name)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    name, *rest = path
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[name] = replaced(value[name], tuple(rest), new) if rest else new
    return copied


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_any_field_may_have_any_value(kind: str, tmp_path: Path, data: st.DataObject) -> None:
    found = records(kind)
    place = data.draw(st.sampled_from(places_in(found[1])))
    found[1] = replaced(found[1], place, data.draw(VALUES))
    items = read(kind, write(kind, tmp_path, found))
    kept = bodies(items)
    assert BODIES[0] in kept
    assert BODIES[2] in kept
    assert len(kept) == 3 or any(isinstance(item, Problem | Skipped) for item in items)
    for item in items:
        if isinstance(item, Problem):
            assert item.reason.endswith(".")
            assert "\n" not in item.reason
        if isinstance(item, Draft):
            json.dumps(item.metadata, allow_nan=False).encode()
