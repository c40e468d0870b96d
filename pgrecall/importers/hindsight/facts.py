"""A fact from any of Hindsight's exports, and its draft."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pgrecall.importers.fields import Fields, Rules
from pgrecall.importers.json_records import record_fields, required_field, without_empty
from pgrecall.importers.text import unique
from pgrecall.nouns.memories.models import Draft, DraftLink

TYPES = {"world": "knowledge", "opinion": "knowledge", "observation": "knowledge", "experience": "episodic"}
"""The layer of each kind of fact."""

_KIND_OF_ENTITY = re.compile(r"(?<!\s)\s*\([A-Z_]+\)$")
_TIMES = frozenset({
    "occurred_start", "occurred_end", "mentioned_at", "date", "event_date", "created_at", "updated_at",
    "invalidated_at",
})  # fmt: skip
_OPEN = ("0001-", "9999-")
"""The first and last year, which Hindsight writes for an open end."""

_LINKING = frozenset({"bank", "causal_relations", "source_memory_ids", "sources"})
"""Fields that become links, or that the provenance sets itself."""


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A record of a fact with its name and place in the export.

    Targets of ``links`` are names without prefix.

    Attributes:
        document: its document, if the record does not name it.
        kind: its kind, if the record does not name it.
    """

    record: object
    name: str
    place: str
    bank: str | None = None
    links: tuple[DraftLink, ...] = ()
    document: str | None = None
    kind: str | None = None

    def fields(self, rules: Rules) -> Fields:
        """The fields of the record, without ends that are open. Raises ValueError if it is no object."""
        if not isinstance(self.record, dict):
            return record_fields(self.record, rules)
        return Fields(
            {name: value for name, value in self.record.items() if not _is_open(name, value)}, rules
        )

    def draft(
        self, fields: Fields, key: str, source: str, layer: str | None, links: tuple[DraftLink, ...]
    ) -> Draft:
        """The draft. Raises ValueError without a text, or if it was invalidated at no known time."""
        body = required_field(fields, "text").strip()
        kind = self.kind or fields.take("text", "fact_type", "type") or "world"
        document = self.document or fields.take("session_id", "document_id")
        own = fields.take("key", "id", "source_id")
        entities = [_KIND_OF_ENTITY.sub("", name) for name in fields.take("tags", "entities") or ()]
        start, end = fields.take("occurred_at", "occurred_start"), fields.take("moment", "occurred_end")
        mentioned, dated = (
            fields.take("occurred_at", "mentioned_at"),
            fields.take("occurred_at", "date", "event_date"),
        )
        created, until = fields.take("occurred_at", "created_at"), _valid_until(fields)
        metadata, tags = fields.take("metadata") or {}, unique([*entities, *(fields.take("tags") or ())])
        context = fields.take("context") or ""
        provenance = without_empty(
            bank=self.bank, id=own, fact_type=kind, document_id=document, entities=entities,
            occurred_end=end and end.isoformat(), mentioned_at=mentioned and mentioned.isoformat(),
        )  # fmt: skip
        left = without_empty(**{name: value for name, value in fields.left.items() if name not in _LINKING})
        return Draft(
            body=body,
            key=key,
            layer=layer or TYPES.get(kind, "knowledge"),
            context=context,
            source=source,
            session_id=document,
            tags=tags,
            metadata={**metadata, "hindsight": provenance | left},
            occurred_at=start or mentioned or dated or created,
            valid_until=until,
            links=links,
        )


def _is_open(name: str, value: Any) -> bool:
    return name in _TIMES and isinstance(value, str) and (not value.strip() or value.startswith(_OPEN))


def _valid_until(fields: Fields) -> datetime | None:
    state, invalidated = fields.take("text", "state"), fields.take("valid_until", "invalidated_at")
    updated = fields.take("valid_until", "updated_at")
    if state != "invalidated":
        return None
    if invalidated is None and updated is None:
        raise ValueError("it was invalidated, but has neither invalidated_at nor updated_at")
    ended: datetime | None = invalidated or updated
    return ended


def fact_name(record: object, *names: str) -> str | None:
    """The name of a fact under the first of these fields that has one."""
    return Fields(record).take("key", *names) if isinstance(record, dict) else None
