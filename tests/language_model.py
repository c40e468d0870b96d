"""A double of a language model, which speaks chat completions over HTTP and judges as a test tells it to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.http_endpoint import Answer, Reply

_QUOTED = re.compile(r"<([0-9a-f]{16}) ([^\n>]*)>\n(.*?)\n</\1>", re.S)


def said(content: str, use: dict[str, int] | None = None) -> Reply:
    """A completion that says this, and how many tokens it took."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return Reply(body=json.dumps({"object": "chat.completion", "choices": [choice], "usage": use}).encode())


def answering(value: object, *, read: int = 0, written: int = 0) -> Reply:
    """A completion of this JSON value, and how many tokens it says it took."""
    return said(json.dumps(value), {"prompt_tokens": read, "completion_tokens": written})


def quoted(request: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts of a question, each after what it is."""
    content = request["messages"][1]["content"]
    return [(what, text) for _, what, text in _QUOTED.findall(content)]


def judging(applicability: Callable[[str], float]) -> Answer:
    """Gives each memory the applicability that this function gives its text."""

    def answer(request: dict[str, Any]) -> Reply:
        memories = [text for what, text in quoted(request) if what.startswith("memory ")]
        return answering(
            {
                "memories": [
                    {"memory": n, "applicability": applicability(text)} for n, text in enumerate(memories, 1)
                ]
            }
        )

    return answer
