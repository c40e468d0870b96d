"""Files that somebody made to harm whoever imports them: a transcript, a session folder, an export."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import get_args
from zipfile import ZipFile

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.files import chat_files
from pgrecall.importers.chat.transcript_end import last_turns
from pgrecall.importers.chat.turns import OTHER_FILES
from pgrecall.importers.detect import KnownKind, known_kind, open_source
from pgrecall.importers.json_stream import MAX_CONTAINERS
from pgrecall.importers.markdown.reader import read_markdown
from pgrecall.importers.markdown.templates import SETTINGS
from pgrecall.importers.qrels import read_qrels
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft
from tests.waiting import PATIENCE

KINDS = [kind for kind in get_args(KnownKind) if kind != "markdown"]
LARGE = 2**28
HEAVY = "[" + "[]," * MAX_CONTAINERS + "[]]"
DEEP = '{"a":' * 10_000 + "1" + "}" * 10_000


def told(path: Path, kind: KnownKind) -> tuple[list[Draft], str]:
    """The drafts of a file, and what its import says is wrong."""
    drafts, words = [], []
    try:
        for item in open_source(path, kind=kind):
            if isinstance(item, Draft):
                drafts.append(item)
            else:
                words.append(item.reason if isinstance(item, Problem) else item.what)
    except InvalidInput as error:
        words.append(str(error))
    return drafts, "\n".join(words)


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_very_many_lists_is_not_parsed(kind: KnownKind, ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"session.{ending}"
    for text in (f'{{"conversations": {HEAVY}}}', f"[{HEAVY}]"):
        file.write_text(text)
        drafts, words = told(file, kind)
        assert drafts == []
        assert "more than 500,000 JSON lists and objects" in words or "zip" in words.lower()


def test_signs_of_lists_in_a_text_are_no_lists(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps({"body": "[{\\" * MAX_CONTAINERS})[:900_000] + '"}')
    [draft], words = told(file, "jsonl")
    assert (draft.body[:4], words) == ("[{\\[", "")


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_levels(kind: KnownKind, tmp_path: Path) -> None:
    for name in ("session.jsonl", "session.json"):
        file = tmp_path / name
        file.write_text(DEEP)
        drafts, words = told(file, kind)
        assert drafts == []
        assert "too deep" in words or "zip" in words.lower()


@pytest.mark.parametrize("kind", ["claude-code", "jsonl"])
def test_a_large_file_without_a_line_break_takes_little_memory(kind: KnownKind, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    with file.open("wb") as made:
        made.truncate(LARGE)  # takes no place on the disk
    tracemalloc.start()
    try:
        drafts, words = told(file, kind)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert drafts == []
    assert "longer than" in words
    assert most < LARGE * 3 // 4


def test_pipes_devices_and_circles_in_a_folder_of_sessions_are_not_opened(tmp_path: Path) -> None:
    turn = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Hello."}}
    (tmp_path / "a.jsonl").write_text(json.dumps(turn))
    os.mkfifo(tmp_path / "b.jsonl")
    (tmp_path / "c.jsonl").symlink_to("/dev/zero")
    (tmp_path / "d.jsonl").symlink_to("d.jsonl")
    (tmp_path / "e.jsonl").symlink_to("missing")
    (tmp_path / "f").symlink_to(tmp_path)
    assert known_kind(tmp_path) == "claude-code"
    found = list(open_source(tmp_path, kind="claude-code"))
    assert [item.body for item in found if isinstance(item, Draft)] == ["Hello."]
    assert [item.count for item in found if isinstance(item, Skipped) and item.what == OTHER_FILES] == [3]
    assert [Path(item.where).name for item in found if isinstance(item, Problem)] == ["c.jsonl"]


@pytest.mark.parametrize("name", ["a.md", "a.jsonl", "a.json", "a.zip", "a.jsonl.gz", "a"])
def test_a_pipe_is_refused_by_every_importer(name: str, tmp_path: Path) -> None:
    """Nobody may ever write to it, or end what they write."""
    pipe = tmp_path / name
    os.mkfifo(pipe)
    refused: list[str] = []

    def read() -> None:
        for kind in ("auto", *get_args(KnownKind)):
            with pytest.raises(InvalidInput, match="is a pipe or a device, not a file"):
                list(open_source(pipe, kind=kind))
            refused.append(kind)
        with pytest.raises(InvalidInput, match="is a pipe"):
            read_qrels(pipe)
        refused.append("qrels")

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(PATIENCE)
    assert refused == ["auto", *get_args(KnownKind), "qrels"]


def test_settings_of_a_vault_that_never_end_are_not_read(tmp_path: Path) -> None:
    """A watched folder would be imported no more."""
    settings = tmp_path / SETTINGS
    settings.mkdir()
    pipe = settings / "daily-notes.json"
    os.mkfifo(pipe)
    with (settings / "templates.json").open("wb") as made:
        made.truncate(LARGE)
    (tmp_path / "note.md").write_text("Hello.")
    reading = threading.Thread(target=open_notes, args=(tmp_path, found := []), daemon=True)
    reading.start()
    assert not is_opened(pipe)
    reading.join(PATIENCE)
    assert found == ["Hello."]


def is_opened(pipe: Path) -> bool:
    """Whether somebody opens a pipe within a second."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        with suppress(OSError):  # nobody reads it
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return True
        time.sleep(0.01)
    return False


def open_notes(folder: Path, found: list[str]) -> None:
    found += [item.body for item in open_source(folder) if isinstance(item, Draft)]


def test_signs_that_no_search_takes_are_left_out_of_the_last_turns(tmp_path: Path) -> None:
    """Otherwise no prompt of the session would get a memory."""
    turn = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "message": {"role": "user", "content": "A \ud83d\0b"},
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(turn))
    assert [turn.text for turn in last_turns(tmp_path / "a.jsonl", "claude-code")] == ["A ?b"]


@pytest.mark.parametrize("name", ["/etc/passwd", "/etc/group"])
def test_a_transcript_that_leads_to_a_file_of_the_system_stores_nothing(name: str, tmp_path: Path) -> None:
    link = tmp_path / "session.jsonl"
    link.symlink_to(name)
    for kind in KINDS:
        drafts, words = told(link, kind)
        assert drafts == []
        assert "root:" not in words


def test_the_list_of_an_archive_is_read_once_however_many_chats_it_has(tmp_path: Path) -> None:
    """Reading it for each took the square of their number: two minutes for these, hours for one request."""
    path = tmp_path / "chats.zip"
    with ZipFile(path, "w") as archive:
        for number in range(5_000):
            archive.writestr(f"{number}.json", '[{"role": "user", "content": "The winch is oiled."}]')
    assert len({file.archive for file in chat_files(path)}) == 1
    drafts, _ = told(path, "chat")
    assert len(drafts) == 5_000


@pytest.mark.parametrize("kind", ["auto", "jsonl", "chat", "claude-code"])
@pytest.mark.parametrize("packed", [False, True])
def test_blank_lines_are_read_up_to_a_million(kind: KnownKind, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("session.jsonl.gz" if packed else "session.jsonl")
    path.write_bytes(gzip.compress(b"\n" * 1_000_001) if packed else b" \n" * 1_000_001)
    assert told(path, kind) == ([], f"{path} has more than 1,000,000 blank lines. Remove them.")


def _link_to_file(folder: Path, outside: Path) -> None:
    (folder / "sub/b.md").unlink()
    (folder / "sub/b.md").symlink_to(outside / "b.md")


def _link_to_folder(folder: Path, outside: Path) -> None:
    (folder / "sub").rename(folder / ".away")
    (folder / "sub").symlink_to(outside)


def _pipe(folder: Path, outside: Path) -> None:
    (folder / "sub/b.md").unlink()
    os.mkfifo(folder / "sub/b.md")


def _folder(folder: Path, outside: Path) -> None:
    (folder / "sub/b.md").unlink()
    (folder / "sub/b.md").mkdir()
    (folder / "sub/b.md/c.md").write_text("inside")


@pytest.mark.parametrize("put_in_its_place", [_link_to_file, _link_to_folder, _pipe, _folder])
def test_what_replaces_a_note_while_a_folder_is_read_is_not_read(
    tmp_path: Path, put_in_its_place: Callable[[Path, Path], None]
) -> None:
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    for place, text in ((folder, "the note"), (folder / "sub", "of the folder"), (outside, "a secret")):
        place.mkdir(exist_ok=True)
        (place / ("a.md" if place == folder else "b.md")).write_text(text)
    found = read_markdown(folder, source="notes")
    first = next(found)
    assert isinstance(first, Draft)
    assert first.body == "the note"
    put_in_its_place(folder, outside)
    opened = len(list(Path("/dev/fd").iterdir()))
    [problem] = found
    assert isinstance(problem, Problem)
    assert problem.reason == "The file cannot be read: something else was put in its place."
    assert len(list(Path("/dev/fd").iterdir())) == opened
    assert len(list(read_markdown(folder, source="notes", follow_links=True))) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_what_replaces_a_session_while_a_folder_is_read_is_not_read(tmp_path: Path, packed: bool) -> None:
    folder, outside = tmp_path / "sessions", tmp_path / "outside"
    for place in (folder, outside):
        place.mkdir()
        line = json.dumps({"role": "user", "content": f"said {place.name}"}).encode()
        name = "one.jsonl.gz" if packed else "one.jsonl"
        (place / name).write_bytes(gzip.compress(line) if packed else line)
    [file] = chat_files(folder)
    with file.opened() as opened:
        assert b"said sessions" in opened.read()
    file.path.unlink()
    file.path.symlink_to(outside / file.path.name)
    with pytest.raises(InvalidInput, match="something else was put in its place"), file.opened():
        pass
    [followed] = chat_files(folder, follow_links=True)
    with followed.opened() as opened:
        assert b"said outside" in opened.read()
