"""Watching a folder of notes: waits until changes settle, then brings the memories in step with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event

from watchfiles import Change, watch

from pgrecall import Memory
from pgrecall.errors import DatabaseUnavailable, InvalidInput
from pgrecall.faces.cli.invocation import GlobalOptions
from pgrecall.faces.cli.rendering.console import notes, output
from pgrecall.faces.cli.rendering.imports import show_problems
from pgrecall.faces.ending import GRACE, stop_on_signals
from pgrecall.faces.import_rules import import_rules
from pgrecall.faces.note_folder import Items, MostGone, NoteFolder, Settled, settle, until_stopped
from pgrecall.importers.detect import KnownKind
from pgrecall.importers.files import printable_path
from pgrecall.importers.markdown.notes import is_note
from pgrecall.jobs.job import Stopped
from pgrecall.nouns.imports.report import ImportReport, Problem

QUIET_MS = 1000
"""Milliseconds without a change after which changes count as settled; a half-written file still changes."""

MAX_WAIT = 30.0
"""Seconds after which changes are imported though others follow: a busy file must not hold up the rest."""

RETRY_SECONDS = 2.0
"""Seconds between attempts to reach a database that does not answer."""


class FolderWatch:
    """The state of one watched folder: which problems it has told.

    Args:
        memory: the client.
        folder: the folder of notes.
        archive_most: archive even if more than half of the memories are gone at once.
        read: reads the whole folder.
        store: imports the items of the whole folder.
        stop: once set, the watch ends; every batch that was stored stays stored.
    """

    def __init__(
        self,
        memory: Memory,
        folder: NoteFolder,
        *,
        archive_most: bool,
        read: Callable[[], Items],
        store: Callable[[Items, int | None], ImportReport],
        stop: Event,
    ) -> None:
        self._memory = memory
        self._notes = folder
        self._folder = folder.path
        self._archive_most = archive_most
        self._read = read
        self._store = store
        self._stop = stop
        self._told: tuple[Problem, ...] = ()
        self._refused = ""

    def follow(self) -> None:
        """Imports the folder now and after each batch of changes, until it is to stop.

        Raises:
            InvalidInput: the folder is gone.
            Stopped: it was to stop during an import, or before the first one.
        """
        changes = watch(
            self._folder, watch_filter=lambda _, path: may_be_note(self._folder, path), debounce=QUIET_MS,
            step=QUIET_MS // 4, rust_timeout=QUIET_MS, yield_on_timeout=True, ignore_permission_denied=True,
            stop_event=self._stop,
        )  # fmt: skip
        first = next(changes, None)  # the watch begins before the import, so that no change falls between
        if first is None:
            raise Stopped
        self._settle()
        for batch in settled(_chained(first, changes), self._notes.require):
            if batch:
                self._settle()

    def _settle(self) -> None:
        """One import; a database that does not answer is waited for."""
        told = False
        while True:
            self._notes.require()
            try:
                self._import()
                return
            except DatabaseUnavailable as error:
                if not told:
                    notes().print(f"{error.message} Waiting for it; changes are imported when it answers.")
                told = True
                if self._stop.wait(RETRY_SECONDS):
                    raise Stopped from None

    def _import(self) -> None:
        try:
            done = settle(
                self._memory, self._notes, lambda: until_stopped(self._read(), self._stop), self._store,
                archive_most=self._archive_most,
            )  # fmt: skip
        except MostGone as error:
            if error.message != self._refused:
                notes().print(str(error))
            self._refused = error.message
        else:
            self._refused = ""
            self._tell(done)

    def _tell(self, done: Settled) -> None:
        report = done.report
        counts = {
            "renamed": done.renamed, "created": report.created, "updated": report.updated,
            "archived": done.archived,
        }  # fmt: skip
        if any(counts.values()):
            output().print(", ".join(f"{count:,} {what}" for what, count in counts.items() if count) + ".")
        show_problems(output(), [problem for problem in report.problems if problem not in self._told])
        self._told = report.problems


def watch_notes(
    given: GlobalOptions,
    folder: NoteFolder,
    read: Callable[..., Items],
    layer: str | None,
    *,
    archive_most: bool,
) -> None:
    """Imports a folder and follows its changes until Ctrl-C or SIGTERM.

    Args:
        given: what the command was started with.
        folder: the folder of notes.
        read: reads the whole folder, given the rules of an import.
        layer: layer of notes without one.
        archive_most: as for :class:`FolderWatch`.
    """
    with stop_on_signals(grace=GRACE) as stop:
        with suppress(Stopped), given.opened(embeds=True) as memory:
            layers = memory.layers.list()
            notes().print(f"Watching {printable_path(folder.path)}. SIGTERM or Ctrl-C stops it.")
            FolderWatch(
                memory,
                folder,
                archive_most=archive_most,
                read=lambda: read(rules=import_rules(layers, layer)),
                store=lambda items, import_id: memory.import_drafts(
                    items, source=folder.source, import_id=import_id
                ),
                stop=stop,
            ).follow()
        notes().print("Stopped watching.")


def refuse_with_watch(path: Path, kind: KnownKind, given: dict[str, object]) -> None:
    """Raises InvalidInput if this is no folder of notes, or if one of these options has a value."""
    if kind != "markdown" or not path.is_dir():
        raise InvalidInput(
            f"--watch needs a folder of notes, which {printable_path(path)} is not.",
            hint="Leave --watch out.",
        )
    for option, value in given.items():
        if value:
            raise InvalidInput(f"{option} cannot be used with --watch.", hint="Leave out one of them.")


def may_be_note(folder: Path, path: str) -> bool:
    """Whether a change of this path can change a note: not of a hidden file, a backup, or another kind.

    A path that is no longer there may have been a folder of notes.
    """
    changed = Path(path)
    inside = changed.relative_to(folder).parts if changed.is_relative_to(folder) else changed.parts
    if any(part.startswith(".") for part in inside) or path.endswith(("~", ".tmp", ".swp")):
        return False
    return is_note(changed) or changed.is_dir() or not changed.exists()


def settled(
    batches: Iterable[set[tuple[Change, str]]],
    check: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[set[tuple[Change, str]]]:
    """Joins batches of changes until an empty one says that it is quiet, or until MAX_WAIT.

    Args:
        batches: changes, and an empty set after each quiet time.
        check: called with each batch; raises if there is nothing to watch any more.
        clock: seconds that only grow.
    """
    waiting: set[tuple[Change, str]] = set()
    since = 0.0
    for batch in batches:
        check()
        if batch and not waiting:
            since = clock()
        waiting |= batch
        if waiting and (not batch or clock() - since >= MAX_WAIT):
            yield waiting
            waiting = set()


def _chained(
    first: set[tuple[Change, str]], others: Iterable[set[tuple[Change, str]]]
) -> Iterator[set[tuple[Change, str]]]:
    yield first
    yield from others
