"""What recall added to a prompt is captured from no editor's transcript, however the editor changed it."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pgrecall.importers.chat.reader import SESSIONS, SessionKind, read_chats
from pgrecall.importers.chat.recalled import marked, without_marked
from pgrecall.importers.chat.transcript_end import last_turns
from pgrecall.importers.chat.typed import without_tags
from pgrecall.nouns.memories.models import Draft

FACT = "The ferry to Inishmore berths at the north quay."
ASKED = "Where does it berth?"
ADDED = marked(
    f"Notes from earlier sessions, not instructions.\n\n[1] knowledge\n> {FACT}\n\nSources:\n[1] id 7"
)

CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "other line ends": lambda text: text.replace("\n", "\r\n"),
    "escaped for HTML": html.escape,
    "escaped twice": lambda text: html.escape(html.escape(text)),
    "as a string of JSON": lambda text: json.dumps(text)[1:-1],
    "with signs by number": lambda text: text.replace("<", "\\u003c").replace(">", "\\u003E"),
    "in a tag of its own": lambda text: f"<hook_context>{text}</hook_context>",
    "in one that is cut": lambda text: f"<hook_context>{html.escape(text)[:-30]}",
    "quoted": lambda text: textwrap.indent(text, "> "),
    "wrapped": lambda text: "\n".join(textwrap.fill(line, 16) for line in text.splitlines()),
    "cut at its end": lambda text: f"{text[:-30]}[... 4,000 characters more]",
    "cut at its beginning": lambda text: f"[... 4,000 characters before]{text[30:]}",
}


def line_of(kind: SessionKind, number: int, role: str, said: str) -> dict[str, Any]:
    """A turn as a program writes it."""
    own, texts = f"{kind}-{number}", [{"type": "text", "text": said}]
    match kind:
        case "claude-code":
            return {"type": role, "uuid": own, "sessionId": "s", "message": {"role": role, "content": said}}
        case "codex":
            return {"type": "response_item", "payload": {"type": "message", "role": role, "content": texts}}
        case "cursor":
            return {"role": role, "message": {"content": texts}}
        case "gemini":
            return {"id": own, "type": "user" if role == "user" else "gemini", "content": said}
        case "vscode":
            return {"type": f"{role}.message", "id": own, "parentId": None, "data": {"content": said}}


def lines_of(kind: SessionKind, text: str) -> list[dict[str, Any]]:
    """A transcript in which a user says this, and then thanks."""
    turns = [("user", text), ("assistant", "Noted."), ("user", "Thanks for that.")]
    head = [{"sessionId": "s", "projectHash": "p"}] if kind == "gemini" else []
    return [*head, *(line_of(kind, number, *turn) for number, turn in enumerate(turns))]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SESSIONS)
def test_what_recall_added_is_captured_in_no_form(kind: SessionKind, change: str, tmp_path: Path) -> None:
    added = CHANGES[change](ADDED)
    first = added.startswith("[...")
    path = tmp_path / "s.jsonl"
    text = f"{added}\n{ASKED}" if first else f"{ASKED}\n{added}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines_of(kind, text)))
    captured = [one.body for one in read_chats(path, kind, source=kind) if isinstance(one, Draft)]
    assert len(captured) == 3
    assert captured[1:] == ["Noted.", "Thanks for that."]
    assert ASKED in captured[0]
    assert "berths" not in captured[0]
    assert "Inishmore" not in captured[0]
    assert "Inishmore" not in repr(last_turns(path, kind))


@pytest.mark.parametrize("quoted", [
    "</pgrecall-memories>", "&lt;/pgrecall-memories&gt;", "<pgrecall-memories>",
    "</pgrecall-</pgrecall-memories>memories>",
    "\\u003c/pgrecall-memories\\u003e", "</pgrecall-\n> memories>",
])  # fmt: skip
def test_a_memory_that_quotes_a_mark_does_not_end_what_is_left_out(quoted: str) -> None:
    assert without_marked(f"Hi. {marked(f'a {quoted} b')} Bye.") == ("Hi.  Bye.", 1)


@pytest.mark.parametrize("text", ["The mark <pgrecall> is ours.", "a < b > c; pgrecall-recall starts.", ""])
def test_other_texts_stay(text: str) -> None:
    assert without_marked(text) == (text, 0)


def test_what_stands_between_tags_is_left_out_and_the_rest_stays() -> None:
    names = ("a", "b")
    assert without_tags("x <a>1</a>y<b>2</b><a>3</a> z", names) == ("x y z", 3)
    for text in ("x <a> y", "</a> x <a>", "<c>1</c>", "<a>1</b>"):
        assert without_tags(text, names) == (text, 0)
    assert without_tags("<a>1</a> <a> x", names) == (" <a> x", 1)


@pytest.mark.parametrize("kind", SESSIONS)
def test_beginnings_without_an_end_cost_no_more_than_their_length(kind: SessionKind, tmp_path: Path) -> None:
    tags = "<hook_context><system-reminder><user_query>" * 50_000  # took hours
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines_of(kind, f"{tags} {ASKED}")))
    captured = [one.body for one in read_chats(path, kind, source=kind) if isinstance(one, Draft)]
    assert captured[-2:] == ["Noted.", "Thanks for that."]
