"""The walk of a search in docs/architecture.md: as many functions and files as it says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psycopg

import pgrecall
from pgrecall import Memory
from tests.acceptance.docs.doc_blocks import ROOT

PACKAGE = Path(pgrecall.__file__).parent
FUNCTIONS = PACKAGE / "schema" / "functions"
SECTION = " ".join(
    (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## A search")[2].split()
)


def test_the_python_of_a_search(memory: Memory) -> None:
    memory.remember("The harbour contract is signed on Friday.", key="contract")
    memory.search("harbour contract")  # what only the first search does is no part of the walk
    files: set[Path] = set()
    ways: list[list[FrameType]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE) and event == "call":
            files.add(file.relative_to(PACKAGE))
        elif frame.f_code is psycopg.Cursor.execute.__code__ and event == "call":
            ways.append([each for each in callers(frame) if is_ours(each)])

    sys.setprofile(look)
    try:
        memory.search("harbour contract")
    finally:
        sys.setprofile(None)
    [way] = ways
    assert f"these are {number(len(way))} functions in {number(len(of_files(way)))} files" in SECTION
    ours = {file for file in files if file.parts[:2] not in (("search", "embed"), ("search", "rerank"))}
    assert f"runs code of {len(ours)} Python files" in SECTION, sorted(map(str, ours))


def callers(frame: FrameType) -> Iterator[FrameType]:
    while (caller := frame.f_back) is not None:
        yield caller
        frame = caller


def is_ours(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).is_relative_to(PACKAGE)


def of_files(way: list[FrameType]) -> set[str]:
    return {frame.f_code.co_filename for frame in way}


def number(count: int) -> str:
    words = "no one two three four five six seven eight nine ten eleven twelve"
    return words.split()[count]


def test_the_sql_of_a_search() -> None:
    created = re.compile(
        r"CREATE OR REPLACE FUNCTION (?:recall|recall_private)\.(\w+)(.*?)(?=\nCREATE |\Z)", re.S
    )
    bodies = {
        name: (file, body)
        for file in FUNCTIONS.rglob("*.sql")
        for name, body in created.findall(re.sub(r"--.*", "", file.read_text(encoding="utf-8")))
    }
    reached, waiting = set[str](), ["search_and_log"]
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += (
                set(re.findall(r"\b(?:recall|recall_private)\.(\w+)\(", bodies[name][1])) & bodies.keys()
            )
    files = {bodies[name][0] for name in reached}
    assert f"can call functions of {len(files)} files" in SECTION, sorted(map(str, files))
    own = list((FUNCTIONS / "10_search").iterdir())
    assert f"the {len(own)} of `schema/functions/10_search`" in SECTION
    assert files.issuperset(own)
