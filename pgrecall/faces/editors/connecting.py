"""The entries that `pgrecall connect` writes into the settings files of an editor, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors.editors import EDITORS, SERVER, EditorName
from pgrecall.faces.editors.hooks import HOOKS, NO_HOOKS, HookCommands, with_hooks
from pgrecall.faces.editors.settings_files import SettingsFile

Change = Callable[[SettingsFile], SettingsFile]
_ANY_ENTRY: Mapping[str, Any] = {"command": "pgrecall", "args": ["mcp"]}
_ANY_COMMANDS = HookCommands(("pgrecall",), ("pgrecall-recall",))


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is written into a file: the entry of the server, or the hooks."""

    file: Path
    add: Change
    remove: Change


def server_part(
    name: EditorName, home: Path, project: Path | None, entry: Mapping[str, Any] = _ANY_ENTRY
) -> Part:
    """The entry of the MCP server.

    Args:
        project: the folder whose settings to change; None for those of the user.

    Raises:
        InvalidInput: the editor has no settings for projects, or none on this operating system.
    """
    editor = EDITORS[name]
    return Part(
        editor.file(home, project),
        lambda file: file.with_entry(editor.table, SERVER, entry),
        lambda file: file.with_entry(editor.table, SERVER, None),
    )


def hook_parts(
    name: EditorName, home: Path, project: Path | None, commands: HookCommands = _ANY_COMMANDS
) -> Sequence[Part]:
    """The hooks; none for Claude Desktop, which runs none."""
    if name == "claude-desktop":
        return ()
    form = HOOKS[name]
    return (
        Part(
            home / form.user if project is None else project / form.project,
            lambda file: file.with_document(with_hooks(name, file.document(), commands)),
            lambda file: file.with_document(with_hooks(name, file.document(), NO_HOOKS)),
        ),
    )


def require_inside(parts: Sequence[Part], project: Path) -> None:
    """Raises InvalidInput if a file of a project is a link out of it, to where its author wants."""
    top = project.resolve()
    for part in parts:
        try:
            real = part.file.resolve()
        except RuntimeError:  # links in a circle, of which reading the file tells
            continue
        if not real.is_relative_to(top):
            raise InvalidInput(
                f"{part.file} is a link out of the project, to {real}.",
                hint="Replace it by a file, or change that file by hand; --print shows the entry.",
            )


def added(parts: Sequence[Part], known: Sequence[Part]) -> Sequence[SettingsFile]:
    """The files with these parts. A file that has any part of pgrecall already keeps the copy from before it.

    Args:
        known: all parts that a file can have.

    Raises:
        InvalidInput: a file cannot be read or changed.
    """
    return [
        replace(_with(file, own), keeps_copy=_without(file, of_file(known, file)).text == file.text)
        for file, own in _files(parts)
    ]


def removed(known: Sequence[Part]) -> Sequence[SettingsFile]:
    """The files without any part: as they were before, unless something else has changed in them since.

    Raises:
        InvalidInput: a file cannot be read or changed.
    """
    return [_as_before(file, _without(file, own), own) for file, own in _files(known)]


def of_file(parts: Sequence[Part], file: SettingsFile) -> Sequence[Part]:
    """The parts of a file."""
    return [part for part in parts if part.file.resolve() == file.path]


def _files(parts: Sequence[Part]) -> Iterator[tuple[SettingsFile, Sequence[Part]]]:
    read = {file.path: file for file in (SettingsFile.read(part.file) for part in parts)}
    for file in read.values():
        yield file, of_file(parts, file)


def _with(file: SettingsFile, parts: Sequence[Part]) -> SettingsFile:
    for part in parts:
        file = part.add(file)
    return file


def _without(file: SettingsFile, parts: Sequence[Part]) -> SettingsFile:
    for part in parts:
        file = part.remove(file)
    return file


def _as_before(file: SettingsFile, bare: SettingsFile, parts: Sequence[Part]) -> SettingsFile:
    """The earlier content if connecting it and undoing that gives ``bare``; else ``bare``."""
    bare = replace(bare, keeps_copy=False)
    if bare.text == file.text:
        return bare
    try:
        original = file.original()
        if _without(original, parts).text != original.text:
            return bare
        for count in range(1, len(parts) + 1):
            for some in combinations(parts, count):
                if _without(_with(original, some), parts).text == bare.text:
                    return original
    except InvalidInput:  # the copy has been changed, and is no help
        return bare
    return bare
