"""Connecting an editor and undoing it: every file is as it was before, byte for byte; none is left over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest

from pgrecall.faces.editors.connecting import Part, added, hook_parts, removed, server_part
from pgrecall.faces.editors.editors import EditorName
from pgrecall.faces.editors.hooks import HookCommands

ENTRY = {"command": "/opt/pgrecall", "args": ["--tenant", "me", "mcp"], "env": {"A": "b"}}
HOOKS = HookCommands(("/opt/pgrecall", "--tenant", "me"), ("/opt/pgrecall-recall", "--tenant", "me"))
OTHER = {"command": "/opt/newer/pgrecall", "args": ["mcp"]}
EDITORS = get_args(EditorName)


def known(name: EditorName, home: Path) -> Sequence[Part]:
    return (server_part(name, home, None), *hook_parts(name, home, None))


def connect(
    name: EditorName, home: Path, *, entry: Mapping[str, object] = ENTRY, capture: bool = False
) -> None:
    parts = [server_part(name, home, None, entry)]
    parts += hook_parts(name, home, None, HOOKS) if capture else ()
    for change in added(parts, known(name, home)):
        change.write(home)


def undo(name: EditorName, home: Path) -> list[str]:
    return [change.write(home) for change in removed(known(name, home)) if change.is_original]


def content(home: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, and every folder."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")
    }


@pytest.mark.parametrize("capture", [False, True])
@pytest.mark.parametrize("name", EDITORS)
def test_what_connect_created_is_gone(name: EditorName, capture: bool, tmp_path: Path) -> None:
    connect(name, tmp_path, capture=capture)
    assert content(tmp_path)
    connect(name, tmp_path, entry=OTHER, capture=True)
    assert all(said.endswith("which connect had created.") for said in undo(name, tmp_path))
    assert content(tmp_path) == {}


JSON = (
    "",
    "{}",
    "{ }\n",
    '{"mcpServers": {}, "servers": {}, "hooks": {}}',
    '{"version": 1}',
    '{\n\t"a": 1, // mine\n\t"mcpServers": {\n\t\t"o": {"command": "o"},\n\t},\n}',
    '{\r\n  "a": [1, 2]\r\n}\r\n',
    '\ufeff{"a": "ü"}',
)
TOML = ("", "\n\n", "model = 'x' # mine", "[mcp_servers.o]\ncommand = 'o'\n\n\n", "\ufeff# mine\r\n")


@pytest.mark.parametrize("capture", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for name in EDITORS for text in (TOML if name == "codex" else JSON)],
)
def test_a_file_that_was_there_is_restored(
    name: EditorName, text: str, capture: bool, tmp_path: Path
) -> None:
    for part in known(name, tmp_path):
        part.file.parent.mkdir(parents=True, exist_ok=True)
        part.file.write_text(text if (part.file.suffix == ".toml") == (name == "codex") else "{}", newline="")
    before = content(tmp_path)
    connect(name, tmp_path, capture=capture)
    assert content(tmp_path) != before
    connect(name, tmp_path, entry=OTHER, capture=capture)
    assert undo(name, tmp_path)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", EDITORS)
def test_what_was_changed_since_stays(name: EditorName, tmp_path: Path) -> None:
    file = server_part(name, tmp_path, None).file
    connect(name, tmp_path)
    comment = "# mine\n" if name == "codex" else "// mine\n"
    file.write_text(comment + file.read_text())
    for change in removed(known(name, tmp_path)):
        if change.text != change.before:
            change.write(tmp_path)
    assert file.read_text() in (comment, comment + "{}\n")


def test_a_copy_that_has_the_entry_is_not_restored(tmp_path: Path) -> None:
    """Earlier versions copied the file at every change, so that a copy could have the entry."""
    connect("cursor", tmp_path)
    file = tmp_path / ".cursor/mcp.json"
    file.with_name("mcp.json.before-pgrecall").write_text(file.read_text())
    [change] = [one for one in removed(known("cursor", tmp_path)) if one.text != (one.before or "")]
    change.write(tmp_path)
    assert json.loads(file.read_text()) == {}


def test_folders_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/rules.txt").write_text("mine")
    connect("cursor", tmp_path, capture=True)
    undo("cursor", tmp_path)
    assert list(content(tmp_path)) == [".cursor", ".cursor/rules.txt"]
