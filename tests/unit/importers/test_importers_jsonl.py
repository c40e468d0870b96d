"""JSON Lines: the documented fields arrive, and every bad line is one sentence with its number."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.importers.detect import count_items
from pgrecall.importers.draft_checks import DEEP, storable
from pgrecall.importers.jsonl import read_accesses, read_jsonl
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Access, Draft, DraftLink

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*lines: object) -> Path:
        path = tmp_path / "memories.jsonl"
        rows = [line if isinstance(line, bytes) else _bytes(line) for line in lines]
        path.write_bytes(b"\n".join(rows))
        return path

    return write


def _bytes(line: object) -> bytes:
    return line.encode() if isinstance(line, str) else json.dumps(line).encode()


def one_problem(path: Path) -> str:
    (found,) = read_jsonl(path, source="s")
    assert isinstance(found, Problem), found
    assert found.where == str(path)
    return found.reason


def test_every_field_arrives(write: Write) -> None:
    path = write(
        {
            "body": "b", "title": "t", "key": "k", "layer": "entity", "role": "user", "author": "Ann",
            "context": "c", "session_id": "s-1", "tags": ["x"], "aliases": ["y"],
            "metadata": {"n": [1, None]}, "pinned": True, "occurred_at": "2026-09-30T08:12:00+02:00",
            "valid_from": "2026-01-01", "valid_until": "2026-02-01T00:00",
            "expires_at": "2027-01-01T00:00:00Z",
            "links": ["other", {"target": "z", "relation": "supports", "weight": 2}],
        }
    )  # fmt: skip
    assert list(read_jsonl(path, source="src", prefix="p/")) == [
        Draft(
            body="b",
            title="t",
            key="p/k",
            layer="entity",
            role="user",
            author="Ann",
            context="c",
            source="src",
            session_id="s-1",
            tags=("x",),
            aliases=("y",),
            metadata={"n": [1, None]},
            occurred_at=datetime(2026, 9, 30, 6, 12, tzinfo=UTC),
            valid_from=datetime(2026, 1, 1, tzinfo=UTC),
            valid_until=datetime(2026, 2, 1, tzinfo=UTC),
            expires_at=datetime(2027, 1, 1, tzinfo=UTC),
            pinned=True,
            links=(DraftLink("other"), DraftLink("z", "supports", 2.0)),
        )
    ]


def test_text_is_another_name_for_body_and_blank_lines_are_skipped(write: Write) -> None:
    path = write(b'\xef\xbb\xbf{"text": "one"}\r', "", "   ", {"body": "two", "source": "own"})
    assert list(read_jsonl(path, source="s")) == [Draft("one", source="s"), Draft("two", source="own")]


def test_the_prefix_goes_before_links_within_the_file_only(write: Write) -> None:
    path = write({"key": "a", "body": "x", "links": ["b", "elsewhere"]}, {"key": "b", "body": "x"})
    first = next(read_jsonl(path, source="s", prefix="p/"))
    assert isinstance(first, Draft)
    assert [link.target for link in first.links] == ["p/b", "elsewhere"]


def test_a_text_that_is_cut_off_is_told_with_its_column(write: Write) -> None:
    draft, problem = read_jsonl(write({"body": "a"}, '{"body":"b'), source="s")
    assert isinstance(draft, Draft)
    assert isinstance(problem, Problem)
    assert problem.reason == "line 2: not JSON: unterminated string starting at column 9."


@pytest.mark.parametrize("name", ["a.jsonl.gz", "A.JSONL.GZ"])
def test_a_packed_file_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b'{"body": "x"}'))
    assert list(read_jsonl(path, source="s")) == [Draft("x", source="s")]
    path.write_bytes(gzip.compress(b'{"body": "x"}')[:-12])
    with pytest.raises(InvalidInput, match="cannot be read"):
        list(read_jsonl(path, source="s"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 1: not JSON: expecting property name enclosed in double quotes at column 2."),
        ('{"body": "x" "y"}', "line 1: not JSON: expecting ',' delimiter at column 14."),
        ("[1]", "line 1: must be a JSON object."),
        ("7", "line 1: must be a JSON object."),
        ({}, "line 1: body is required."),
        ({"title": "x"}, "line 1: body is required."),
        ({"body": "  "}, "line 1: it has no text."),
        ({"body": 7}, "line 1: body must be a text."),
        ({"body": "x" * 1_000_001}, "line 1: the body has 1,000,001 characters"),
        ('{"body": ' + "[" * 100_000, "line 1: its JSON is nested too deep."),
        (b'{"body": "\x81\x81"}', "line 1: byte 10 (0x81) is not UTF-8; convert the file to UTF-8."),
        (b"x" * 10_000_001, "line 1: longer than 10 MB."),
        (b"x" * 25_000_000, "line 1: longer than 10 MB."),
    ],
)  # fmt: skip
def test_a_bad_line_is_one_sentence(write: Write, line: object, reason: str) -> None:
    assert one_problem(write(line)).startswith(reason)


def test_lines_after_a_bad_one_are_read_and_numbered(write: Write) -> None:
    path = write({"body": "a"}, b"x" * 10_000_001, "", b"\xff", {"body": "b"}, "{")
    found = list(read_jsonl(path, source="s"))
    assert [item.body if isinstance(item, Draft) else item.reason[:7] for item in found] == [
        "a", "line 2:", "line 4:", "b", "line 6:",
    ]  # fmt: skip


def test_a_key_given_twice_names_both_lines(write: Write) -> None:
    path = write({"key": "k", "body": "a"}, {"body": "b"}, {"key": "k", "body": "c"})
    *_, last = read_jsonl(path, source="s")
    assert last == Problem(str(path), "line 3: key 'k' is already used on line 1.")


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    for read in (lambda path: read_jsonl(path, source="s"), read_accesses):
        with pytest.raises(InvalidInput, match="There is no file"):
            read(tmp_path / "none.jsonl")
        with pytest.raises(InvalidInput, match="is a folder"):
            read(tmp_path)


def test_accesses(write: Write) -> None:
    path = write(
        {"key": "k", "kind": "used", "at": "2026-09-30T08:12:00", "session_id": "s", "idempotency_key": "i"},
        {"id": 7},
    )
    assert list(read_accesses(path)) == [
        Access("k", "used", datetime(2026, 9, 30, 8, 12, tzinfo=UTC), "s", "i"),
        Access(7, "read"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({}, "line 1: give either key or id."),
        ({"key": "k", "id": 1}, "line 1: give either key or id."),
        ({"key": ""}, "line 1: key must not be empty."),
        ({"id": 0}, "line 1: id must be at least 1."),
        ({"id": True}, "line 1: id must be a whole number."),
        (
            {"key": "k", "kind": "seen"},
            "line 1: kind must be 'write', 'read', 'reference', 'used' or",
        ),
        ({"key": "k", "at": "never"}, "line 1: at: 'never' is not a date"),
        ({"key": "k", "session_id": "\0"}, "line 1: session_id: contains a NUL character."),
        ({"key": "k", "when": 1}, 'line 1: there is no field "when".'),
    ],
)
def test_a_bad_access_is_one_sentence(write: Write, line: object, reason: str) -> None:
    (found,) = read_accesses(write(line))
    assert isinstance(found, Problem)
    assert found.reason.startswith(reason)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*Draft.__dataclass_fields__, "text", "id", "at", "kind"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.one_of(st.binary(), JSON.map(json.dumps).map(str.encode), st.dictionaries(FIELDS, JSON).map(_bytes))
)
def test_any_bytes_give_drafts_or_problems(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert all(
        isinstance(item, Draft | Problem | Skipped) for item in read_jsonl(path, source="s", prefix="p")
    )
    assert all(isinstance(item, Access | Problem) for item in read_accesses(path))


@pytest.mark.parametrize("levels", [101, 480, 5_000])
def test_metadata_of_too_many_levels_is_kept_as_text(levels: int) -> None:
    metadata: dict[str, object] = {}
    for _ in range(levels):
        metadata = {"a": metadata}
    notice, draft = storable(Draft("The winch.", metadata=metadata), "notes", "line 1")
    assert isinstance(notice, Skipped)
    assert notice.what == DEEP
    assert isinstance(draft, Draft)
    assert isinstance(draft.metadata["a"], str)


def test_records_before_the_place_where_a_packed_file_breaks_off(tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(json.dumps({"body": f"Key {n}"}) for n in range(5_000)).encode())
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(packed[:-200])
    *drafts, problem = read_jsonl(path, source="s")
    assert len(drafts) > 1_000
    assert count_items(path) == len(drafts)
    assert isinstance(problem, Problem)
    assert problem.reason.startswith(f"line {len(drafts) + 1}: cannot be read: Compressed file ended")
