"""Detects the importer for a path and names its source. Importers are loaded when they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never, get_args
from zipfile import ZipFile

from pgrecall.errors import InvalidInput
from pgrecall.importers.fields import ANY, NOTHING, Keep, Rules
from pgrecall.importers.files import (
    ARCHIVES,
    OTHER_CHATS,
    ZIP_FAULTS,
    printable_path,
    read_lines,
    require_file,
    require_folder,
)
from pgrecall.importers.markdown.notes import TEXT_SUFFIXES, is_note, walk
from pgrecall.importers.zip_names import names_in
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

SourceKind = Literal[
    "auto", "markdown", "jsonl", "chat", "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini",
    "vscode", "mem0", "hindsight",
]  # fmt: skip
KnownKind = Literal[
    "markdown", "jsonl", "chat", "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini", "vscode",
    "mem0", "hindsight",
]  # fmt: skip

BY_SESSION: tuple[KnownKind, ...] = (
    "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini", "vscode",
)  # fmt: skip
"""Kinds with one source for all files, because each export has another name."""

_ENDINGS: tuple[tuple[str, KnownKind], ...] = (
    (".md", "markdown"),
    (".markdown", "markdown"),
    (".jsonl", "jsonl"),
    (".ndjson", "jsonl"),
    (".json", "chat"),
    *((ending, "hindsight") for ending in ARCHIVES),
)


_EXPORTS = (".json", ".jsonl", ".ndjson", ".gz", ".zst", ".csv", ".zip", ".edn")
"""What programs export chats as; a folder of pictures can become a folder of notes."""


def open_source(
    path: Path,
    *,
    kind: SourceKind = "auto",
    source: str | None = None,
    prefix: str = "",
    layer: str | None = None,
    keep: Keep = NOTHING,
    follow_links: bool = False,
    rules: Rules = ANY,
) -> Iterator[Draft | Problem | Skipped]:
    """Reads drafts from notes (a folder, a ZIP of one, a file), JSON Lines, chats, mem0 or Hindsight.

    Args:
        path: the folder or file.
        kind: the format; ``auto`` detects it, for chats in a folder that of each file.
        source: the name of the source; None is `source_name`.
        prefix: put before every key.
        layer: the layer of all drafts; None is the default of the importer. JSON Lines set their own layers.
        keep: what to keep of chats.
        follow_links: read what symbolic links in a folder lead to outside of it.
        rules: what the store takes: times until now, and layers.

    Raises:
        InvalidInput: unknown path or format, ``layer`` for JSON Lines, or ``keep`` for anything but chats.
    """
    if path.exists() and not path.is_dir():
        require_file(path)
    known = known_kind(path, kind)
    if any(keep) and known not in (*BY_SESSION, "chat"):
        what = "have tool calls" if keep.tools else "are searched for secrets"
        raise InvalidInput(f"Only chats {what}; {printable_path(path)} is {known}.")
    name = source or source_name(path, known)
    match known:
        case "markdown":
            return _read_notes(path, name, prefix, layer or "knowledge", follow_links, rules)
        case "jsonl":
            if layer:
                raise InvalidInput("JSON Lines set the layer in each record.", hint="Add it there.")
            from pgrecall.importers.jsonl import read_jsonl

            return read_jsonl(path, source=name, prefix=prefix, rules=rules)
        case "chat" | "chatgpt" | "claude" | "claude-code" | "codex" | "cursor" | "gemini" | "vscode":
            from pgrecall.importers.chat.reader import read_chats

            layer = layer or "episodic"
            return read_chats(
                path, kind if kind == "auto" else known, source=name, prefix=prefix, layer=layer, keep=keep,
                follow_links=follow_links, rules=rules,
            )  # fmt: skip
        case "mem0":
            from pgrecall.importers.mem0 import read_mem0

            return read_mem0(path, source=name, prefix=prefix, layer=layer or "knowledge", rules=rules)
        case "hindsight":
            from pgrecall.importers.hindsight.reader import read_hindsight

            return read_hindsight(path, source=name, prefix=prefix, layer=layer, rules=rules)
    assert_never(known)


def _read_notes(
    path: Path, source: str, prefix: str, layer: str, follow_links: bool, rules: Rules
) -> Iterator[Draft | Problem | Skipped]:
    if _is_archive(path):
        from pgrecall.importers.markdown.archive import read_archive

        return read_archive(path, source=source, prefix=prefix, layer=layer, rules=rules)
    from pgrecall.importers.markdown.reader import read_markdown, read_note_file

    read = read_markdown if path.is_dir() else read_note_file
    return read(path, source=source, prefix=prefix, layer=layer, follow_links=follow_links, rules=rules)


def known_kind(path: Path, kind: SourceKind = "auto") -> KnownKind:
    """The given kind; ``auto`` detects it from the name and content of files.

    Raises InvalidInput for a path that does not exist or has an unknown kind.
    """
    if kind != "auto":
        return kind
    if path.is_dir():
        return _kind_of_folder(path)
    require_file(path)
    name = path.name.lower()
    for ending, found in _ENDINGS:
        if name.endswith(ending) or (found != "markdown" and name.endswith(f"{ending}.gz")):
            return found if found == "markdown" else _kind_of_content(path, found)
    raise InvalidInput(
        f"{printable_path(path)} has an unknown format.",
        hint="Pass a folder or a .md, .jsonl, .json or .zip file, or set its kind: "
        f"{', '.join(get_args(KnownKind))}. {OTHER_CHATS}",
    )


def _kind_of_folder(path: Path) -> KnownKind:
    """Chats if the folder is an export or contains sessions, or has chats and no notes at all."""
    try:
        if any(is_note(found) for found in path.iterdir()):
            return "markdown"
    except OSError:  # the importer of notes reports it
        return "markdown"
    from pgrecall.importers.chat.reader import chat_kind

    found = chat_kind(path)
    if found in BY_SESSION:
        return found
    names: list[str] = []
    for item in walk(path):
        if not isinstance(item, Skipped):  # a note, or what could be one
            return "markdown"
        names += item.places
    if found is None:
        _require_notes(path, names)
    return found or "markdown"


def _require_notes(folder: Path, names: Sequence[str]) -> None:
    """Raises InvalidInput for a folder without notes that has texts of other kinds."""
    if any(name.lower().endswith((*_EXPORTS, *TEXT_SUFFIXES)) for name in names):
        kinds = ((".zip", "an archive"), (".ndjson", "a file of records"), (".jsonl", "a file of records"))
        own = [what for ending, what in kinds if any(name.lower().endswith(ending) for name in names)]
        instead = f"Import {own[-1]} by its own name." if own else OTHER_CHATS
        raise InvalidInput(
            f"{printable_path(folder)} contains no notes and no chats that can be read: it has only "
            f"{_endings(names)}.",
            hint=f"Notes end in .md. {instead}",
        )


def _endings(names: Iterable[str]) -> str:
    return ", ".join(sorted({Path(name).suffix.lower() or Path(name).name for name in names})[:5])[:100]


def _kind_of_content(path: Path, otherwise: KnownKind) -> KnownKind:
    """The kind of a file by its first values; ``otherwise`` if none matches."""
    from pgrecall.importers.chat.first_values import first_values
    from pgrecall.importers.chat.reader import chat_kind

    found = chat_kind(path)
    if _is_archive(path) and found not in BY_SESSION:
        return _kind_of_archive(path, found)
    if found:
        return found
    from pgrecall.importers.hindsight.reader import is_hindsight
    from pgrecall.importers.mem0 import is_mem0
    from pgrecall.importers.other_records import TEXTS, is_record

    names: set[str] = set()
    for value in first_values(path):
        if is_mem0(value):
            return "mem0"
        if otherwise == "chat" and is_hindsight(value):
            return "hindsight"
        if is_record(value):
            return "jsonl"
        names |= value.keys() if isinstance(value, dict) else {"body"}
    if otherwise == "jsonl" and names and names.isdisjoint(TEXTS):
        accesses = "To load accesses: `pgrecall access --from FILE`."
        raise InvalidInput(
            f"{printable_path(path)} has neither records nor chats: its objects have no body, but "
            f"{', '.join(sorted(map(repr, names))[:5])[:200]}.",
            hint=accesses if {"kind", "at"} <= names else OTHER_CHATS,
        )
    return otherwise


def _kind_of_archive(path: Path, chats: KnownKind | None) -> KnownKind:
    """The kind of an archive without sessions: its chats, notes or Hindsight. Raises InvalidInput for none.

    A message in a file of a vault makes it no chat.
    """
    from pgrecall.importers.chat.files import chat_files
    from pgrecall.importers.markdown.archive import count_notes

    if chats and any(file.is_export for file in chat_files(path)):
        return chats
    if count_notes(path) != 0:
        return "markdown"
    if chats:
        return chats
    try:
        with ZipFile(path) as archive:
            names = [entry.filename for entry in names_in(archive).entries]
    except ZIP_FAULTS:  # its importer reports it
        return "hindsight"
    if "manifest.json" in names:
        return "hindsight"
    if packed := sum(name.lower().endswith(".zip") for name in names):
        only = "only " if packed == len(names) else ""
        raise InvalidInput(
            f"{printable_path(path)} has {only}other archives in it, and no notes or chats that can be read.",
            hint="Unpack it, and import what comes out of it.",
        )
    held = f"it has only {_endings(names)}" if names else "it is empty"
    raise InvalidInput(
        f"{printable_path(path)} contains no notes, no chats and no bank of Hindsight: {held}.",
        hint=f"Notes end in .md; an export of ChatGPT or Claude has a conversations.json. {OTHER_CHATS}",
    )


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() in ARCHIVES and not path.is_dir()


def source_name(path: Path, kind: SourceKind = "auto") -> str:
    """The source of memories imported from this path: ``markdown:/home/ann/notes``.

    Exports of chats and sessions have one source for all files, such as ``chatgpt``: each export has
    another file name, and contains the earlier conversations again.
    """
    known = known_kind(path, kind)
    return known if known in BY_SESSION else f"{known}:{printable_path(path.resolve())}"


def count_items(path: Path, kind: SourceKind = "auto", *, follow_links: bool = False) -> int | None:
    """The number of notes or lines to read, for a progress bar; None if it is not known before reading.

    A long note yields several drafts, so this is not the number of memories.
    """
    known = known_kind(path, kind)
    if known not in ("jsonl", "markdown"):
        return None
    if known == "jsonl":
        require_file(path)
        return sum(1 for _, line in read_lines(path, cut=[]) if line is None or line.strip())
    if _is_archive(path):
        from pgrecall.importers.markdown.archive import count_notes

        return count_notes(path)
    if path.is_file():  # one that is no note is refused when it is read
        return 1
    require_folder(path)
    return sum(1 for found in walk(path, follow_links=follow_links) if isinstance(found, Path))
