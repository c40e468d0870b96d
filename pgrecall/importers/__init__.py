"""Readers of other people's memory: files in, a stream of drafts and problems out.

Nothing here touches a database, a clock or the environment. Texts are streamed; only the names and
keys of a source are held.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgrecall.importers.detect import (
        KnownKind,
        SourceKind,
        count_items,
        known_kind,
        open_source,
        source_name,
    )
    from pgrecall.importers.hindsight import read_hindsight
    from pgrecall.importers.jsonl import read_accesses, read_jsonl
    from pgrecall.importers.markdown import read_markdown, read_note_file
    from pgrecall.importers.mem0 import read_mem0
    from pgrecall.importers.qrels import read_qrels
    from pgrecall.importers.transcript import read_transcript

__all__ = [
    "KnownKind",
    "SourceKind",
    "count_items",
    "known_kind",
    "open_source",
    "read_accesses",
    "read_hindsight",
    "read_jsonl",
    "read_markdown",
    "read_mem0",
    "read_note_file",
    "read_qrels",
    "read_transcript",
    "source_name",
]

# A reader is imported once it is named: a search needs none, and that of notes draws in a YAML parser.
_LATER = {
    "KnownKind": "detect",
    "SourceKind": "detect",
    "count_items": "detect",
    "known_kind": "detect",
    "open_source": "detect",
    "read_accesses": "jsonl",
    "read_hindsight": "hindsight",
    "read_jsonl": "jsonl",
    "read_markdown": "markdown",
    "read_mem0": "mem0",
    "read_note_file": "markdown",
    "read_qrels": "qrels",
    "read_transcript": "transcript",
    "source_name": "detect",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'pgrecall.importers' has no attribute {name!r}")
    return getattr(import_module(f"pgrecall.importers.{_LATER[name]}"), name)
