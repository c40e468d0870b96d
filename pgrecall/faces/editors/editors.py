"""The editors that pgrecall can connect to: where each reads its MCP servers, and under which name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pgrecall.errors import InvalidInput
from pgrecall.importers.projects import Scope

EditorName = Literal["claude", "claude-desktop", "codex", "cursor", "vscode", "gemini"]
SERVER = "pgrecall"
"""Name of the entry in every editor."""


@dataclass(frozen=True, slots=True)
class Editor:
    """An editor and its settings file.

    Attributes:
        title: its name, for people.
        user: the file of the user's settings, from the home directory; by ``sys.platform`` where it differs.
        project: the file in a project's folder; None if it has none.
        table: the object or TOML table that holds the servers.
        typed: whether an entry names its transport.
        restart: what to do so that the editor reads the file.
    """

    title: str
    user: str | Mapping[str, str]
    project: str | None
    table: str
    typed: bool = False
    restart: str = "Restart it."

    def file(self, home: Path, project: Path | None) -> Path:
        """The settings file of the user, or of the project in this folder.

        Raises:
            InvalidInput: the editor has no settings for projects, or none on this operating system.
        """
        if project is not None:
            if self.project is None:
                raise InvalidInput(
                    f"{self.title} has no settings for a project.", hint="Leave out --project."
                )
            return project / self.project
        user = self.user if isinstance(self.user, str) else self.user.get(sys.platform)
        if user is None:
            raise InvalidInput(f"{self.title} does not run on {sys.platform}.")
        return home / user


_APPLICATIONS = "Library/Application Support"
EDITORS: Mapping[EditorName, Editor] = {
    "claude": Editor(
        "Claude Code", ".claude.json", ".mcp.json", "mcpServers", typed=True, restart="Start a new session."
    ),
    "claude-desktop": Editor(
        "Claude Desktop",
        {
            "linux": ".config/Claude/claude_desktop_config.json",
            "darwin": f"{_APPLICATIONS}/Claude/claude_desktop_config.json",
            "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
        },
        None,
        "mcpServers",
    ),
    "codex": Editor(
        "Codex", ".codex/config.toml", ".codex/config.toml", "mcp_servers", restart="Start a new session."
    ),
    "cursor": Editor("Cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": Editor(
        "VS Code",
        {
            "linux": ".config/Code/User/mcp.json",
            "darwin": f"{_APPLICATIONS}/Code/User/mcp.json",
            "win32": "AppData/Roaming/Code/User/mcp.json",
        },
        ".vscode/mcp.json",
        "servers",
        typed=True,
        restart="Run the command “MCP: List Servers” and start it.",
    ),
    "gemini": Editor(
        "Gemini CLI",
        ".gemini/settings.json",
        ".gemini/settings.json",
        "mcpServers",
        restart="Start a new session.",
    ),
}


def server_entry(
    editor: Editor,
    command: str,
    options: tuple[str, ...],
    environment: Mapping[str, str],
    tools: Literal["core", "all"] = "core",
    scope: Scope = "prefer",
) -> dict[str, Any]:
    """The entry that starts `pgrecall mcp`.

    Args:
        command: absolute path of the program, because editors have another PATH than shells.
        options: global options of pgrecall.
        environment: variables for the server.
        tools: those that it serves.
        scope: what it searches of the project of its folder and of others.
    """
    entry: dict[str, Any] = {"type": "stdio"} if editor.typed else {}
    scoped = [] if scope == "prefer" else ["--scope", scope]
    entry |= {"command": command, "args": [*options, "mcp", "--tools", tools, *scoped]}
    return entry | ({"env": dict(environment)} if environment else {})
