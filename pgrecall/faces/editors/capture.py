"""Capture: the import of a session when it ends, and before its turns are replaced by a summary.

It is off unless `pgrecall connect EDITOR --capture` adds the hooks.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgrecall.faces.editors.hooks import HOOKS, HookedEditor, folder_of, transcript_of
from pgrecall.importers.projects import project_of


def import_later(editor: HookedEditor, event: Mapping[str, Any], command: Sequence[str], log: Path) -> None:
    """Starts the import of the session's transcript in a process of its own, because editors wait little.

    A session without a turn has no transcript: editors name none, or a file that they never wrote. Then there
    is nothing to import.

    Args:
        log: file for the output of the import; it is overwritten.

    Raises:
        InvalidInput: the event has something else than a path.
    """
    transcript = transcript_of(event)
    if transcript is None:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    source = HOOKS[editor].source
    folder = folder_of(event)
    project = None if folder is None else project_of(folder)
    named = () if project is None else (f"--project={project}",)
    options = ("import", "--kind", source, "--source", source, *named, "--", str(transcript))
    with log.open("wb") as file:
        subprocess.Popen(
            [*command, *options],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=sys.platform != "win32",
        )  # fmt: skip
