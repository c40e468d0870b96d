"""Chats of other programs in their own words, as ``{"messages": [{role, content}]}``.

Each program has a function below that knows its form by names which others do not use.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pgrecall.importers.chat.agent_forms import AGENT_FORMS
from pgrecall.importers.chat.turns import kind_of, list_of, shown_branch

_Object = dict[str, Any]

_LISTS = ("conversations", "loglines", "chats", "data", "agents")
"""Names of the list that is an export: of Grok, of a session saved from Claude's web page, of TypingMind,
of Open WebUI, of Letta."""

_NAMES_OF_MESSAGES = ("conversations", "conversation", "contents", "history", "dialogue")
_HTML_BREAK = re.compile(r"<(?:br|/p|/li|/h[1-6]|/tr|/pre)\b[^<>]{0,200}>", re.IGNORECASE)
_HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")


def held_in(value: Any) -> list[Any] | None:
    """The conversations of an export that is one object; None if it is none."""
    if not isinstance(value, dict) or "messages" in value or _of_named_list(value):
        return None
    for name in _LISTS:
        found = value.get(name)
        if isinstance(found, dict) and (inside := held_in(found)) is not None:
            return inside
        if isinstance(found, list):
            return found
    sessions = [one for name, one in value.items() if name.startswith("session:")]  # Chatbox
    return sessions or None


def as_messages(value: Any) -> Any:
    """A conversation or a message of these programs in the usual form; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return next((found for form in _FORMS if (found := form(value)) is not None), value)


def is_request_list(value: Any) -> bool:
    """Whether it is a chat of VS Code, which has a list of requests."""
    listed = isinstance(value, dict) and isinstance(value.get("requests"), list)
    return listed and "responderUsername" in value


def of_requests(value: _Object) -> _Object | None:
    """A chat as VS Code exports and keeps it."""
    asked = list_of(value.get("requests"))
    if not is_request_list(value) or not all(isinstance(one, dict) for one in asked):
        return None
    return _conversation([turn for one in asked for turn in _asked(one)], title=value.get("customTitle"))


def _conversation(messages: Iterable[Any], branches: int = 0, **fields: Any) -> _Object:
    """A conversation; ``branches`` is the number of its messages that were not shown last."""
    given = {name: field for name, field in fields.items() if field not in (None, "")}
    return given | {"messages": list(messages)} | ({"branches": branches} if branches else {})


def _without(value: _Object, *names: str) -> _Object:
    return {name: field for name, field in value.items() if name not in names}


def _of_gemini_cli(value: _Object) -> _Object | None:
    """A message that Gemini CLI saves as ``{role, parts}``."""
    if "role" not in value or "content" in value or not isinstance(value.get("parts"), list):
        return None
    return _without(value, "parts") | {
        "content": [_typed(part) for part in value["parts"] if not _is_call(part)]
    }


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.keys() & {"functionCall", "functionResponse", "thought"})


def _typed(part: Any) -> Any:
    return part | {"type": "text"} if isinstance(part, dict) and "text" in part else part


def _of_named_list(value: _Object) -> _Object | None:
    """Messages under another name than ``messages``; ShareGPT names senders ``from`` and texts ``value``."""
    for name in _NAMES_OF_MESSAGES if "messages" not in value else ():
        said = list_of(value.get(name))
        if said and all(
            isinstance(one, dict) and ("role" in one or {"from", "value"} <= one.keys()) for one in said
        ):
            messages = [
                one if "role" in one
                else _without(one, "from", "value") | {"role": one["from"], "content": one["value"]}
                for one in said
            ]  # fmt: skip
            return _without(value, name) | {"messages": messages}
    return None


def _asked(request: _Object) -> Iterator[_Object]:
    """What a person asked and was answered, in VS Code. Parts with a kind are progress and tools."""
    own, at, message = (request.get(name) for name in ("requestId", "timestamp", "message"))
    text = message.get("text") if isinstance(message, dict) else message
    answer = "".join(map(_answered, list_of(request.get("response"))))
    ids = {"user": f"{own}-request", "assistant": f"{own}-response"} if isinstance(own, str) and own else {}
    for role, content in (("user", text), ("assistant", answer)):
        named = {"id": ids[role]} if ids else {}
        yield named | {"role": role, "content": content, "timestamp": at}


def _answered(part: Any) -> str:
    if not isinstance(part, dict) or part.get("kind") not in (None, "markdownContent"):
        return ""
    text = part.get("value", part.get("content"))
    text = text.get("value") if isinstance(text, dict) else text
    return text if isinstance(text, str) else ""


def _of_open_webui(value: _Object) -> _Object | None:
    """Open WebUI keeps the branch that was shown last as a list, and all messages as a tree."""
    chat = value.get("chat")
    history = chat.get("history") if isinstance(chat, dict) else None
    if not isinstance(chat, dict) or not ("messages" in chat or isinstance(history, dict)):
        return None
    history = history if isinstance(history, dict) else {}
    every = history.get("messages")
    tree = every if isinstance(every, dict) else {}
    shown = list_of(chat.get("messages")) or [
        tree[name] for name in shown_branch(tree, history.get("currentId"), "parentId", "childrenIds")
    ]
    return _conversation(
        map(_said_in_open_webui, shown), max(len(tree) - len(shown), 0), id=value.get("id"),
        title=value.get("title") or chat.get("title"), created_at=value.get("created_at"),
    )  # fmt: skip


def _said_in_open_webui(message: Any) -> Any:
    """A message; Qwen, which descends from it, has answers in pieces, one of them what the model thought."""
    if not isinstance(message, dict):
        return message
    kept = {name: message[name] for name in ("id", "role", "content", "timestamp") if name in message}
    pieces = [one for one in list_of(message.get("content_list")) if isinstance(one, dict)]
    if pieces and not kept.get("content"):
        kept["content"] = [
            {"type": "thinking" if one.get("phase") == "think" else "text", "text": one.get("content")}
            for one in pieces
        ]
    return kept


def _of_librechat(value: _Object) -> _Object | None:
    """LibreChat exports messages as a list, or each with its answers as ``children``."""
    if "conversationId" not in value or not isinstance(value.get("messages"), list):
        return None
    messages: list[Any] = []
    branches = 0
    level = value["messages"]
    while level:
        nested = [one for one in level if isinstance(one, dict) and list_of(one.get("children"))]
        branches += len(level) - 1 if nested else 0
        shown = nested[-1:] or level
        messages += shown
        level = nested[-1]["children"] if nested else []
    return _conversation(
        map(_said_in_librechat, messages), branches, id=value["conversationId"], title=value.get("title")
    )


def _said_in_librechat(message: Any) -> Any:
    if not isinstance(message, dict) or "isCreatedByUser" not in message:
        return message
    role = "user" if message["isCreatedByUser"] else "assistant"
    text = message.get("text") or message.get("content")
    own, at = message.get("messageId"), message.get("createdAt")
    return {"id": own, "role": role, "content": text, "created_at": at}


def _of_grok(value: _Object) -> _Object | None:
    """Grok has responses apart from their conversation."""
    about, responses = value.get("conversation"), value.get("responses")
    if not isinstance(about, dict) or not isinstance(responses, list):
        return None
    said = [one.get("response") for one in responses if isinstance(one, dict)]
    messages = [
        {
            "id": one.get("_id"), "role": "user" if one.get("sender") == "human" else "assistant",
            "content": one.get("message"), "timestamp": one.get("create_time"),
        }
        for one in said if isinstance(one, dict)
    ]  # fmt: skip
    return _conversation(
        messages, id=about.get("id"), title=about.get("title"), created_at=about.get("create_time")
    )


def _of_deepseek(value: _Object) -> _Object | None:
    """DeepSeek has a tree as ChatGPT has, of messages in fragments: what was asked, thought and answered."""
    tree = value.get("mapping")
    if not isinstance(tree, dict) or not any(isinstance(_fragments(node), list) for node in tree.values()):
        return None
    shown = shown_branch(tree, None, "parent", "children")
    messages = [said for name in shown if (said := _said_in_deepseek(name, tree[name]))]
    every = sum(isinstance(_fragments(node), list) for node in tree.values())
    return _conversation(
        messages, every - len(messages), id=value.get("id"), title=value.get("title"),
        created_at=value.get("inserted_at"),
    )  # fmt: skip


def _fragments(node: Any) -> Any:
    message = node.get("message") if isinstance(node, dict) else None
    return message.get("fragments") if isinstance(message, dict) else None


def _said_in_deepseek(name: str, node: Any) -> _Object | None:
    fragments = [one for one in list_of(_fragments(node)) if isinstance(one, dict)]
    if not isinstance(_fragments(node), list):
        return None
    said = {"REQUEST": "user", "RESPONSE": "assistant"}
    content = [
        {"type": "text", "text": one.get("content")}
        if kind_of(one) in said else {"type": kind_of(one).lower()}
        for one in fragments
    ]  # fmt: skip
    role = "user" if any(one.get("type") == "REQUEST" for one in fragments) else "assistant"
    return {"id": name, "role": role, "content": content, "timestamp": node["message"].get("inserted_at")}


def _of_takeout(value: _Object) -> _Object | None:
    """What Google Takeout has of Gemini: a prompt as a title, and the answer as HTML."""
    if not isinstance(value.get("title"), str) or "time" not in value or "header" not in value:
        return None
    items = list_of(value.get("safeHtmlItem"))
    answer = "\n".join(str(one.get("html", "")) for one in items if isinstance(one, dict))
    asked = value["title"].removeprefix("Prompted ")
    messages = [{"role": "user", "content": asked, "timestamp": value["time"]}]
    if answer:
        messages.append({"role": "assistant", "content": _plain(answer)})
    return _conversation(messages, id=value["time"], created_at=value["time"])


def _plain(markup: str) -> str:
    """The text of a piece of HTML."""
    return html.unescape(_HTML_TAG.sub("", _HTML_BREAK.sub("\n", markup))).strip()


def _of_sillytavern(value: _Object) -> _Object | None:
    """A line of SillyTavern; the first has names and settings, and no text."""
    if "chat_metadata" in value or {"user_name", "character_name"} <= value.keys():
        return {"role": "system", "content": ""}
    if "mes" not in value or "is_user" not in value:
        return None
    role = "user" if value["is_user"] else "assistant"
    return {
        "role": role, "name": value.get("name"), "content": value["mes"], "timestamp": value.get("send_date")
    }  # fmt: skip


def _renamed(value: _Object) -> _Object | None:
    """Chats with other names of fields: Continue, TypingMind, Chatbox, Zep, Mistral, AI Studio."""
    if isinstance(value.get("history"), list) and "sessionId" in value:
        said = [one.get("message") for one in value["history"] if isinstance(one, dict)]
        return _conversation(said, id=value["sessionId"], title=value.get("title"))
    if "chatTitle" in value and isinstance(value.get("messages"), list):
        return _conversation(
            value["messages"], id=value.get("chatID"), title=value["chatTitle"],
            created_at=value.get("createdAt"),
        )  # fmt: skip
    match value:
        case {"chunkedPrompt": {"chunks": list(chunks)}}:
            return _conversation(map(_said_in_ai_studio, chunks))
    if "role" not in value:
        return None
    if value.get("role_type"):
        given = {"role": value["role_type"], "name": value["role"], "id": value.get("uuid")}
        return _without(value, "role_type", "uuid") | given
    texts = [name for name in ("say", "contentParts", "contentChunks") if value.get(name)]
    if not texts or value.get("content"):
        return None
    return _without(value, *texts) | {"content": value[texts[0]]}


def _said_in_ai_studio(chunk: Any) -> Any:
    """A piece of a chat in Google AI Studio, which has the thoughts of the model as pieces of their own."""
    match chunk:
        case {"role": role, "text": text}:
            kind = "thinking" if chunk.get("isThought") else "text"
            return {"role": role, "content": [{"type": kind, "text": text}], "time": chunk.get("createTime")}
    return chunk


_FORMS: Sequence[Callable[[_Object], _Object | None]] = (
    _of_gemini_cli, _of_named_list, of_requests, _of_open_webui, _of_librechat, _of_grok, _of_deepseek,
    _of_takeout, _of_sillytavern, *AGENT_FORMS, _renamed,
)  # fmt: skip
