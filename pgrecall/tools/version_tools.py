"""The tools of versions and changes: history, diff, restore, changes; with their arguments and results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pgrecall.encoding import MAX_INTEGER
from pgrecall.nouns.history.models import Change, ChangeKind, FieldDifference, Version
from pgrecall.nouns.memories.models import Remembered
from pgrecall.tools.arguments import Arguments, Reference, parse_json
from pgrecall.tools.results import Result, ResultWithTexts, Timestamp
from pgrecall.tools.tool import Client, MaybeAwaitable, Tool

VersionNumber = Annotated[int, Field(ge=1, le=MAX_INTEGER)]


class HistoryArguments(Arguments):
    """Arguments of ``history``."""

    memory: Reference = Field(description="Id or key. Digits are an id; key:42 is the key 42.")
    limit: int = Field(10, ge=1, le=200, description="Maximum number of versions.")
    before: VersionNumber | None = Field(None, description="Only versions with lower numbers.")
    max_chars: int = Field(500, ge=50, le=100_000, description="Cut bodies after this many characters.")


class DiffArguments(Arguments):
    """Arguments of ``diff``."""

    memory: Reference = Field(description="Id or key.")
    earlier: VersionNumber = Field(description="Number of a version, from `history`.")
    later: VersionNumber | None = Field(
        None, description="Number of another version; by default the current."
    )


class RestoreArguments(Arguments):
    """Arguments of ``restore``."""

    memory: Reference = Field(description="Id or key.")
    version: VersionNumber = Field(description="Number of the version, from `history`.")


class ChangesArguments(Arguments):
    """Arguments of ``changes``."""

    since: str | None = Field(
        None,
        max_length=100,
        description="`cursor` of an earlier call; without it, from the oldest that is kept.",
    )
    kinds: (
        Annotated[list[ChangeKind], Field(min_length=1, max_length=20), BeforeValidator(parse_json)] | None
    ) = Field(None, description="Only changes of these kinds.")
    limit: int = Field(50, ge=1, le=500, description="Maximum number of changes.")


class VersionResult(Result):
    """A version of a memory."""

    number: int
    title: str
    body: str
    cut: bool = Field(description="The body was cut; use a larger max_chars.")
    author: str | None
    tags: tuple[str, ...]
    written_at: Timestamp
    written_by: str | None = Field(description="The database role that wrote it.")
    written_through: str | None = Field(description="client, cli, http, mcp, page or sql.")
    replaced_at: Timestamp | None = Field(description="Null: it still says this.")


class HistoryResult(ResultWithTexts):
    """The result of ``history``."""

    versions: tuple[VersionResult, ...] = Field(description="Newest first, starting with the current one.")


class WordsResult(Result):
    """A run of words."""

    change: str = Field(description="same, removed or added.")
    text: str


class DifferenceResult(Result):
    """A field in which two versions differ."""

    field: str
    earlier: Any
    later: Any
    words: tuple[WordsResult, ...] = Field(description="Word by word, for title and body.")


class DiffResult(ResultWithTexts):
    """The result of ``diff``."""

    differences: tuple[DifferenceResult, ...] = Field(description="Empty if both say the same.")


class RestoreResult(Result):
    """The result of ``restore``."""

    id: int
    key: str | None
    outcome: str = Field(description="updated, or unchanged if the memory already has this text.")


class ChangeResult(Result):
    """A change of a memory."""

    kind: str = Field(
        description="new, rewritten, archived, restored, superseded, merged, deleted, risen or faded."
    )
    id: int
    at: Timestamp
    key: str | None
    layer: str | None
    title: str | None = Field(description="Its title now, or the start of its text; null if it is deleted.")
    zone: str | None = Field(description="The zone that it rose or faded to.")
    other_id: int | None = Field(description="The memory that superseded it, or that it was merged into.")


class ChangesResult(ResultWithTexts):
    """The result of ``changes``."""

    changes: tuple[ChangeResult, ...] = Field(description="In order.")
    cursor: str | None = Field(
        description="For `since` of the next call; null while nothing was ever logged."
    )
    more: bool = Field(description="There may be more: call again with the cursor.")


def _history(
    memory: Client, arguments: HistoryArguments, _now: datetime
) -> MaybeAwaitable[tuple[Version, ...]]:
    return memory.history.versions(arguments.memory, limit=arguments.limit, before=arguments.before)


def _history_result(arguments: HistoryArguments, versions: tuple[Version, ...]) -> HistoryResult:
    limit = arguments.max_chars
    return HistoryResult(
        versions=tuple(
            VersionResult.from_value(version, body=version.body[:limit], cut=len(version.body) > limit)
            for version in versions
        )
    )


def _diff(
    memory: Client, arguments: DiffArguments, _now: datetime
) -> MaybeAwaitable[tuple[FieldDifference, ...]]:
    return memory.history.diff(arguments.memory, arguments.earlier, arguments.later)


def _diff_result(_arguments: DiffArguments, differences: tuple[FieldDifference, ...]) -> DiffResult:
    return DiffResult(
        differences=tuple(
            DifferenceResult.from_value(one, words=tuple(WordsResult.from_value(run) for run in one.words))
            for one in differences
        )
    )


def _restore(memory: Client, arguments: RestoreArguments, _now: datetime) -> MaybeAwaitable[Remembered]:
    return memory.history.restore(arguments.memory, arguments.version)


def _changes(
    memory: Client, arguments: ChangesArguments, _now: datetime
) -> MaybeAwaitable[tuple[Change, ...]]:
    return memory.history.changes(arguments.since, limit=arguments.limit, kinds=arguments.kinds)


def _changes_result(arguments: ChangesArguments, changes: tuple[Change, ...]) -> ChangesResult:
    return ChangesResult(
        changes=tuple(ChangeResult.from_value(change) for change in changes),
        cursor=changes[-1].cursor if changes else arguments.since,
        more=len(changes) == arguments.limit,
    )


HISTORY = Tool(
    name="history",
    title="History of a memory",
    description=(
        "List the earlier texts of a memory, each with the time and the interface of its writing. Use it if "
        "a memory seems wrong, or to look up what it said earlier. `diff` shows what changed, `restore` "
        "brings a version back."
    ),
    arguments=HistoryArguments,
    result=HistoryResult,
    request=_history,
    respond=_history_result,
    read_only=True,
)
DIFF = Tool(
    name="diff",
    title="Compare versions of a memory",
    description=(
        "Show what differs between two versions of a memory, or between one and the present, word by word."
    ),
    arguments=DiffArguments,
    result=DiffResult,
    request=_diff,
    respond=_diff_result,
    read_only=True,
)
RESTORE = Tool(
    name="restore",
    title="Restore a version",
    description=(
        "Restore an earlier version of a memory. The current text becomes a version too, "
        "so this can be undone. Use it when an edit was wrong; for new facts use `remember`."
    ),
    arguments=RestoreArguments,
    result=RestoreResult,
    request=_restore,
    respond=lambda _arguments, stored: RestoreResult.from_value(stored),
    destructive=True,  # it replaces the text, though that is kept
    idempotent=True,
)
CHANGES = Tool(
    name="changes",
    title="What changed since",
    description=(
        "List what changed in the memory since an earlier call: new, rewritten, archived, restored, "
        "superseded, merged and deleted memories, and those that rose or faded. Use it when a session "
        "begins, with the cursor that you kept; keep the new cursor."
    ),
    arguments=ChangesArguments,
    result=ChangesResult,
    request=_changes,
    respond=_changes_result,
    read_only=True,
)
