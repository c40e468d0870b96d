"""The last turns of a session that is still being written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgrecall.importers.chat.reader import SESSIONS, SessionKind
from pgrecall.importers.chat.recalled import without_marked
from pgrecall.importers.chat.turns import Tally, Turn

_BYTES = 256_000
"""Of the end of a transcript; a long session has some 100 turns in them."""


def last_turns(path: Path, kind: SessionKind) -> Sequence[Turn]:
    """The turns at the end of a transcript in JSON Lines, without what recall added to them and what no
    search takes; oldest first.

    Lines that cannot be read are left out: the last one may be half written.

    Raises:
        OSError: the file cannot be read.
    """
    conversations = SESSIONS[kind](_values(path), path.stem, Tally(), tools=False)
    turns = [turn for conversation in conversations for turn in conversation.turns]
    said = [replace(turn, text=searchable(without_marked(turn.text)[0]).strip()) for turn in turns]
    return [turn for turn in said if turn.text]


def searchable(text: str) -> str:
    """The text without NUL and half signs, which no search takes; programs cut texts within a sign."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _BYTES, 0))
        if size > _BYTES:
            file.readline()  # the rest of a line
        for number, line in enumerate(file.read(_BYTES).splitlines(), start=1):
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError):
                continue
