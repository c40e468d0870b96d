"""The model of one tenant: how use, searches, settings and looks at the graph change it, beside writing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.integration.prune.prune_tools import cut_off
from tests.model.association import first_uses
from tests.model.noted import Noted, Received
from tests.model.parameters import PRESETS, REVIVAL_DAYS, USES
from tests.model.spreading import spread_targets
from tests.model.state import Search
from tests.model.vitality import Event, fraction, without_repeats
from tests.model.writing import Writing

Use = Mapping[str, Any]


@dataclass
class Book(Writing):
    # Use

    def weight(self, kind: str) -> float:
        return self.setting(f"access.weight_{kind}")

    def can_record(self, use: Use, now: datetime) -> bool:
        """Not before the memory, nor in the future, but for five minutes by which clocks may differ."""
        leeway, born = timedelta(minutes=5), self.memories[use["memory_id"]].born
        return bool(born - leeway <= use["at"] <= now + leeway)

    def record(self, uses: Sequence[Use], now: datetime) -> int:
        """Records accesses told in one call; those with a known key are ignored. Returns how many are new."""
        ordered = sorted(uses, key=lambda use: use["at"])
        new = [use for use in ordered if self._is_new(uses, use)]
        told = [(use, self._passed_on(use, ordered, now)) for use in new]
        self.keys_seen |= {
            use["idempotency_key"]: use["memory_id"] for use in new if use["idempotency_key"] is not None
        }
        first = first_uses(self.memories, new, [kind for kind in USES if self.weight(kind) == 0])
        for use, amounts in told:
            memory, kind = self.memories[use["memory_id"]], use["kind"]
            memory.log.append(Event(use["at"], kind, use["session_id"], fraction(self.weight(kind)), now))
            for reached, amount in amounts.items():
                self.memories[reached].received.append(Received(memory.id, amount, use["at"]))
            pruned = memory.archived is not None and memory.archived.reason == "pruned"
            if pruned and kind in USES and self.weight(kind) > 0:
                self.restore(memory, now)
        window, half_life = (self.setting(f"association.{n}") for n in ("window_minutes", "half_life_days"))
        self.associations.tell(self.memories, first, window, half_life)
        return len(new)

    def _is_new(self, uses: Sequence[Use], use: Use) -> bool:
        key = use["idempotency_key"]
        first = next(one for one in uses if one["idempotency_key"] == key)
        return key is None or (key not in self.keys_seen and use is first)

    def _passed_on(self, use: Use, uses: Sequence[Use], now: datetime) -> dict[int, float]:
        """What a use that repeats none passes on, by the graph as it is when it is told."""
        memory, at, weight = self.memories[use["memory_id"]], use["at"], self.weight(use["kind"])
        horizon = timedelta(days=10 * self.setting("vitality.spread_half_life_days"))
        if use["kind"] not in USES or weight == 0 or at <= now - horizon:
            return {}
        alike = ("memory_id", "kind", "session_id")
        before = [Event(one["at"], one["kind"], one["session_id"], fraction(1), now)
                  for one in itertools.takewhile(lambda one: one is not use, uses)
                  if all(one[name] == use[name] for name in alike)]  # fmt: skip
        event = Event(at, use["kind"], use["session_id"], fraction(1), now)
        if not any(kept is event for kept in without_repeats([*memory.log, *before, event], self.burst)):
            return {}
        return spread_targets(
            memory.id,
            lambda one: self.links.neighbours(one, self.live, at),
            min(weight, 1.0),
            self.setting("spread.damping"),
            fan_exponent=self.setting("spread.fan_exponent"),
        )

    # Searches

    def shown(self, search: int | None, session: str | None, ids: Iterable[int], at: datetime) -> None:
        """Notes a logged search; what it showed counts once it is folded."""
        if search is not None:
            self.searches[search] = Search(session, list(ids), at)
            self.queued += bool(self.searches[search].shown)
        event = Event(at, "retrieval", session, fraction(self.weight("retrieval")), at)
        self.unfolded += [(one, event) for one in ids]

    def fold(self) -> None:
        for memory_id, event in self.unfolded:
            self.memories[memory_id].log.append(event)
        self.unfolded.clear()
        self.queued = 0

    def judge(self, search: int, ids: Sequence[int], verdict: str, now: datetime) -> int:
        """A verdict on what a search showed; `used` is an access as well, once."""
        new = sum(self.verdicts.get((search, one)) != verdict for one in ids)
        self.verdicts |= {(search, one): verdict for one in ids}
        if verdict == "used":
            self.record([
                {"memory_id": one, "kind": "used", "at": now, "session_id": self.searches[search].session,
                 "idempotency_key": f"recall.used {search} {one}"} for one in ids
            ], now)  # fmt: skip
        return new

    def feedback(self) -> dict[int, list[int]]:
        """How often each memory was shown, used and rejected."""
        counts: dict[int, list[int]] = {}
        for number, search in self.searches.items():
            for one in search.shown:
                said = self.verdicts.get((number, one))
                row = counts.setdefault(one, [0, 0, 0])
                for place, counted in enumerate((True, said == "used", said == "rejected")):
                    row[place] += counted
        return counts

    # Settings and the graph

    def use_preset(self, name: str) -> None:
        self.layers |= PRESETS[name]
        self.settings["vitality.revival_days"] = REVIVAL_DAYS[name]

    def look_at_graph(self) -> None:
        self.min_cut = self.setting("graph.min_cut")
        graph = self.links.graph(self.live)
        for memory in self.memories.values():
            memory.cut_size = cut_off(graph, {memory.id})

    def prune_candidates(self, now: datetime) -> set[int]:
        """Live memories in the dormant zone that nothing speaks for."""
        quiet = now - timedelta(days=self.setting("prune.grace_days"))
        unlinked = now - timedelta(days=self.setting("prune.revival_days"))
        uses = [event.at for each in self.memories.values() for event in each.log if event.kind != "write"]
        used = max((at for at in uses if at < quiet), default=None)

        def could_be_used(memory: Noted) -> bool:
            backdated = memory.happened < memory.created - timedelta(days=1)
            return not backdated or (used is not None and memory.created < used)

        def quiet_since(memory: Noted) -> bool:
            linked = self.last_linked(memory)
            return (self.whole_accesses(memory)[-1] < quiet) and (linked is None or linked < unlinked)

        return {
            one.id for one in self.memories.values()
            if one.archived is None and not one.pinned and not self.protected(one) and one.created < quiet
            and could_be_used(one) and quiet_since(one) and self.zone(one, now) == "dormant"
        }  # fmt: skip
