"""What is fuzzed outside of Postgres: each target takes bytes, whatever they are, and says what came of them.

Anything but records, problems or one InvalidInput in a sentence is a defect, and raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.reader import read_chats, read_transcript
from pgrecall.importers.dates import parse_since, parse_spoken, parse_time, parse_until
from pgrecall.importers.detect import known_kind
from pgrecall.importers.fields import Keep
from pgrecall.importers.hindsight.reader import read_hindsight
from pgrecall.importers.jsonl import read_accesses, read_jsonl
from pgrecall.importers.markdown.blocks import read_blocks
from pgrecall.importers.markdown.inline import read_inline
from pgrecall.importers.markdown.reader import read_note_file
from pgrecall.importers.markdown.sections import cut, outline, split_sections
from pgrecall.importers.mem0 import read_mem0
from pgrecall.importers.qrels import read_qrels
from pgrecall.nouns.calibration.models import JudgedQuery
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Access, Draft
from pgrecall.nouns.memories.remember import remember_many

TOOLS = Keep(tools=True)


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PARTS = 200
"""Characters of a part of a note: little, so that notes are cut."""

Target = Callable[[bytes, Path], str]


def _file(name: str, read: Callable[[Path], Iterable[object]]) -> Target:
    """A target that reads a file of this name."""

    def target(data: bytes, folder: Path) -> str:
        path = folder / name
        path.write_bytes(data)
        try:
            return outcome_of(read(path))
        except InvalidInput as refused:
            sentence(refused.message)
            return "refused"

    return target


def outcome_of(items: Iterable[object]) -> str:
    """``records`` where there is one at least; problems are sentences, drafts such as can be stored."""
    found = 0
    for item in items:
        if isinstance(item, Problem):
            sentence(item.reason)
            continue
        if isinstance(item, Skipped):
            assert item.count > 0, item
            item.what.encode()
            continue
        assert isinstance(item, Draft | Access | JudgedQuery), item
        if isinstance(item, Draft):
            remember_many([item], [None], None)
            "".join((item.body, item.title, item.key or "", item.context)).encode()
        found += 1
    return "records" if found else "nothing"


def sentence(said: str) -> None:
    assert said.endswith("."), said
    assert "Traceback" not in said
    assert "\n" not in said
    said.encode()


def _text(read: Callable[[str], object]) -> Target:
    """A target that reads a text; ValueError with a reason is its refusal."""

    def target(data: bytes, _: Path) -> str:
        try:
            read(data.decode("utf-8", "replace"))
        except ValueError as refused:
            return "refused" if str(refused) else _silent(refused)
        return "records"

    return target


def _silent(refused: ValueError) -> str:
    raise AssertionError("It was refused without a word.") from refused


def _inline(text: str) -> None:
    assert len(read_inline(text, {"A": {"href": "a.md"}})) == text.count("\n") + 1


def _parts(text: str) -> None:
    blocks = read_blocks(text)
    assert sum(len(block.lines) for block in blocks) == text.count("\n") + 1
    outline(blocks, PARTS)
    for section in split_sections(blocks, "title", PARTS):
        for piece in cut(section.blocks, PARTS):
            assert piece.text


FILES: dict[str, Target] = {
    "markdown": _file("note.md", lambda path: read_note_file(path, source="s", split_at=PARTS)),
    "jsonl": _file("a.jsonl", lambda path: read_jsonl(path, source="s", prefix="p/")),
    "accesses": _file("a.jsonl", read_accesses),
    "messages": _file("a.jsonl", lambda path: read_chats(path, "chat", source="s", keep=TOOLS)),
    "chatgpt": _file("conversations.json", lambda path: read_chats(path, "chatgpt", source="s", keep=TOOLS)),
    "chatgpt archive": _file("a.zip", lambda path: read_chats(path, "chatgpt", source="s")),
    "claude": _file("conversations.json", lambda path: read_chats(path, "claude", source="s", keep=TOOLS)),
    "claude code": _file("a.jsonl", lambda path: read_chats(path, "claude-code", source="s", keep=TOOLS)),
    "codex": _file("a.jsonl", lambda path: read_chats(path, "codex", source="s", keep=TOOLS)),
    "cursor": _file("a.jsonl", lambda path: read_chats(path, "cursor", source="s", keep=TOOLS)),
    "gemini": _file("a.jsonl", lambda path: read_chats(path, "gemini", source="s", keep=TOOLS)),
    "vscode": _file("a.jsonl", lambda path: read_chats(path, "vscode", source="s", keep=TOOLS)),
    "transcript": _file("a.json", lambda path: read_transcript(path, source="s")),
    "mem0": _file("a.json", lambda path: read_mem0(path, source="s")),
    "hindsight list": _file("a.json", lambda path: read_hindsight(path, source="s")),
    "hindsight archive": _file("a.zip", lambda path: read_hindsight(path, source="s")),
    "qrels": _file("a.jsonl", read_qrels),
    "kind": _file("a.json", lambda path: [None for _ in known_kind(path, "auto")][:0]),
}
"""Readers of files."""

TEXTS: dict[str, Target] = {
    "inline": _text(_inline),
    "sections": _text(_parts),
    "time": _text(parse_time),
    "spoken": _text(parse_spoken),
    "since": _text(lambda text: parse_since(text, NOW)),
    "until": _text(lambda text: parse_until(text, NOW)),
}
"""Parsers of texts."""

TARGETS = FILES | TEXTS
