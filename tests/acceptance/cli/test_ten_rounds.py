"""Recall does not feed on itself: what it adds to prompts is not captured, in the form of any editor."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.faces.editors.hooks import HOOKS, HookedEditor
from tests.acceptance.cli.editor_tools import FERRY, editor, stop, warm
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows")


def as_written(name: str, number: int, asked: str, added: str) -> list[dict[str, Any]]:
    """The lines of a prompt in the transcript of an editor, with what its hook added.

    Codex writes that as a message of the developer, Gemini CLI in a tag; of the others it is not documented,
    and the worst is taken: the user's own words.
    """
    user, own, both = f"u{number}", f"h{number}", f"{asked}\n{added}"
    match name:
        case "codex":
            said = (("user", asked), ("developer", f"<hook_context>\n{added}\n</hook_context>"))
            return [
                {"type": "response_item", "payload": {
                    "type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}}
                for role, text in said
            ]  # fmt: skip
        case "gemini":
            tagged = f"<hook_context>{html.escape(added)}</hook_context>"
            head = {"sessionId": f"s{number}", "projectHash": "p"}
            parts = [{"text": asked}, {"text": tagged}]
            return [head, {"id": user, "type": "user", "content": parts},
                    {"id": own, "type": "user", "content": [{"text": tagged}]}]  # fmt: skip
        case "cursor":
            text = f"{added}\n<user_query>\n{both}\n</user_query>"
            return [{"role": "user", "message": {"content": [{"type": "text", "text": text}]}}]
        case "vscode":
            return [
                {"type": "user.message", "id": one, "parentId": None, "data": {"content": text}}
                for one, text in ((user, both), (own, added))
            ]
        case _:
            return [
                {"type": "user", "uuid": one, "sessionId": "s", "message": {"role": "user", "content": text}}
                for one, text in ((user, both), (own, added))
            ]


@pytest.mark.parametrize("name", HOOKS)
def test_ten_rounds_of_recall_and_capture_store_nothing_that_was_recalled(
    name: HookedEditor, memory: Memory, database_url: str, tmp_path: Path
) -> None:
    memory.remember(FERRY)
    made = editor(name, tmp_path, database_url, "--capture")
    question, texts = "Where does the ferry berth?", []
    try:
        warm(made)
        for number in range(10):
            texts.append(made.gets(question, session_id=f"round-{number}"))
            lines = as_written(name, number, question, texts[-1])
            transcript = tmp_path / f"round-{number}.jsonl"
            transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
            assert made.hook(HOOKS[name].end, transcript_path=str(transcript)).code == 0
            expected = [FERRY, *[question] * (number + 1)]
            until(lambda: stored(memory) == expected, "the import of the session")  # noqa: B023 - called at once
    finally:
        stop(made)
    assert all(FERRY in text for text in texts)
    assert len({re.sub(r"\d+", "N", text) for text in texts}) == 1


def stored(memory: Memory) -> list[str]:
    return sorted((one.body for one in memory.list(limit=50)), key=len, reverse=True)
