"""How writing changes what a tenant has: drafts, edits, links, replacements, and what is forgotten."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.model.history import UNSAID, Past, stored_fields
from tests.model.noted import Noted
from tests.model.state import State
from tests.model.vitality import Event, fraction

APART = frozenset({"next", "contradicts", "supersedes"})
"""Relations between memories that are not the same."""


@dataclass
class Writing(State):
    def outcome(self, draft: Mapping[str, Any], *, embeds: bool, revive: bool = True) -> str:
        """What storing this draft comes to; plain SQL stores no vector, and a new vector is an update."""
        known = self.by_key(draft["key"])
        if known is None:
            return "created"
        same = not self.differs(known, draft) and (known.pinned or not draft.get("pinned"))
        if known.archived is not None:
            return "unchanged" if same and not revive else "revived"
        return "unchanged" if same and (known.embedded or not embeds) else "updated"

    @staticmethod
    def differs(known: Noted, draft: Mapping[str, Any]) -> bool:
        return stored_fields(draft) != stored_fields(known.draft) or any(
            draft.get(name) != known.draft.get(name) for name in UNSAID
        )

    def store(
        self, memory_id: int, draft: dict[str, Any], outcome: str, face: str, now: datetime, *, embeds: bool
    ) -> None:
        """Notes a draft that was stored with this outcome; `connect` draws its links."""
        pinned = bool(draft.get("pinned"))
        if outcome == "created":
            begin = min(draft.get("occurred_at") or now, now)
            birth = Event(begin, "write", None, fraction(self.rates(draft["layer"]).birth), now)
            self.memories[memory_id] = Noted(memory_id, draft, now, [birth], Past(now), embeds, pinned)
            self.changes.add("new", [memory_id], now)
        if outcome in ("created", "unchanged"):
            return
        memory = self.memories[memory_id]
        rewritten = self.rewrite(memory, draft, face, now)
        memory.pinned |= pinned
        memory.embedded = embeds or (memory.embedded and not rewritten)
        if memory.archived is not None:
            self.restore(memory, now)
            rewritten = True
        if rewritten:
            self.written(memory, now)

    def connect(self, stored: Sequence[tuple[dict[str, Any], int, str]], now: datetime) -> None:
        """Draws the links of drafts once all of a call are stored, and those that waited for them."""
        wanted = {
            memory_id: {(link["target"], link["relation"]): self.named(link["target"])
                        for link in draft.get("links", ())}
            for draft, memory_id, _ in stored
        }  # fmt: skip
        for draft, memory_id, _ in stored:
            self.links.draft(memory_id, wanted[memory_id], min(draft.get("occurred_at") or now, now))
        self.links.answer({one for _, one, outcome in stored if outcome != "unchanged"}, self.named)
        self._keep_apart()

    def _keep_apart(self) -> None:
        apart = (triple[:2] for triple in self.links.made if triple[2] in APART)
        self.kept_apart |= {*itertools.chain.from_iterable(apart)}

    def written(self, memory: Noted, now: datetime) -> None:
        memory.log.append(Event(now, "write", None, fraction(self.setting("access.weight_write")), now))

    def rewrite(self, memory: Noted, draft: dict[str, Any], face: str, now: datetime) -> bool:
        """Keeps what it said and notes the change, if there is one. Returns whether it has another text."""
        before, content = memory.draft, memory.content
        if self.differs(memory, draft):
            self.changes.add("rewritten", [memory.id], now)
        if stored_fields(draft) != stored_fields(before):
            memory.past.replace(before, now, face)
        memory.draft = draft
        return memory.content != content

    def edit(
        self, memory_id: int, fields: Mapping[str, Any], face: str, now: datetime, *, embeds: bool
    ) -> str:
        """Changes fields; a new text is a write, and plain SQL gives it no vector."""
        memory = self.memories[memory_id]
        draft = {**memory.draft, **fields}
        if not self.differs(memory, draft):
            return "unchanged"
        if self.rewrite(memory, draft, face, now):
            memory.embedded = embeds
            self.written(memory, now)
        return "updated"

    def link(self, source: int, target: int, relation: str, weight: float, now: datetime) -> bool:
        new = self.links.join((source, target, relation), weight, now)
        self._keep_apart()
        return new

    def supersede(self, old: int, new: int, now: datetime) -> bool:
        memory = self.memories[old]
        self.link(new, old, "supersedes", 1.0, now)
        if memory.superseded_by == new:
            return False
        memory.superseded_by, memory.superseded_at = new, now
        self.changes.add("superseded", [old], now, new)
        return True

    def forget(self, memory_id: int, hard: bool, now: datetime) -> bool:
        if not hard:
            return bool(self.archive([memory_id], "forgotten", now))
        self.changes.delete(memory_id, now)
        del self.memories[memory_id]
        self.links.forget(memory_id)
        self.associations.forget(memory_id)
        self.keys_seen = {key: one for key, one in self.keys_seen.items() if one != memory_id}
        self.unfolded = [(one, event) for one, event in self.unfolded if one != memory_id]
        self.verdicts = {pair: said for pair, said in self.verdicts.items() if pair[1] != memory_id}
        for search in self.searches.values():
            search.shown = [one for one in search.shown if one != memory_id]
        for other in self.memories.values():
            other.log = [event for event in other.log if event.merged_from != memory_id]
            other.received = [part for part in other.received if part.source != memory_id]
            if other.superseded_by == memory_id:
                other.superseded_by = other.superseded_at = None
                if other.archived is None:
                    self.changes.add("restored", [other.id], now)
        return True

    def expire(self, now: datetime) -> int:
        ends = ((one, each.draft.get("expires_at")) for one, each in self.memories.items())
        return len(self.archive([one for one, end in ends if end and end <= now], "expired", now))
