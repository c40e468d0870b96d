"""Reading chats of every format as drafts, one for each turn, with counts of what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.chatgpt import is_chatgpt, read_chatgpt
from pgrecall.importers.chat.claude import is_claude, read_claude
from pgrecall.importers.chat.claude_code import is_claude_code, read_claude_code, session_title
from pgrecall.importers.chat.codex import is_codex, read_codex
from pgrecall.importers.chat.cursor import is_cursor, read_cursor
from pgrecall.importers.chat.drafts import Seen, Target, conversation_drafts
from pgrecall.importers.chat.files import (
    ChatFile,
    chat_files,
    not_read,
    other_files,
)
from pgrecall.importers.chat.first_values import first_of, first_values
from pgrecall.importers.chat.gemini import is_gemini, read_gemini
from pgrecall.importers.chat.locomo import read_locomo
from pgrecall.importers.chat.messages import is_message, is_messages, read_messages
from pgrecall.importers.chat.turns import OTHER_FILES, Conversation, Tally
from pgrecall.importers.chat.values import json_lines, json_values
from pgrecall.importers.chat.vscode import is_vscode, read_vscode
from pgrecall.importers.fields import ANY, NOTHING, Keep, Rules
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import load_json
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

SessionKind = Literal["claude-code", "codex", "cursor", "gemini", "vscode"]
ChatKind = Literal["chat", "chatgpt", "claude"] | SessionKind
Item = Draft | Problem | Skipped

_OF_MESSAGES = ("codex", "gemini")
"""Formats with lines that are messages, if what stands above them is lost."""

_LOCOMO_HINT = "A transcript is one JSON value. For one record per line, name the file .jsonl."
_EXPORTS = {"chatgpt": read_chatgpt, "claude": read_claude}
SESSIONS: Mapping[SessionKind, Callable[..., Iterator[Conversation]]] = {
    "claude-code": read_claude_code, "codex": read_codex, "cursor": read_cursor, "gemini": read_gemini,
    "vscode": read_vscode,
}  # fmt: skip
"""Readers of the sessions of coding agents, by kind."""

_DETECTORS: Sequence[tuple[ChatKind, Callable[[object], bool]]] = (
    ("chatgpt", is_chatgpt),
    ("claude", is_claude),
    ("claude-code", is_claude_code),
    ("codex", is_codex),
    ("cursor", is_cursor),
    ("gemini", is_gemini),
    ("vscode", is_vscode),
    ("chat", is_messages),
    ("chat", is_message),
)


def chat_kind(path: Path) -> ChatKind | None:
    """The format of the chats at a path, by the content of the first files; None if there are none.

    Raises:
        InvalidInput: the path does not exist or cannot be read.
    """
    return _kind_of(first_values(path))


def _kind_of(values: Iterable[Any]) -> ChatKind | None:
    return next((kind for value in values for kind, matches in _DETECTORS if matches(value)), None)


def read_chats(
    path: Path,
    kind: ChatKind | Literal["auto"],
    *,
    source: str,
    prefix: str = "",
    layer: str = "episodic",
    keep: Keep = NOTHING,
    follow_links: bool = False,
    rules: Rules = ANY,
) -> Iterator[Item]:
    """Reads each turn at a path as a draft, then what was left out, with counts.

    Args:
        path: a file, possibly ``.gz``, a ZIP archive, or a folder of them.
        kind: the format. With ``auto`` each file has its own, and where ``source`` is the name of the first
            one, as it is by default, theirs is the name of their own.
        source: the source of all drafts.
        prefix: put before every key.
        layer: the layer of all drafts.
        keep: what to keep, though it is left out or replaced otherwise.
        follow_links: read what symbolic links in a folder lead to outside of it.
        rules: what the store takes.

    Raises:
        InvalidInput: the path cannot be read, is not JSON, or contains no conversation.
    """
    target = Target(source, prefix, layer, keep.secrets)
    usual = (chat_kind(path) or "chat") if kind == "auto" else kind
    if usual == "chat" and not path.is_dir():
        require_file(path)
        if path.suffix.lower() != ".zip" and chat_kind(path) != "chat" and not ChatFile(path).has_lines:
            notices: list[Skipped] = []
            value = load_json(path, "a transcript", _LOCOMO_HINT, notices)
            return chain(notices, _drafts(read_locomo(value, path), path, target, Tally(rules)))
    files = chat_files(path, follow_links=follow_links)
    if usual in _EXPORTS:  # what lies beside their conversations may be anything
        files = [file for file in files if not file.is_beside or _kind_of(first_of(file))]
    left_out: list[Item] = [*not_read(path, follow_links=follow_links)] if path.is_dir() else []
    if not files and not left_out:
        raise InvalidInput(
            f"{printable_path(path)} contains no conversations.",
            hint="An export has a conversations.json; sessions are .jsonl files.",
        )
    others = other_files(path, files, follow_links=follow_links)
    if kind == "auto" and usual not in _EXPORTS:  # some programs keep each session in a .json
        beside = [one for one in others if one.own_name.lower().endswith(".json") and _kind_of(first_of(one))]
        shown = {one.shown for one in beside}
        files, others = [*files, *beside], [one for one in others if one.shown not in shown]
    if others:
        left_out.append(Skipped(OTHER_FILES, len(others), tuple(one.shown for one in others)))
    tally = Tally(rules)
    each = kind == "auto" and len(files) > 1
    formats = ((file, _format(file, usual) if each else usual) for file in files)
    return chain(left_out, _read(formats, usual, target, tally, keep.tools, is_alone=len(files) == 1))


def read_transcript(
    path: Path, *, source: str, prefix: str = "", layer: str = "episodic"
) -> Iterator[Draft | Problem]:
    """Reads LoCoMo's samples or a list of ``{role, content}``, without a count of what was left out.

    Raises:
        InvalidInput: the file is not JSON or has neither format.
    """
    items = read_chats(path, "chat", source=source, prefix=prefix, layer=layer)
    return (item for item in items if not isinstance(item, Skipped))


def _format(file: ChatFile, of_folder: ChatKind) -> ChatKind | None:
    """The format of a file; that of its folder where the file does not tell: a line of some is a message.

    None for a file with something else, such as settings.
    """
    values = first_of(file)
    first = next(values, None)
    found = _kind_of(chain([first], values))
    if found in (None, "chat") and of_folder in _OF_MESSAGES and file.has_lines:
        return of_folder
    is_other = found is None and first is not None and of_folder == "chat"
    return None if is_other else found or of_folder


def _read(
    files: Iterable[tuple[ChatFile, ChatKind | None]],
    usual: ChatKind,
    target: Target,
    tally: Tally,
    tools: bool,
    *,
    is_alone: bool,
) -> Iterator[Item]:
    """The drafts of all files. One that cannot be read is a problem, unless it is alone."""
    seen: Seen = {}
    for file, kind in files:
        if kind is None:
            yield Skipped(OTHER_FILES, 1, (file.shown,))
            continue
        own = replace(target, source=_source(file, kind)) if target.source == usual else target
        problems: list[Problem] = []
        try:
            for conversation in _conversations(file, kind, tally, problems, tools):
                yield from conversation_drafts(conversation, Path(file.shown), own, seen, tally)
                yield from _reported(problems, file)
        except InvalidInput as error:
            if is_alone:
                raise
            problems.append(_unread(file, error))
        yield from _reported(problems, file)
    yield from tally.skipped()


def _unread(file: ChatFile, error: InvalidInput, rest: str = "") -> Problem:
    """The problem of a file that cannot be read, or not to its end."""
    return Problem(file.shown, f"It {error.message.removeprefix(file.shown).strip()}{rest}")


def _source(file: ChatFile, kind: ChatKind) -> str:
    """The source of a file of another kind than its folder: turns without ids have keys by their file."""
    return kind if kind != "chat" else f"chat:{printable_path((file.root or file.path).resolve())}"


def _reported(problems: list[Problem], file: ChatFile) -> Iterator[Problem]:
    for problem in problems:
        if problem.reason.endswith("."):
            yield problem
        else:
            yield Problem(file.shown, f"{problem.where}: {problem.reason}.")
    problems.clear()


def _conversations(
    file: ChatFile, kind: ChatKind, tally: Tally, problems: list[Problem], tools: bool
) -> Iterator[Conversation | Problem]:
    match kind:
        case "chatgpt" | "claude":
            return _exported(file, kind, tally, problems, tools)
        case "chat":
            return read_messages(_placed(file, problems, tally), file.name, tally, problems, tools=tools)
        case "claude-code":
            title = session_title(value for _, value in _placed(file, [], Tally()))
            return read_claude_code(
                _placed(file, problems, tally), file.stem, tally, title=title, tools=tools
            )
        case _:
            return SESSIONS[kind](_placed(file, problems, tally), file.stem, tally, tools=tools)


def _exported(
    file: ChatFile, kind: ChatKind, tally: Tally, problems: list[Problem], tools: bool
) -> Iterator[Conversation | Problem]:
    number = 0
    for number, (_, value) in enumerate(_placed(file, problems, tally), start=1):
        place = f"conversation {number}"
        try:
            yield _EXPORTS[kind](value, place, tally, tools=tools)
        except ValueError as error:
            yield Problem(file.shown, f"{place}: {error}.")
    if not number:
        tally.add("files without a conversation")


def _values(file: ChatFile, problems: list[Problem], tally: Tally) -> Iterator[Any]:
    """The values of a JSON file; where it is cut off or damaged after the first, those before it."""
    is_first = True
    try:
        for value in json_values(file, tally.add):
            is_first = False
            yield value
    except InvalidInput as error:
        if is_first:
            raise
        problems.append(_unread(file, error, " What follows is not read."))


def _placed(file: ChatFile, problems: list[Problem], tally: Tally) -> Iterator[tuple[str, Any]]:
    """The values of a file with their places; lines that are not JSON become problems."""
    if not file.has_lines:
        for number, value in enumerate(_values(file, problems, tally), start=1):
            yield f"message {number}", value
        return
    for line in json_lines(file, tally.add):
        if isinstance(line, Problem):
            problems.append(line)
        else:
            yield line


def _drafts(
    found: Iterable[Conversation | Problem], path: Path, target: Target, tally: Tally
) -> Iterator[Item]:
    seen: Seen = {}
    for conversation in found:
        yield from conversation_drafts(conversation, path, target, seen, tally)
    yield from tally.skipped()
