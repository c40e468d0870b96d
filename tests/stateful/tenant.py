"""A simple model of one tenant: dictionaries and the pure mathematics, written from the documentation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pgrecall.vitality.parameters import PRESETS, LayerRates, Preset, VitalityWeights
from pgrecall.vitality.score import ActivationTerms
from tests.stateful.association import Associations, first_uses
from tests.stateful.links import Links, cut_sizes
from tests.stateful.remembered import USES, Archived, Received, Remembered, Surroundings, terms_of
from tests.vitality_reference.spreading import spread_targets

SETTINGS = {
    "access.burst_minutes": 10.0, "access.weight_read": 1.0, "access.weight_reference": 1.0,
    "access.weight_retrieval": 0.1, "access.weight_used": 1.0, "access.weight_write": 1.0,
    "association.half_life_days": 180.0, "association.window_minutes": 60.0, "graph.min_cut": 3.0,
    "prune.grace_days": 30.0, "prune.revival_days": 14.0, "spread.damping": 0.6, "spread.fan_exponent": 0.5,
}  # fmt: skip


@dataclass
class Draft:
    """What is asked to be remembered."""

    body: str
    key: str | None = None
    title: str = ""
    layer: str = "knowledge"
    role: str | None = None
    tags: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    occurred: datetime | None = None
    expires: datetime | None = None
    valid_until: datetime | None = None
    pinned: bool = False


@dataclass
class Tenant:
    """All that one tenant has; ids are given by the database."""

    memories: dict[int, Remembered] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    layers: dict[str, LayerRates] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    keys_seen: dict[str, int] = field(default_factory=dict)
    associations: Associations = field(default_factory=Associations)
    searches: dict[int, tuple[str | None, dict[int, str | None], datetime]] = field(default_factory=dict)
    queued: int = 0
    min_cut: float = 3.0
    """As it was when the graph was last looked at."""

    # What is in force

    def setting(self, name: str) -> float:
        return self.settings.get(name, SETTINGS[name])

    @property
    def weights(self) -> VitalityWeights:
        names = {
            name: name.removeprefix("vitality.") for name in self.settings if name.startswith("vitality.")
        }
        return replace(VitalityWeights(), **{short: self.settings[name] for name, short in names.items()})

    @property
    def burst(self) -> float:
        return 60 * self.setting("access.burst_minutes")

    def rates(self) -> dict[str, LayerRates]:
        return {**PRESETS["default"].layers, **self.layers}

    def live(self) -> set[int]:
        return {memory.id for memory in self.memories.values() if memory.live}

    def by_key(self, key: str) -> Remembered | None:
        return next((memory for memory in self.memories.values() if memory.key == key), None)

    def named(self, target: str) -> int | None:
        """What a link to this name goes to: the memory with that key, else the oldest with that title."""
        if found := self.by_key(target):
            return found.id
        titled = [m.id for m in self.memories.values() if m.title and m.title.lower() == target.lower()]
        return min(titled, default=None)

    def around(self, memory: Remembered) -> Surroundings:
        cited = self.links.citing(memory.id, self.live())
        newest = max(cited.values(), default=None)
        return Surroundings(self.rates()[memory.layer], self.weights, self.burst, len(cited), newest)

    def terms(self, memory: Remembered, now: datetime) -> ActivationTerms:
        return terms_of(memory, self.around(memory), now)

    def protected(self, memory: Remembered) -> bool:
        return memory.cut_size >= self.min_cut

    def retention(self, memory: Remembered, now: datetime) -> float:
        floored = memory.pinned or self.protected(memory)
        return self.terms(memory, now).retention(protected=floored, weights=self.weights)

    def zone(self, memory: Remembered, now: datetime) -> str:
        return self.rates()[memory.layer].zones.zone(self.retention(memory, now))

    # Writing

    def outcome(self, draft: Draft, *, revive: bool = True) -> str:
        """What remembering this comes to."""
        known = self.by_key(draft.key) if draft.key is not None else None
        if known is None:
            return "created"
        names = ("layer", "title", "body", "role", "tags", "occurred", "expires", "valid_until")
        same = all(getattr(draft, name) == getattr(known, name) for name in names)
        same = same and (known.pinned or not draft.pinned)
        if same and (known.live or not revive):
            return "unchanged"
        return "updated" if known.live else "revived"

    def remember(self, draft: Draft, memory_id: int, outcome: str, now: datetime) -> None:
        """Stores a draft; links are drawn by `connect` once all drafts of the call are stored."""
        if outcome == "unchanged":
            return
        if outcome == "created":
            self._create(draft, memory_id, now)
            return
        memory = self.memories[memory_id]
        rewritten = not memory.live or memory.content != (draft.title, draft.body)
        memory.layer, memory.title, memory.body = draft.layer, draft.title, draft.body
        memory.role, memory.tags = draft.role, draft.tags
        memory.expires, memory.valid_until = draft.expires, draft.valid_until
        memory.pinned = memory.pinned or draft.pinned
        memory.archived = None
        memory.occurred = draft.occurred
        if rewritten:
            memory.write(now, self.setting("access.weight_write"), now)

    def _create(self, draft: Draft, memory_id: int, now: datetime) -> None:
        born = min(draft.occurred or now, now)
        memory = Remembered(
            memory_id, draft.key, draft.layer, draft.title, draft.body, draft.role, draft.tags, now, born,
            draft.occurred, draft.expires, draft.valid_until, draft.pinned,
        )  # fmt: skip
        memory.write(born, self.rates()[draft.layer].birth_weight, now)
        self.memories[memory_id] = memory

    def connect(self, stored: Sequence[tuple[Draft, int, str]], now: datetime) -> None:
        wanted = {
            memory_id: {(target, relation): self.named(target) for target, relation in draft.links}
            for draft, memory_id, _ in stored
        }
        for draft, memory_id, _ in stored:
            self.links.draft(memory_id, wanted[memory_id], min(draft.occurred or now, now))
        changed = {memory_id for _, memory_id, outcome in stored if outcome != "unchanged"}
        self.links.answer(changed, self.named)

    def archive(
        self, memories: Iterable[int], reason: str, now: datetime, plan: int | None = None
    ) -> list[int]:
        gone = [one for one in memories if self.memories[one].live]
        for one in gone:
            self.memories[one].archived = Archived(reason, now, plan)
        return gone

    def forget(self, memory_id: int) -> None:
        """Removes a memory and everything about it."""
        del self.memories[memory_id]
        self.links.forget(memory_id)
        self.associations.forget(memory_id)
        self.keys_seen = {key: one for key, one in self.keys_seen.items() if one != memory_id}
        for memory in self.memories.values():
            memory.received = [one for one in memory.received if one.source != memory_id]
            if memory.superseded_by == memory_id:
                memory.superseded_by = None

    def successors(self, memory_id: int) -> list[int]:
        """What replaces a memory, at any remove, the next first."""
        chain: list[int] = []
        following = self.memories[memory_id].superseded_by
        while following is not None:
            chain.append(following)
            following = self.memories[following].superseded_by
        return chain

    def expired(self, now: datetime) -> list[int]:
        return [m.id for m in self.memories.values() if m.live and m.expires is not None and m.expires <= now]

    # Use

    def record(self, uses: Sequence[Mapping[str, Any]], now: datetime) -> int:
        """Records accesses told in one call; returns how many were new."""
        ordered = sorted(uses, key=lambda use: use["at"])
        new = [use for use in ordered if self._is_new(uses, use)]
        told = [(use, self._spread(use, ordered, now)) for use in new]
        self.keys_seen |= {use["idempotency_key"]: use["memory_id"] for use in new}
        weightless = [kind for kind in USES if self.setting(f"access.weight_{kind}") == 0]
        first = first_uses(self.memories, new, weightless)
        for use, amounts in told:
            memory = self.memories[use["memory_id"]]
            weight = self.setting(f"access.weight_{use['kind']}")
            memory.record(use["at"], weight, use["kind"], use["session_id"], now)
            for reached, amount in amounts.items():
                self.memories[reached].received.append(Received(memory.id, amount, use["at"]))
            if use["kind"] in USES and weight > 0 and memory.archived and memory.archived.reason == "pruned":
                memory.archived = None
        window, half_life = (self.setting(f"association.{n}") for n in ("window_minutes", "half_life_days"))
        self.associations.tell(self.memories, first, window, half_life)
        return len(new)

    def _is_new(self, uses: Sequence[Mapping[str, Any]], use: Mapping[str, Any]) -> bool:
        key = use["idempotency_key"]
        first = next(one for one in uses if one["idempotency_key"] == key)
        return key is None or (key not in self.keys_seen and use is first)

    def _spread(
        self, use: Mapping[str, Any], uses: Sequence[Mapping[str, Any]], now: datetime
    ) -> dict[int, float]:
        """What a use passes on, by the graph as it is when it is told."""
        memory, weight = self.memories[use["memory_id"]], self.setting(f"access.weight_{use['kind']}")
        horizon = timedelta(days=10 * self.weights.spread_half_life_days)
        if use["kind"] not in USES or weight == 0 or use["at"] <= now - horizon:
            return {}
        alike = ("memory_id", "kind", "session_id")
        before = [one["at"] for one in itertools.takewhile(lambda one: one is not use, uses)
                  if all(one[name] == use[name] for name in alike)]  # fmt: skip
        close = timedelta(seconds=self.burst)
        if use["session_id"] is not None and any(use["at"] - at < close for at in before):
            return {}
        if memory.has_repeat(use["at"], use["kind"], use["session_id"], self.burst):
            return {}
        return spread_targets(
            memory.id,
            lambda one: self.links.neighbours(one, self.live(), use["at"]),
            min(weight, 1.0),
            self.setting("spread.damping"),
            fan_exponent=self.setting("spread.fan_exponent"),
        )

    def show(self, memories: Iterable[int], session: str | None, now: datetime) -> None:
        """Logs that a search showed these, for the fold to come."""
        for one in memories:
            self.memories[one].record(now, self.setting("access.weight_retrieval"), "retrieval", session, now)
            self.memories[one].waiting = True

    # Maintenance

    def look_at_graph(self) -> None:
        self.min_cut = self.setting("graph.min_cut")
        sizes = cut_sizes(self.links.graph(self.live()))
        for memory in self.memories.values():
            memory.cut_size = sizes.get(memory.id, 0)

    def use_preset(self, name: Preset) -> None:
        self.layers |= PRESETS[name].layers
        self.settings["vitality.revival_days"] = PRESETS[name].weights.revival_days

    def prune_candidates(self, now: datetime) -> list[int]:
        """Live memories in the dormant zone that nothing speaks for."""
        quiet = now - timedelta(days=self.setting("prune.grace_days"))
        unlinked = now - timedelta(days=self.setting("prune.revival_days"))
        return [m.id for m in self.memories.values() if self._is_candidate(m, quiet, unlinked, now)]

    def _could_be_used(self, m: Remembered, quiet: datetime) -> bool:
        uses = [one.access for other in self.memories.values() for one in other.log]
        times = [use.at for use in uses if use.kind != "write" and use.at < quiet.timestamp()]
        return (m.occurred or m.created) >= m.created - timedelta(days=1) or m.created.timestamp() < max(
            times, default=0.0
        )

    def _is_candidate(self, m: Remembered, quiet: datetime, unlinked: datetime, now: datetime) -> bool:
        linked = self.around(m).last_linked
        return (
            m.live
            and not m.pinned
            and not self.protected(m)
            and self.zone(m, now) == "dormant"
            and m.created < quiet
            and self._could_be_used(m, quiet)
            and m.folded(self.burst).summary.recent[0] < quiet.timestamp()
            and (linked is None or linked < unlinked)
        )
