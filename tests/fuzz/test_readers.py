"""Whatever bytes a file holds: an importer gives records and problems, or refuses it in a sentence."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.importers.jsonl import read_jsonl
from pgrecall.nouns.memories.models import Draft
from tests.fuzz.growth import REPEATS, TIMES, calls, grown
from tests.fuzz.scale import MINUTES, tried
from tests.fuzz.targets import TARGETS
from tests.fuzz.values import documents, plain, replaced

pytestmark = pytest.mark.fuzz

CORPUS = Path(__file__).parent / "corpus"
"""By target: small files that are taken, and what was once a defect."""


def seeds(target: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((CORPUS / target.replace(" ", "-")).glob("*"))]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def inputs(target: str) -> st.SearchStrategy[bytes]:
    """Bytes at random, pieces of syntax in a row, any JSON, and files that are taken, changed a little."""
    pieces = st.lists(st.one_of(st.sampled_from(REPEATS), plain), max_size=12).map(
        lambda found: "".join(found).encode()
    )
    jsons = st.lists(documents, min_size=1, max_size=3).map(
        lambda values: "\n".join(json.dumps(value) for value in values).encode()
    )
    any_bytes = st.one_of(
        st.binary(max_size=200), pieces, jsons, jsons.map(lambda data: data.replace(b"\\u", b"\\ud8"))
    )
    known = seeds(target)
    if not known:
        return any_bytes
    changed = st.tuples(
        st.sampled_from(known), st.integers(0, 4000), st.integers(0, 60), st.one_of(pieces, any_bytes)
    )
    return st.one_of(any_bytes, changed.map(lambda one: replaced(*one)))


@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_read_or_refused(target: str, folder: Path, outcomes: Counter[str]) -> None:
    @tried(60)
    @given(inputs(target))
    def read(data: bytes) -> None:
        outcomes[f"{target}: {TARGETS[target](data, folder)}"] += 1

    read()


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_once_a_defect_is_read_or_refused(target: str, folder: Path) -> None:
    for data in seeds(target):
        assert TARGETS[target](data, folder) in ("records", "nothing", "refused")


drafts = st.builds(
    Draft,
    body=plain.filter(str.strip),
    title=plain,
    key=st.one_of(st.none(), plain.filter(bool)),
    context=plain,
    author=st.one_of(st.none(), plain),
    tags=st.lists(plain, max_size=3).map(tuple),
    metadata=st.dictionaries(plain, st.one_of(plain, st.integers(), st.none()), max_size=3),
    pinned=st.booleans(),
)


def test_json_lines_give_back_what_was_written(folder: Path, outcomes: Counter[str]) -> None:
    @tried(60)
    @given(drafts)
    def round_trip(draft: Draft) -> None:
        fields = ("body", "title", "key", "context", "author", "tags", "metadata", "pinned")
        line = json.dumps({name: getattr(draft, name) for name in fields})
        (folder / "trip.jsonl").write_text(line + "\n")
        [back] = read_jsonl(folder / "trip.jsonl", source="s")
        assert [getattr(back, name) for name in fields] == [getattr(draft, name) for name in fields]
        outcomes["round trip: records"] += 1

    round_trip()


@pytest.mark.parametrize("target", ["sections", "inline", "markdown"][: 3 if MINUTES else 2])
def test_work_grows_as_the_text_does(target: str, folder: Path) -> None:
    """The rest is the JSON reader's, which is not ours, and grows by the same measure with `make fuzz`."""
    size = 2**13 if MINUTES else 2**10
    for (name, short), (_, long) in zip(grown(target, size), grown(target, size * TIMES), strict=True):
        before = calls(TARGETS[target], short, folder)
        assert calls(TARGETS[target], long, folder) < 1.8 * TIMES * max(before, 1000), name
