"""A fact from any of Hindsight's exports, and its draft."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field

from pgrecall.importers.json_records import ANY_FIELDS, Moment, Name, without_empty
from pgrecall.importers.text import unique
from pgrecall.models.memories import Draft, DraftLink

TYPES = {"world": "knowledge", "opinion": "knowledge", "observation": "knowledge", "experience": "episodic"}
"""The layer of each kind of fact."""

_KIND_OF_ENTITY = re.compile(r"\s*\((?:[A-Z_]+)\)$")


def _names(value: object) -> object:
    """Entities as a list; a string is split at commas, and older versions append the kind to each."""
    if isinstance(value, str):
        return [_KIND_OF_ENTITY.sub("", name.strip()) for name in value.split(",")]
    return value


def _nothing_if_empty(value: object) -> object:
    return None if value == "" else value


def _known(moment: datetime | None) -> datetime | None:
    """None for the first and last year, which Hindsight writes for an open end."""
    return None if moment is None or moment.year in (MINYEAR, MAXYEAR) else moment


_Time = Annotated[Moment | None, BeforeValidator(_nothing_if_empty), AfterValidator(_known)]


class Fact(BaseModel):
    """A memory unit of Hindsight; unknown fields become metadata."""

    model_config = ANY_FIELDS

    id: Name | None = Field(default=None, validation_alias=AliasChoices("id", "source_id"))
    text: str
    fact_type: str = Field(default="world", validation_alias=AliasChoices("fact_type", "type"))
    context: str | None = None
    document_id: Name | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    entities: Annotated[list[str] | None, BeforeValidator(_names)] = None
    occurred_start: _Time = None
    occurred_end: _Time = None
    mentioned_at: _Time = None
    date: _Time = Field(default=None, validation_alias=AliasChoices("date", "event_date"))
    created_at: _Time = None
    updated_at: _Time = None
    state: str | None = None
    invalidated_at: _Time = None


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A fact with its name and place in the export. Targets of ``links`` are names without prefix."""

    fact: Fact
    name: str
    place: str
    bank: str | None = None
    links: tuple[DraftLink, ...] = ()

    def draft(self, key: str, source: str, layer: str | None, links: tuple[DraftLink, ...]) -> Draft:
        """The draft. Raises ValueError for an invalidated fact without a time of invalidation."""
        fact = self.fact
        return Draft(
            body=fact.text.strip(),
            key=key,
            layer=layer or TYPES.get(fact.fact_type, "knowledge"),
            context=fact.context or "",
            source=source,
            session_id=fact.document_id,
            tags=unique([*(fact.entities or []), *(fact.tags or [])]),
            metadata={**(fact.metadata or {}), "hindsight": self._provenance()},
            occurred_at=fact.occurred_start or fact.mentioned_at or fact.date or fact.created_at,
            valid_until=_valid_until(fact),
            links=links,
        )

    def _provenance(self) -> dict[str, Any]:
        fact = self.fact
        return without_empty(
            bank=self.bank,
            id=fact.id,
            fact_type=fact.fact_type,
            document_id=fact.document_id,
            entities=fact.entities,
            occurred_end=_iso(fact.occurred_end),
            mentioned_at=_iso(fact.mentioned_at),
            **{name: value for name, value in (fact.model_extra or {}).items() if name not in _LINKING},
        )


_LINKING = frozenset({"bank", "causal_relations", "source_memory_ids", "sources"})
"""Fields that become links, or that the provenance sets itself."""


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _valid_until(fact: Fact) -> datetime | None:
    if fact.state != "invalidated":
        return None
    if (ended := fact.invalidated_at or fact.updated_at) is None:
        raise ValueError("it was invalidated, but has neither invalidated_at nor updated_at")
    return ended
