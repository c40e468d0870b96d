"""A project that somebody else wrote, which is connected: links out of it are not followed."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors.connecting import Part, hook_parts, require_inside, server_part
from pgrecall.faces.editors.editors import EditorName

EDITORS = [name for name in get_args(EditorName) if name != "claude-desktop"]


def parts(name: EditorName, folder: Path) -> list[Part]:
    project = folder / "project"
    return [
        server_part(name, folder / "home", project),
        *hook_parts(name, folder / "home", project),
    ]


def link(file: Path, target: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.is_symlink():
        file.symlink_to(target)


@pytest.mark.parametrize("name", EDITORS)
def test_a_file_that_is_a_link_out_of_the_project(name: EditorName, tmp_path: Path) -> None:
    outside = tmp_path / "home" / "empty"
    outside.parent.mkdir()
    outside.touch()
    for part in parts(name, tmp_path):
        link(part.file, outside)
        with pytest.raises(InvalidInput, match="is a link out of the project"):
            require_inside([part], tmp_path / "project")


@pytest.mark.parametrize("name", EDITORS)
def test_a_folder_that_is_a_link_out_of_the_project(name: EditorName, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for part in parts(name, tmp_path):
        if part.file.parent != tmp_path / "project":  # else there is no folder of the editor's
            link(part.file.parent, tmp_path / "home")
            with pytest.raises(InvalidInput, match="is a link out of the project"):
                require_inside([part], tmp_path / "project")


@pytest.mark.parametrize("name", EDITORS)
def test_links_within_and_in_a_circle_are_no_way_out(name: EditorName, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for number, part in enumerate(parts(name, tmp_path)):
        part.file.parent.mkdir(parents=True, exist_ok=True)
        link(part.file, project / f"kept{number}.json" if number else part.file)
    require_inside(parts(name, tmp_path), project)
    require_inside(parts(name, tmp_path), tmp_path / "project")
