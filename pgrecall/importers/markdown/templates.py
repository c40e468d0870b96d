"""The templates of a vault: what its own settings name as such, however the files look."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pgrecall.importers.text import folded_name

SETTINGS = ".obsidian"
_CORE = "core-plugins.json"
_FOLDERS = (("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder"))
_FILES = (("daily-notes.json", "template"),)
SETTING_FILES = (_CORE, *(name for name, _ in (*_FOLDERS, *_FILES)))
"""The files of settings that name templates."""

MAX_SETTINGS_BYTES = 1_000_000
"""Of one of them."""


class Templates:
    """The templates of one vault.

    Args:
        vault: the folder of notes. Settings that are missing or damaged name none.
    """

    def __init__(self, vault: Path) -> None:
        settings = vault / SETTINGS
        unused = _switched_off(_read(settings / _CORE))
        self._folders = tuple(
            path
            for name, field in _FOLDERS
            if name.removesuffix(".json") not in unused and (path := _path(_read(settings / name), field))
        )
        self._files = frozenset(
            path for name, field in _FILES if (path := _path(_read(settings / name), field))
        )

    def __contains__(self, relative: str) -> bool:
        """Whether the note at this path in the vault, without suffix, is a template."""
        path = folded_name(relative)
        return path in self._files or any(path.startswith(f"{folder}/") for folder in self._folders)


def _read(file: Path) -> Any:
    """What a file of settings says; None of what is none. A pipe is not opened: it might never end."""
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return json.loads(opened.read(MAX_SETTINGS_BYTES))
    except (OSError, ValueError, RecursionError):
        return None


def _path(settings: Any, field: str) -> str:
    """A path in settings, without suffix; empty if it is none, or the whole vault."""
    value = settings.get(field) if isinstance(settings, Mapping) else None
    if not isinstance(value, str):
        return ""
    path = PurePosixPath(value.strip().strip("/"))
    return folded_name(str(path.with_suffix("") if path.suffix == ".md" else path)) if path.name else ""


def _switched_off(plugins: Any) -> set[str]:
    """The core plugins that are not in use: their settings are left from before."""
    return (
        {name for name, used in plugins.items() if used is False} if isinstance(plugins, Mapping) else set()
    )
