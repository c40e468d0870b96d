"""Runs in the Python of Hermes Agent: its memory manager loads our provider and plays two conversations.

Prints what a turn got, what the tools returned and which providers were found, as JSON.
"""

from __future__ import annotations

import json
import os
import sys

from agent.memory_manager import MemoryManager  # type: ignore[import-not-found]
from plugins.memory import discover_memory_providers, load_memory_provider  # type: ignore[import-not-found]

WHAT, SECRET = sys.argv[1:]


def conversation(session: str, **options: object) -> MemoryManager:
    """Our provider in a manager, as Hermes sets them up for a conversation."""
    manager = MemoryManager()
    manager.add_provider(load_memory_provider("pgrecall"))
    manager.initialize_all(session_id=session, hermes_home="", platform="cli", **options)
    return manager


def called(manager: MemoryManager, tool: str, **arguments: object) -> object:
    """What a tool returns to the model."""
    return json.loads(manager.handle_tool_call(tool, arguments))


def refused() -> None:
    """One turn with a service that refuses everything."""
    manager = conversation("refused")
    recalled = manager.prefetch_all("When does the ferry leave?", session_id="refused")
    manager.sync_all("At nine.", "Noted.", session_id="refused")
    manager.flush_pending()
    searched = called(manager, "recall", query="When does the ferry leave?")
    manager.shutdown_all()
    sys.stdout.write(json.dumps({"recalled": recalled, "searched": searched}))


def hostile() -> None:
    """A turn and each tool with each answer of a service that is none; its key says which it gives."""
    told = {}
    half = "a " * 1999 + SECRET + " is it \ud83d \x00?"
    for answer in SECRET.split():
        os.environ["PGRECALL_KEY"] = answer
        manager = conversation(answer)
        recalled = manager.prefetch_all(half, session_id=answer)
        arguments = {"query": half, "text": half, "search_id": 1, "memories": [1], "memory": "none"}
        tools = [called(manager, one["name"], **arguments) for one in manager.get_all_tool_schemas()]
        manager.shutdown_all()
        told[answer] = {"recalled": recalled, "tools": tools}
    sys.stdout.write(json.dumps(told))


def conversations() -> None:
    """Two conversations, and one of a timer."""
    found = {name: ready for name, _, ready in discover_memory_providers()}
    first = conversation("first")
    nothing = first.prefetch_all("When does the ferry to Odda leave?", session_id="first")
    first.sync_all("The ferry to Odda leaves at half past nine.", "Noted.", session_id="first")
    first.sync_all(f"My key is {SECRET}", "I have not kept it.", session_id="first")
    first.flush_pending()
    same = first.prefetch_all("When does the ferry to Odda leave?", session_id="first")
    kept = called(first, "recall_remember", text="The gate code is 4711.", key="gate")
    first.shutdown_all()

    timer = conversation("timer", agent_context="cron")
    timer.sync_all("The ferry to Odda is cancelled.", "Noted.", session_id="timer")
    timer.flush_pending()
    timer.shutdown_all()

    second = conversation("second")
    recalled = second.prefetch_all("When does the ferry to Odda leave?", session_id="second")
    second.prefetch_all("a " * 1_990 + SECRET, session_id="second")
    searched = called(second, "recall", query="What is the gate code?")
    assert isinstance(searched, dict), searched
    [best, *_] = searched["memories"]
    used = called(second, "recall_used", search_id=searched["search_id"], memories=[best["id"]])
    wrong = called(second, "recall_used", search_id=searched["search_id"])
    gone = called(second, "recall_forget", memory=best["id"])
    again = called(second, "recall", query="What is the gate code?")
    second.shutdown_all()
    names = [tool["name"] for tool in second.get_all_tool_schemas()]
    sys.stdout.write(json.dumps({
        "found": found["pgrecall"], "nothing": nothing, "same": same, "kept": kept, "recalled": recalled,
        "best": best["body"], "used": used, "wrong": wrong, "gone": gone, "again": again, "tools": names,
    }))  # fmt: skip


if __name__ == "__main__":
    {"conversations": conversations, "refused": refused, "hostile": hostile}[WHAT]()
