"""Session files of Claude Code: JSON Lines, one event each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgrecall.importers.chat.claude import tool_text
from pgrecall.importers.chat.turns import (
    ATTACHMENTS,
    BOOKKEEPING,
    EMPTY,
    HIDDEN,
    IMAGES,
    SUBAGENTS,
    THINKING,
    TOOLS,
    Conversation,
    Tally,
    Turn,
    dated,
    kind_of,
    list_of,
    of_type,
    role_of_sender,
)

COMMANDS = "commands and their output"

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
_BOOKKEEPING = frozenset({
    "system", "file-history-snapshot", "queue-operation", "progress", "attachment", "last-prompt",
    "permission-mode", "agent-name", "tag", "pr-link", "mode", "summary", *_TITLES,
})  # fmt: skip
_COMMAND = re.compile(
    r"<(command-name|command-message|command-args|local-command-stdout|local-command-stderr"
    r"|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification)>"
)
_ADDED = re.compile(r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"


def is_claude_code(value: object) -> bool:
    """Whether a line looks like one of a session of Claude Code."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in ("user", "assistant"):
        return isinstance(value.get("message"), dict) and "uuid" in value
    return isinstance(kind, str) and ("sessionId" in value or (kind == "summary" and "leafUuid" in value))


def session_title(values: Iterable[Any]) -> str:
    """The title of a session: of the person, else of the model, else the summary of one of its turns."""
    names: set[object] = set()
    summaries: dict[str, str] = {}
    titles: dict[str, str] = {}
    for value in values:
        if not isinstance(value, dict):
            continue
        kind = kind_of(value)
        if isinstance(value.get("uuid"), str):
            names.add(value["uuid"])
        title = value.get(_TITLES.get(kind, "summary"))
        if kind in _TITLES and isinstance(title, str):
            titles[kind] = title.strip()
        elif kind == "summary" and isinstance(title, str) and isinstance(value.get("leafUuid"), str):
            summaries[value["leafUuid"]] = title.strip()
    of_ours = [title for leaf, title in summaries.items() if leaf in names]
    return titles.get("custom-title") or titles.get("ai-title") or (of_ours[-1] if of_ours else "")


def read_claude_code(
    values: Iterable[tuple[str, Any]], name: str, title: str, tally: Tally, *, tools: bool
) -> Iterator[Conversation]:
    """The session in a file called ``name``, with its turns in the order of the file.

    With ``tools``, those of its sub-agents follow, each as a separate session.
    """
    held: dict[str, list[Turn]] = {}
    for place, value in values:
        found = _turn(value, name, place, tally, tools)
        if found is not None:
            held.setdefault(found[0], []).append(found[1])
    for session, turns in held.items():
        yield Conversation(session, dated(turns, None, tally), title=title)


def _turn(value: Any, name: str, place: str, tally: Tally, tools: bool) -> tuple[str, Turn] | None:
    """A line's session and turn; None if it is left out."""
    kind = kind_of(value)
    message = value.get("message") if isinstance(value, dict) else None
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        tally.add(BOOKKEEPING if kind in _BOOKKEEPING else of_type("lines", kind))
        return None
    role, own = role_of_sender(message.get("role") or kind), value.get("uuid")
    if role is None or not isinstance(own, str) or not own:
        tally.add("messages without role or uuid")
        return None
    if value.get("isSidechain") and not tools:
        tally.add(SUBAGENTS)
        return None
    if _is_hidden(value, message):
        tally.add(HIDDEN)
        return None
    before = sum(1 for block in list_of(message.get("content")) if _is_tool(block))
    text = "\n\n".join(_texts(message.get("content"), tally, tools)).strip()
    if not text:
        if not list_of(message.get("content")):
            tally.add(EMPTY)
        return None
    if _COMMAND.match(text) or text.startswith(_INTERRUPTED):
        tally.add(COMMANDS)
        return None
    session = value.get("sessionId") if isinstance(value.get("sessionId"), str) else name
    agent = value.get("agentId") if value.get("isSidechain") else None
    results = tools and role == "user" and before > 0
    kept = {"model": message.get("model"), "project": value.get("cwd"), "branch": value.get("gitBranch")}
    return f"claude-code/{session}" + (f"/{agent}" if isinstance(agent, str) else ""), Turn(
        key=f"claude-code/{own}",
        author="tool" if results else role,
        text=text,
        place=place,
        role="tool" if results else role,
        at=tally.time(value.get("timestamp")),
        metadata={key: text for key, text in kept.items() if isinstance(text, str) and text},
    )


def _is_hidden(value: dict[str, Any], message: dict[str, Any]) -> bool:
    marks = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
    return any(value.get(mark) for mark in marks) or message.get("model") == "<synthetic>"


def _is_tool(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")


def _texts(content: object, tally: Tally, tools: bool) -> Iterator[str]:
    """The texts of a message without additions of the program; other parts are counted."""
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content):
        kind = kind_of(block)
        if kind == "text" and isinstance(block.get("text"), str):
            text, removed = _ADDED.subn("", block["text"])
            tally.add("notes that the program added", removed)
            if text.strip():
                yield text.strip()
        elif _is_tool(block) and tools:
            yield tool_text(block)
        elif _is_tool(block):
            tally.add(TOOLS)
        elif kind in ("thinking", "redacted_thinking"):
            tally.add(THINKING)
        elif kind == "image":
            tally.add(IMAGES)
        elif kind == "document":
            tally.add(ATTACHMENTS)
        else:
            tally.add(of_type("content", kind))
