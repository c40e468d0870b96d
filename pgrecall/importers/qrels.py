"""Judged queries from JSON Lines: one query per line, with the memories that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from pgrecall.errors import InvalidInput
from pgrecall.importers.dates import parse_time, parse_until
from pgrecall.importers.draft_checks import INDEXED_BYTES, bad_character
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import KNOWN_FIELDS, Moment, validated_lines
from pgrecall.nouns.calibration.models import JudgedQuery, Judgement
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Role
from pgrecall.nouns.search.models import SearchRequest

MAX_REPORTED_PROBLEMS = 3


def _end(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a date or time as a string, such as 2026-09-30")
    return parse_until(value, now=parse_time(value))  # which refuses `7d`: a file has no now


Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Key = Annotated[str, Field(min_length=1, max_length=INDEXED_BYTES)]
Id = Annotated[int, Field(ge=1, lt=2**63)]
End = Annotated[datetime, BeforeValidator(_end)]

_FILTERS = ("queries", "roles", "authors", "layers", "tags", "hints", "since", "until", "as_of")
_LISTS = ("queries", "roles", "authors", "layers", "tags", "hints", "cues")


class _Judgement(BaseModel):
    """A judgement of one memory. A key takes precedence over an id, which is valid in one database only."""

    model_config = KNOWN_FIELDS
    key: Key | None = None
    id: Id | None = None
    relevant: bool
    propensity: Annotated[float, Field(gt=0, le=1)] = 1.0
    # Written by `pgrecall feedback qrels` for readers of the file; not used here.
    rank: int | None = None
    verdict: str | None = None

    @model_validator(mode="after")
    def _names_a_memory(self) -> _Judgement:
        if self.key is None and self.id is None:
            raise ValueError("give a key or an id")
        return self

    @property
    def memory(self) -> str | int:
        name = self.id if self.key is None else self.key
        assert name is not None
        return name


class _Question(BaseModel):
    """A line: ``relevant`` lists every memory that answers, ``judgements`` only the judged candidates."""

    model_config = KNOWN_FIELDS
    query: Annotated[str, Field(max_length=100_000)]
    relevant: tuple[Key | Id, ...] | None = None
    judgements: tuple[_Judgement, ...] | None = None
    queries: tuple[Text, ...] | None = None
    roles: tuple[Role, ...] | None = None
    authors: tuple[Text, ...] | None = None
    layers: tuple[Text, ...] | None = None
    tags: tuple[Text, ...] | None = None
    hints: tuple[Text, ...] | None = None
    cues: tuple[Key | Id, ...] | None = None
    since: Moment | None = None
    until: End | None = None
    as_of: Moment | None = None
    sample_id: Text | None = None
    # For readers of the file; not used here.
    id: str | int | None = None
    kind: str | None = None
    asked: str | None = None
    outdated: tuple[Key | Id, ...] | None = None
    stale: tuple[Key | Id, ...] | None = None
    search_id: int | None = None
    at: Moment | None = None

    @field_validator("query", *_LISTS)
    @classmethod
    def _can_be_sent(cls, value: str | tuple[str | int, ...] | None) -> str | tuple[str | int, ...] | None:
        if value == ():
            raise ValueError("is empty")
        for text in (value,) if isinstance(value, str) else value or ():
            if isinstance(text, str) and (fault := bad_character(text)):
                raise ValueError(fault)
        return value

    @model_validator(mode="after")
    def _is_a_judged_question(self) -> _Question:
        if not (self.query.strip() or self.queries or self.since or self.until):
            raise ValueError("query: is empty, and neither queries nor a time window is given")
        if (self.relevant is None) == (self.judgements is None):
            raise ValueError("give either relevant or judgements")
        if self.since and self.until and self.since >= self.until:
            raise ValueError("since is not before until")
        names = [entry.memory for entry in self.judgements or ()]
        if len(set(names)) < len(names):
            raise ValueError("judgements names a memory twice")
        return self

    def judged(self) -> JudgedQuery:
        judgements = [Judgement(self._named(name), True) for name in dict.fromkeys(self.relevant or ())]
        for entry in self.judgements or ():
            judgements.append(Judgement(self._named(entry.memory), entry.relevant, entry.propensity))
        given: dict[str, Any] = {name: getattr(self, name) for name in _FILTERS}
        if self.cues is not None:
            given["cues"] = tuple(self._named(cue) for cue in self.cues)
        return JudgedQuery(SearchRequest(self.query, **given), tuple(judgements), self.relevant is not None)

    def _named(self, memory: str | int) -> str | int:
        return f"{self.sample_id}/{memory}" if self.sample_id and isinstance(memory, str) else memory


def read_qrels(path: Path) -> tuple[JudgedQuery, ...]:
    """Reads the judged queries of a file in order; times without a zone are UTC.

    A line is ``{"query": ..., "relevant": [key or id, ...]}``, where all other memories do not answer and an
    empty list means that none does; or ``{"query": ..., "judgements": [{"key" or "id", "relevant": true or
    false, "propensity": 0.2}]}``, where nothing is known about other memories. A line may have search
    filters: ``queries``, ``roles``, ``authors``, ``layers``, ``tags``, ``hints``, ``cues``, ``as_of``,
    ``since`` and ``until`` (a date includes that day). ``sample_id`` is put before each key, as in imported
    chats. The output of `pgrecall feedback qrels` has this format.

    Raises:
        InvalidInput: the file does not exist, has no judged query, or has an invalid line; the whole file is
            checked first.
    """
    require_file(path)
    lines = list(validated_lines(path, _Question))
    problems = [line for line in lines if isinstance(line, Problem)]
    if problems:
        raise InvalidInput(
            f"{printable_path(path)} cannot be used: {_listed(problems)}.",
            hint="Correct the file; nothing was done.",
        )
    if not lines:
        raise InvalidInput(
            f"{printable_path(path)} has no judged queries.", hint="Add one JSON object per line."
        )
    return tuple(line[1].judged() for line in lines if not isinstance(line, Problem))


def _listed(problems: Sequence[Problem]) -> str:
    text = "; ".join(problem.reason.rstrip(".") for problem in problems[:MAX_REPORTED_PROBLEMS])
    more = len(problems) - MAX_REPORTED_PROBLEMS
    return f"{text}; and {more} more lines" if more > 1 else f"{text}; and 1 more line" if more == 1 else text
