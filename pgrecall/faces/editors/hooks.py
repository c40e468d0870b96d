"""The hooks of editors: which events each has, and their entries in its settings.

A hook is a command that the editor runs with a JSON object on standard input. A failing hook never stops a
session: it ends with code 1, since some editors take 2 for an order to go on, and its error is on standard
error, where the editor shows it or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any, Literal

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.reader import SessionKind
from pgrecall.importers.projects import Scope
from pgrecall.setting_types import expand_home

HookedEditor = Literal["claude", "codex", "cursor", "gemini", "vscode"]
"""Claude Desktop is not here, because it runs no hooks."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """How an editor runs hooks.

    Attributes:
        user: the file with the user's hooks, from the home directory.
        project: the file in a project's folder.
        start: the event at the start of a session.
        prompt: the event of a prompt, before the model reads it.
        end: the event at its end, or of each turn where there is no other. Each import adds
            what is new.
        source: the kind of its transcripts, and the source of what is captured.
        compact: the event before its turns are replaced by a summary, where ``end`` is not of each turn.
        grouped: whether a hook is in a group of hooks, as in Claude Code.
        version: version of the format that the file names; None without one.
        note: information for the user.
    """

    user: str
    project: str
    start: str
    prompt: str
    end: str
    source: SessionKind
    compact: str | None = None
    grouped: bool = True
    version: int | None = None
    note: str = ""


HOOKS: Mapping[HookedEditor, Hooks] = {
    "claude": Hooks(
        ".claude/settings.json", ".claude/settings.json", "SessionStart", "UserPromptSubmit", "SessionEnd",
        "claude-code", compact="PreCompact",
    ),
    "codex": Hooks(
        ".codex/hooks.json", ".codex/hooks.json", "SessionStart", "UserPromptSubmit", "Stop", "codex",
        note="Codex runs new hooks only after you trust them; /hooks lists them.",
    ),
    "cursor": Hooks(
        ".cursor/hooks.json", ".cursor/hooks.json", "sessionStart", "beforeSubmitPrompt", "stop", "cursor",
        grouped=False, version=1,
        note="Cursor writes transcripts only if they are enabled in its settings.",
    ),
    "gemini": Hooks(
        ".gemini/settings.json", ".gemini/settings.json", "SessionStart", "BeforeAgent", "SessionEnd",
        "gemini", compact="PreCompress",
    ),
    "vscode": Hooks(
        ".copilot/hooks/pgrecall.json", ".github/hooks/pgrecall.json", "SessionStart", "UserPromptSubmit",
        "Stop", "vscode", grouped=False, note="Hooks in VS Code are a preview feature.",
    ),
}  # fmt: skip

MAX_EVENT = 1_000_000
"""Characters of an event that are read."""

_OURS = re.compile(r"pgrecall.* capture (start|end)( --editor \w+)?( --scope \w+)?$|pgrecall-recall'?( |$)")


@dataclass(frozen=True, slots=True)
class HookCommands:
    """The commands of our hooks; None leaves a hook out.

    Attributes:
        capture: the program and its global options, for the start and the end of a session.
        recall: the program that answers a prompt, with its options.
        scope: what the hooks search of the project of a session and of others.
    """

    capture: Sequence[str] | None = None
    recall: Sequence[str] | None = None
    scope: Scope = "prefer"

    def by_event(self, editor: HookedEditor) -> Sequence[tuple[str, str]]:
        """Each event with the command line of its hook."""
        form = HOOKS[editor]
        found: list[tuple[str, str]] = []
        scope = () if self.scope == "prefer" else ("--scope", self.scope)
        if self.capture is not None:
            capture = (*self.capture, "capture")
            found.append((form.start, join([*capture, "start", "--editor", editor, *scope])))
            ends = join([*capture, "end", "--editor", editor])
            found += [(event, ends) for event in (form.compact, form.end) if event is not None]
        if self.recall is not None:
            found.append((form.prompt, join([*self.recall, "--editor", editor, *scope])))
        return found


NO_HOOKS = HookCommands()


def with_hooks(editor: HookedEditor, document: Mapping[str, Any], commands: HookCommands) -> dict[str, Any]:
    """Settings of an editor with these of our hooks, once each; given none, without any of ours.

    Args:
        document: the settings; hooks of others stay.

    Raises:
        InvalidInput: ``hooks`` does not have the form that the editor reads.
    """
    form = HOOKS[editor]
    hooks = document.get("hooks", {})
    groups = list(hooks.values()) if isinstance(hooks, dict) else [None]
    if not all(isinstance(group, list) for group in groups):
        raise InvalidInput(
            f"`hooks` in the settings of {editor} is not an object of lists.", hint="Correct it."
        )
    given = dict(commands.by_event(editor))
    changed = {
        event: [kept for one in group if (kept := _without_ours(one)) is not None]
        if event in given or not given
        else group
        for event, group in hooks.items()
    }
    if not given and changed == hooks:
        return dict(document)
    for event, command in given.items():
        hook = {"type": "command", "command": command}
        changed.setdefault(event, []).append({"hooks": [hook]} if form.grouped else hook)
    changed = {event: group for event, group in changed.items() if group}
    rest = {name: value for name, value in document.items() if name != "hooks"}
    if form.version is not None and (changed or rest.keys() - {"version"}):
        rest = {"version": form.version} | rest
    elif form.version is not None:
        rest = {}
    return rest | ({"hooks": changed} if changed else {})


def _without_ours(entry: Any) -> Any:
    """An entry of an event without our hook; None if nothing is left. A person may have put it in a group
    with others."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list):
        return None if _is_ours(entry) else entry
    kept = [hook for hook in hooks if not _is_ours(hook)]
    return entry if kept == hooks else entry | {"hooks": kept} if kept else None


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def read_event(text: str) -> Mapping[str, Any]:
    """The event that the editor sends.

    Raises:
        InvalidInput: it is not a JSON object.
    """
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise InvalidInput(
            "This is not an editor event.",
            hint="This command is run by the hooks of `pgrecall connect EDITOR`.",
        )
    return event


def is_of_another(editor: HookedEditor, event: Mapping[str, Any]) -> bool:
    """Whether another program runs this hook: Cursor and VS Code run those of Claude Code beside their own,
    and would add everything twice."""
    return editor == "claude" and not event.keys().isdisjoint(("cursor_version", "hookEventName"))


def session_of(event: Mapping[str, Any]) -> str:
    """The id of the event's session, as Claude Code, Codex and Gemini CLI, VS Code or Cursor name it; empty
    without one."""
    given = event.get("session_id") or event.get("sessionId") or event.get("conversation_id")
    return given if isinstance(given, str) else ""


def transcript_of(event: Mapping[str, Any]) -> Path | None:
    """The transcript of the event's session; None without one.

    Editors name none for a session without a turn, or a file that they never wrote.

    Raises:
        InvalidInput: the event has something else than a path.
    """
    given = event.get("transcript_path", "")
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise InvalidInput("The event names no transcript.", hint="Run `pgrecall connect EDITOR` again.")
    try:
        path = expand_home(given)
        return path if path.is_file() else None
    except (ValueError, OSError):  # no such home directory; a name that is too long
        return None


def folder_of(event: Mapping[str, Any]) -> Path | None:
    """The folder that the event's session works in; None if it names none that is here."""
    roots = event.get("workspace_roots")  # Cursor's
    given = roots[0] if isinstance(roots, list) and roots else event.get("cwd")
    if not isinstance(given, str) or not given:
        return None
    try:
        path = Path(given)
        return path if path.is_absolute() and path.is_dir() else None
    except (ValueError, OSError):  # a NUL; a name that is too long
        return None


def added_context(editor: HookedEditor, event: str, text: str) -> str:
    """The output of a hook that adds a text to what the model reads.

    Args:
        event: one of the editor's events, such as ``HOOKS[editor].prompt``.
    """
    if editor == "cursor":
        goes_on = {"continue": True} if event == HOOKS[editor].prompt else {}
        return json.dumps({**goes_on, "additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
