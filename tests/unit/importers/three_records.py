"""Three plain records in every format that is imported, of which tests spoil the middle one."""

from __future__ import annotations

import copy
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pgrecall.importers.detect import SourceKind
from tests.unit.importers import chat_forms
from tests.unit.importers.chat_forms import write_json, write_lines

BODIES = ("The first lock opens at noon.", "The second lock is shut.", "The third lock leaks.")
TIMES = ("2026-03-06T07:00:01Z", "2026-03-06T07:00:02Z", "2026-03-06T07:00:03Z")

_OURS = {
    "title": "A lock", "layer": "entity", "author": "Ada", "role": "user", "tags": ["water"],
    "aliases": ["gate"], "pinned": True, "session_id": "s", "valid_from": "2026-01-01",
    "valid_until": "2027-01-01", "expires_at": "2028-01-01",
}  # fmt: skip
_NOTE = {**_OURS, "date": "2026-03-06", "up": "[[hub]]"}
_JSONL = {
    **_OURS, "context": "the canal", "source": None, "metadata": {"n": 1}, "occurred_at": "2026-03-06",
    "links": ["other", {"target": "hub", "relation": "supports", "weight": 2}],
}  # fmt: skip
_MEM0 = {
    "user_id": "ann", "agent_id": None, "run_id": "r", "role": "user", "metadata": {"room": "lock"},
    "categories": ["water"], "created_at": TIMES[0], "updated_at": TIMES[1], "expiration_date": "2028-01-01",
}  # fmt: skip
_HINDSIGHT = {
    "fact_type": "experience", "context": "canal", "document_id": "d", "occurred_start": TIMES[0],
    "occurred_end": "", "mentioned_at": TIMES[1], "date": TIMES[1], "entities": "Ada (PERSON), Lock",
    "tags": ["water"], "metadata": {"from": "slack"}, "state": "valid",
}  # fmt: skip


def records(kind: str) -> list[Any]:
    """Three records with the texts of BODIES, each with all fields that its format has."""
    return [copy.deepcopy(_record(kind, number, body)) for number, body in enumerate(BODIES)]


def _record(kind: str, number: int, body: str) -> Any:  # noqa: C901 -- one case for each format
    at = TIMES[number]
    match kind:
        case "markdown":
            return {"body": body, **_NOTE}
        case "jsonl":
            return {"key": f"k{number}", "body": body, **_JSONL}
        case "mem0":
            return {"id": f"m{number}", "memory": body, **_MEM0}
        case "hindsight":
            return {"id": f"f{number}", "text": body, **_HINDSIGHT}
        case "chatgpt":
            return chat_forms.gpt_conversation(f"c{number}", [chat_forms.gpt_message("m", "user", body)])
        case "claude":
            message = chat_forms.claude_message("m", "human", body, at)
            return {"uuid": f"c{number}", "name": "Locks", "created_at": at, "chat_messages": [message]}
        case "claude-code":
            return chat_forms.code_line(f"u{number}", "user", body, at)
        case "codex":
            content = [{"type": "input_text", "text": body}]
            return {
                "timestamp": at,
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": content},
            }
        case "cursor":
            return {"role": "user", "message": {"content": [{"type": "text", "text": body}]}}
        case "gemini":
            return chat_forms.gemini_message(f"g{number}", "user", [{"text": body}], at)
        case "vscode":
            return {"type": "user.message", "data": {"content": body, "attachments": []}, "id": f"e{number}",
                    "timestamp": at, "parentId": None}  # fmt: skip
        case "locomo":
            turns = [{"speaker": "Ada", "dia_id": "D1", "text": body}]
            dated = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
            return {"sample_id": f"s{number}", "conversation": dated}
    if kind in OTHERS:
        return OTHERS[kind](f"c{number}", body, at)
    return {"role": "user", "content": body, "timestamp": at, "id": f"i{number}", "name": "Ada"}


def _open_webui(own: str, body: str, at: str) -> Any:
    message = {"id": "m", "role": "user", "content": body, "timestamp": at, "parentId": None}
    history = {"currentId": "m", "messages": {"m": {**message, "childrenIds": []}}}
    chat = {"messages": [message], "history": history}
    return {"id": own, "title": "Locks", "created_at": at, "chat": chat}


def _deepseek(own: str, body: str, at: str) -> Any:
    message = {"inserted_at": at, "fragments": [{"type": "REQUEST", "content": body}]}
    tree = {
        "root": {"parent": None, "children": ["1"], "message": None},
        "1": {"parent": "root", "children": [], "message": message},
    }
    return {"id": own, "title": "Locks", "mapping": tree}


def _opencode(own: str, body: str, at: str) -> Any:
    info = {"id": "m", "role": "user", "time": {"created": at}}
    parts = [{"type": "text", "text": body}]
    return {"info": {"id": own, "title": "Locks"}, "messages": [{"info": info, "parts": parts}]}


OTHERS: dict[str, Callable[[str, str, str], Any]] = {
    "graph": lambda own, body, at: {
        "type": "entity", "name": own, "entityType": "place", "observations": [body], "created_at": at},
    "Open WebUI": _open_webui,
    "LibreChat": lambda own, body, at: {"conversationId": own, "title": "Locks", "messages": [
        {"messageId": "m", "text": body, "isCreatedByUser": True, "createdAt": at, "children": []}]},
    "Grok": lambda own, body, at: {"conversation": {"id": own, "title": "Locks"}, "responses": [
        {"response": {"_id": "m", "sender": "human", "message": body, "create_time": {"$date": at}}}]},
    "DeepSeek": _deepseek,
    "Takeout": lambda _, body, at: {
        "header": "Gemini Apps", "title": f"Prompted {body}", "time": at, "safeHtmlItem": []},
    "SillyTavern": lambda _, body, at: {"name": "Ada", "is_user": True, "mes": body, "send_date": at},
    "Pi": lambda own, body, at: {"type": "message", "id": own, "timestamp": at, "message": {
        "role": "user", "content": [{"type": "text", "text": body}]}},
    "Kimi": lambda _, body, at: {"type": "context.append_message", "time": at, "message": {
        "role": "user", "content": [{"type": "text", "text": body}], "origin": {"kind": "user"}}},
    "opencode": _opencode,
    "ShareGPT": lambda own, body, _: {"id": own, "conversations": [{"from": "human", "value": body}]},
    "Copilot": lambda own, body, at: {"responderUsername": "Copilot", "customTitle": own, "requests": [
        {"requestId": own, "timestamp": at, "message": {"text": body}, "response": [{"value": ""}]}]},
    "Continue": lambda own, body, _: {"sessionId": own, "title": "Locks", "history": [
        {"message": {"role": "user", "content": body}}]},
}  # fmt: skip
"""A conversation, a message or a record of other programs, by its id, text and time."""

KINDS = (
    "markdown", "jsonl", "mem0", "hindsight", "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini",
    "vscode", "locomo", "list", "lines", *OTHERS,
)  # fmt: skip

FORMATS: dict[str, SourceKind] = {
    **{kind: cast(SourceKind, kind) for kind in KINDS},
    **dict.fromkeys((*OTHERS, "list", "lines", "locomo"), "chat"),
    "graph": "jsonl",
}
"""What each kind is imported as."""


def write(kind: str, folder: Path, values: Sequence[Any]) -> Path:
    """A file, or for notes a folder, with these records."""
    if kind == "markdown":
        return _write_notes(folder / "vault", values)
    if kind in (
        "jsonl", "claude-code", "codex", "cursor", "gemini", "vscode", "lines", "graph", "SillyTavern",
        "Pi", "Kimi",
    ):  # fmt: skip
        head: list[Any] = [chat_forms.gemini_session()[0]] if kind == "gemini" else []
        return write_lines(folder / "a.jsonl", [*head, *values])
    return write_json(folder / ("conversations.json" if kind in ("chatgpt", "claude") else "a.json"), values)


def _write_notes(folder: Path, values: Sequence[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, value in enumerate(values):
        fields = value if isinstance(value, dict) else {"body": BODIES[1], "whole": value}
        block = "\n".join(f"{name}: {_yaml(fields[name])}" for name in fields if name != "body")
        body = fields.get("body")
        text = f"---\n{block}\n---\n{body if isinstance(body, str) else json.dumps(body)}\n"
        path = folder / f"n{number}.md"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def _yaml(value: Any) -> str:
    """The value as YAML; a text that needs no quotes is written without, as people do."""
    plain = isinstance(value, str) and value[:1].isalnum() and value.isprintable() and ": " not in value
    return value if plain else json.dumps(value)


def write_archive(path: Path, entries: dict[str, bytes]) -> Path:
    """A ZIP archive with these entries."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path
