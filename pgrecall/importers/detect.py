"""Which importer reads a path, and what a source is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, assert_never

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.transcript import read_transcript
from pgrecall.importers.files import read_lines, require_file, require_folder, show
from pgrecall.importers.hindsight.reader import is_hindsight, read_hindsight
from pgrecall.importers.json_values import load_json
from pgrecall.importers.jsonl import read_jsonl
from pgrecall.importers.markdown.folders import is_note, walk
from pgrecall.importers.markdown.reader import read_markdown, read_note_file
from pgrecall.importers.mem0 import is_mem0, read_mem0
from pgrecall.models.imports import Problem
from pgrecall.models.memories import Draft

SourceKind = Literal["auto", "markdown", "jsonl", "chat", "mem0", "hindsight"]
KnownKind = Literal["markdown", "jsonl", "chat", "mem0", "hindsight"]

_ENDINGS: tuple[tuple[str, KnownKind], ...] = (
    (".md", "markdown"),
    (".markdown", "markdown"),
    (".jsonl", "jsonl"),
    (".ndjson", "jsonl"),
    (".json", "chat"),
    (".zip", "hindsight"),
)


def open_source(
    path: Path,
    *,
    kind: SourceKind = "auto",
    source: str | None = None,
    prefix: str = "",
    layer: str | None = None,
) -> Iterator[Draft | Problem]:
    """The drafts of whatever ``path`` is: a folder of notes, one note, JSON Lines, a transcript,
    or an export of mem0 or Hindsight.

    ``source`` None is `source_name`; ``layer`` None is the importer's own default, and records of
    JSON Lines name theirs, so ``layer`` is refused there. Raises InvalidInput at once for a path
    that does not exist or cannot be told.
    """
    known = known_kind(path, kind)
    name = source or source_name(path, known)
    match known:
        case "markdown":
            read = read_markdown if path.is_dir() else read_note_file
            return read(path, source=name, prefix=prefix, layer=layer or "knowledge")
        case "jsonl":
            if layer:
                raise InvalidInput("JSON Lines name their own layer.", hint='Write "layer" in each record.')
            return read_jsonl(path, source=name, prefix=prefix)
        case "chat":
            return read_transcript(path, source=name, prefix=prefix, layer=layer or "episodic")
        case "mem0":
            return read_mem0(path, source=name, prefix=prefix, layer=layer or "knowledge")
        case "hindsight":
            return read_hindsight(path, source=name, prefix=prefix, layer=layer)
    assert_never(known)


def known_kind(path: Path, kind: SourceKind = "auto") -> KnownKind:
    """The kind itself, or for ``auto`` the one that the path's name and a ``.json``'s content tell.

    Raises InvalidInput for a path that does not exist or cannot be told.
    """
    if kind != "auto":
        return kind
    if path.is_dir():
        return "markdown"
    require_file(path)
    name = path.name.lower()
    for ending, found in _ENDINGS:
        if name.endswith(ending) or (found != "markdown" and name.endswith(f"{ending}.gz")):
            return _kind_of_json(path) if found == "chat" else found
    raise InvalidInput(
        f"{show(path)} is of no known kind.",
        hint="Give a folder, a .md, .jsonl, .json or .zip file, or say which kind it is: "
        "markdown, jsonl, chat, mem0 or hindsight.",
    )


def _kind_of_json(path: Path) -> KnownKind:
    """A chat unless it is clearly something else: the reader of chats says best what is wrong with a file."""
    try:
        value = load_json(path, "an export", "")
    except InvalidInput:
        return "chat"
    if is_mem0(value):
        return "mem0"
    return "hindsight" if is_hindsight(value) else "chat"


def source_name(path: Path, kind: SourceKind = "auto") -> str:
    """The name under which imports of this path are remembered: ``markdown:/home/ann/notes``."""
    return f"{known_kind(path, kind)}:{show(path.resolve())}"


def count_items(path: Path, kind: SourceKind = "auto") -> int | None:
    """How many notes or lines there are to read, for a progress bar; None when only reading would tell.

    A long note gives several drafts, so this counts what is read, not what is stored.
    """
    known = known_kind(path, kind)
    if known in ("chat", "mem0", "hindsight"):
        return None
    if known == "jsonl":
        require_file(path)
        return sum(1 for _, line in read_lines(path) if line is None or line.strip())
    if is_note(path) and not path.is_dir():
        return 1
    require_folder(path)
    return sum(1 for found in walk(path) if isinstance(found, Path))
