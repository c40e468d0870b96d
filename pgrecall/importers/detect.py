"""Detects the importer for a path and names its source. Importers are loaded when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, assert_never

from pgrecall.errors import InvalidInput
from pgrecall.importers.files import read_lines, require_file, require_folder, show
from pgrecall.importers.markdown.notes import is_note, walk
from pgrecall.models.import_export import Problem
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
    """Reads drafts from a folder of notes, a note, JSON Lines, a chat, or an export of mem0 or Hindsight.

    Args:
        path: the folder or file.
        kind: the format; ``auto`` detects it.
        source: the name of the source; None is `source_name`.
        prefix: put before every key.
        layer: the layer of all drafts; None is the default of the importer. JSON Lines set their own layers.

    Raises:
        InvalidInput: the path does not exist, its format is unknown, or ``layer`` is given for JSON Lines.
    """
    known = known_kind(path, kind)
    name = source or source_name(path, known)
    match known:
        case "markdown":
            from pgrecall.importers.markdown.reader import read_markdown, read_note_file

            read = read_markdown if path.is_dir() else read_note_file
            return read(path, source=name, prefix=prefix, layer=layer or "knowledge")
        case "jsonl":
            if layer:
                raise InvalidInput("JSON Lines set the layer in each record.", hint="Add it there.")
            from pgrecall.importers.jsonl import read_jsonl

            return read_jsonl(path, source=name, prefix=prefix)
        case "chat":
            from pgrecall.importers.chat import read_transcript

            return read_transcript(path, source=name, prefix=prefix, layer=layer or "episodic")
        case "mem0":
            from pgrecall.importers.mem0 import read_mem0

            return read_mem0(path, source=name, prefix=prefix, layer=layer or "knowledge")
        case "hindsight":
            from pgrecall.importers.hindsight.reader import read_hindsight

            return read_hindsight(path, source=name, prefix=prefix, layer=layer)
    assert_never(known)


def known_kind(path: Path, kind: SourceKind = "auto") -> KnownKind:
    """The given kind; ``auto`` detects it from the name and from the content of a ``.json`` file.

    Raises InvalidInput for a path that does not exist or whose kind is unknown.
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
        f"{show(path)} has an unknown format.",
        hint="Pass a folder or a .md, .jsonl, .json or .zip file, or set its kind: "
        "markdown, jsonl, chat, mem0 or hindsight.",
    )


def _kind_of_json(path: Path) -> KnownKind:
    """The kind of a JSON file; chat if none matches, because that importer explains faults best."""
    from pgrecall.importers.hindsight.reader import is_hindsight
    from pgrecall.importers.json_records import load_json
    from pgrecall.importers.mem0 import is_mem0

    try:
        value = load_json(path, "an export", "")
    except InvalidInput:
        return "chat"
    if is_mem0(value):
        return "mem0"
    return "hindsight" if is_hindsight(value) else "chat"


def source_name(path: Path, kind: SourceKind = "auto") -> str:
    """The source of memories imported from this path: ``markdown:/home/ann/notes``."""
    return f"{known_kind(path, kind)}:{show(path.resolve())}"


def count_items(path: Path, kind: SourceKind = "auto") -> int | None:
    """The number of notes or lines to read, for a progress bar; None if it is not known before reading.

    A long note yields several drafts, so this is not the number of memories.
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
