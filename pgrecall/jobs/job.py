"""``Job`` and its context. A job consists of bounded steps, each one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from pgrecall.database.session import Session
from pgrecall.errors import InvalidInput
from pgrecall.jobs.alerts import AlertHook
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.operation import Operation
from pgrecall.search.embed.embedder import TEXT_TOKENS, Embedder, embed_with_tokens
from pgrecall.search.embed.passages import embed_memories

if TYPE_CHECKING:
    from pgrecall.schema.backups.folder import BackupFolder

T = TypeVar("T")

FolderHook = Callable[[Event], Mapping[str, int]]
"""Brings memories in step with folders of notes until the event is set; returns counts by name."""

Recorder = Callable[[int, Mapping[str, int]], Operation[None]]
"""Creates the operation that records progress, in total and by name."""


class Stopped(Exception):
    """The run was asked to stop; raised in a job before its next step."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What jobs call outside of the database; None where it is not configured.

    Attributes:
        alert: called by the job that reports alarms.
        backups: where the job that makes backups puts them.
        folders: called by the job that follows folders of notes.
    """

    alert: AlertHook | None = None
    backups: BackupFolder | None = None
    folders: FolderHook | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Options that all runs of a call share.

    Attributes:
        embedder: for jobs that embed; None without one.
        now: time to use instead of the database's clock.
        batch: maximum number of rows of a step; None uses the default of each job.
        stop: once set, runs stop before their next step.
        progress: called with the tenant, how much of its run is done, and of how much; None if unknown.
        hooks: what jobs call outside of the database.
    """

    embedder: Embedder | None = None
    now: datetime | None = None
    batch: int | None = None
    stop: Event = field(default_factory=Event)
    progress: Callable[[str, int, int | None], None] = lambda *_: None
    hooks: Hooks = Hooks()


@dataclass(slots=True)
class JobContext:
    """The context of one run for one tenant: its connection, options and progress.

    Every error of a step is raised in the job. ``recorder`` records progress in the run.
    """

    tenant: str
    session: Session
    task: Task
    recorder: Recorder | None = None
    done: int = 0
    expected: int | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def now(self) -> datetime | None:
        """Time to use instead of the database's clock."""
        return self.task.now

    def rows(self, default: int) -> int:
        """Returns the maximum number of rows of a step."""
        return default if self.task.batch is None else self.task.batch

    def execute(self, operation: Operation[T]) -> T:
        """Executes an operation for the tenant in a transaction of its own: one step.

        Raises:
            Stopped: the run was asked to stop.
        """
        if self.task.stop.is_set():
            raise Stopped
        return self.fetch(operation)

    def fetch(self, operation: Operation[T]) -> T:
        """Executes an operation even if the run was asked to stop."""
        return operation.read(self.session.fetch(operation, tenant=self.tenant))

    def report(self, done: int, **counts: int) -> None:
        """Adds to the progress, in total and by name, and records it, even if asked to stop."""
        self.done += done
        self.counts.update(counts)
        if self.recorder is not None:
            self.fetch(self.recorder(self.done, self.counts))
        self.task.progress(self.tenant, self.done, self.expected)

    def expect(self, more: int) -> None:
        """Adds to the amount of work that remains."""
        self.expected = self.done + more

    @property
    def embedder(self) -> Embedder:
        """The embedder.

        Raises:
            InvalidInput: there is none.
        """
        if self.task.embedder is None:
            raise InvalidInput(
                "There is no embedder to embed with.", hint="Configure one: PGRECALL_EMBEDDER."
            )
        return self.task.embedder

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Embeds texts: a vector each, and token signs if the embedder gives them.

        Raises:
            EmbedderError: there are none, or not the promised ones.
            Stopped: the run was asked to stop.
        """
        if self.task.stop.is_set():
            raise Stopped
        return embed_with_tokens(self.embedder, texts, TEXT_TOKENS)

    def embed_memories(self, texts: Sequence[tuple[str, str]]) -> list[Embedded]:
        """Embeds memories, given as title and body, with token signs and passages.

        Raises:
            EmbedderError: the embedder failed or returned unexpected vectors.
            Stopped: the run was asked to stop.
        """
        if self.task.stop.is_set():
            raise Stopped
        return embed_memories(self.embedder, texts)


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its name, a sentence about it, and the function that runs it for one tenant.

    ``whole``: it serves the whole database. ``joint``: it only makes sense for all tenants together.
    ``by_hand``: it has no schedule. ``embeds``: it needs an embedder. ``alerts``: it needs an alert hook.
    ``backs_up``: it needs a folder for backups. ``follows``: it needs folders of notes.
    """

    name: str
    about: str
    run: Callable[[JobContext], None]
    whole: bool = False
    joint: bool = False
    by_hand: bool = False
    embeds: bool = False
    alerts: bool = False
    backs_up: bool = False
    follows: bool = False
