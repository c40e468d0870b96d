"""Rules of writing: remembering, forgetting, linking, superseding, pinning, layers and settings."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from pgrecall.vitality.parameters import PRESETS, LayerRates, Preset, Reading, ZoneThresholds
from tests.stateful.base import TenantMachine, as_json, document, picks, tenant_names
from tests.stateful.tenant import Draft

KEYS = [f"k{place}" for place in range(6)]
TITLES = ["", "Alpha", "beta"]
WORDS = ["amber", "birch", "cedar"]
LAYERS = ["entity", "knowledge", "episodic", "activity"]
RELATIONS = ["links_to", "mentions", "next", "part_of", "implies", "supports", "contradicts"]
CHANGES = [
    ("vitality.spread_weight", 2.0), ("vitality.revival_weight", 0.3), ("vitality.stretch_per_link", 0.4),
    ("vitality.spread_half_life_days", 2.0), ("vitality.protection_floor", 0.2),
    ("access.burst_minutes", 3.0), ("access.burst_minutes", 0.0),
    ("access.weight_retrieval", 0.4), ("access.weight_read", 0.0),
    ("access.weight_used", 2.5), ("spread.damping", 1.0), ("graph.min_cut", 1.0), ("prune.grace_days", 1.0),
    ("prune.revival_days", 0.0),
]  # fmt: skip

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(" ".join)
drafted = st.tuples(st.sampled_from([*KEYS, "Alpha", "BETA", "nowhere"]), st.sampled_from(RELATIONS[:4]))
seconds = st.sampled_from([None, -3600, -86_400 * 50, 300])
drafts = st.builds(
    Draft,
    body=texts,
    key=st.sampled_from([*KEYS, *KEYS, None]),
    title=st.sampled_from(TITLES),
    layer=st.sampled_from(LAYERS),
    role=st.sampled_from([None, "user"]),
    tags=st.sampled_from([(), ("red",), ("blue", "red")]),
    links=st.lists(drafted, max_size=2, unique=True).map(tuple),
    pinned=st.sampled_from([False, False, False, True]),
)


def batches(least: int) -> st.SearchStrategy[list[Draft]]:
    """Drafts of one call: a key names one memory."""
    return st.lists(drafts, min_size=least, max_size=least + 2, unique_by=lambda one: one.key or id(one))


class Writing(TenantMachine):
    def _dated(self, draft: Draft, occurred: int | None, expires: int | None) -> Draft:
        if occurred is not None:
            draft.occurred = self.now + timedelta(seconds=occurred)
        if expires is not None:
            draft.expires = draft.valid_until = self.now + timedelta(seconds=expires)
        return draft

    @initialize(first=batches(4), second=batches(4), ago=st.sampled_from([0, 30, 90]))
    def begin(self, first: list[Draft], second: list[Draft], ago: int) -> None:
        """Some old memories for each: without any, most rules have nothing to do."""
        self.now -= timedelta(days=ago)
        for tenant, batch in zip(self.tenants, (first, second), strict=True):
            self.remember(tenant, batch, None, None, revive=True)
        self.now += timedelta(days=ago)

    @rule(tenant=tenant_names, batch=batches(1), occurred=seconds, expires=seconds, revive=st.booleans())
    def remember(
        self, tenant: str, batch: list[Draft], occurred: int | None, expires: int | None, revive: bool
    ) -> None:
        model = self.tenants[tenant]
        dated = [self._dated(draft, occurred, expires) for draft in batch]
        outcomes = [model.outcome(draft, revive=revive) for draft in dated]
        call = "SELECT * FROM recall.remember_many(%s::jsonb, p_now => %s, p_revive => %s)"
        rows = self.sql(tenant, call, document([as_json(draft) for draft in dated]), self.now, revive)
        assert [(row["key"], row["outcome"]) for row in rows] == [
            (draft.key, outcome) for draft, outcome in zip(dated, outcomes, strict=True)
        ]
        stored = [(draft, row["id"], outcome)
                  for draft, row, outcome in zip(dated, rows, outcomes, strict=True)]  # fmt: skip
        for draft, memory, outcome in stored:
            model.remember(draft, memory, outcome, self.now)
        model.connect(stored, self.now)

    @rule(tenant=tenant_names, draft=drafts, bad=st.sampled_from(["layer", "title", "times"]))
    def remember_what_cannot_be(self, tenant: str, draft: Draft, bad: str) -> None:
        good, wrong = as_json(draft) | {"key": None}, as_json(draft) | {"key": "bad"}
        wrong |= {"layer": {"layer": "nowhere"}, "title": {"title": "x" * 1001},
                  "times": {"occurred_at": self.now + timedelta(days=9)}}[bad]  # fmt: skip
        call = "recall.remember_many(%s::jsonb, p_now => %s)"
        self.refused(tenant, call, document([good, wrong]), self.now)

    @rule(tenant=tenant_names, number=picks, hard=st.sampled_from([False, False, True]))
    def forget(self, tenant: str, number: int, hard: bool) -> None:
        model, memory = self.tenants[tenant], self.pick(tenant, number)
        if memory is None:
            return
        changed = self.value(tenant, "recall.forget(%s, %s, %s)", memory.id, hard, self.now)
        assert changed == (hard or memory.live)
        if hard:
            model.forget(memory.id)
        else:
            model.archive([memory.id], "forgotten", self.now)

    def expire(self, tenant: str) -> None:
        model = self.tenants[tenant]
        gone = model.archive(model.expired(self.now), "expired", self.now)
        assert self.value(tenant, "recall.expire_memories(p_now => %s)", self.now) == len(gone)

    @rule(tenant=tenant_names, one=picks, two=picks, relation=st.sampled_from(RELATIONS),
          weight=st.sampled_from([0.5, 1.0, 2.0]))  # fmt: skip
    def link(self, tenant: str, one: int, two: int, relation: str, weight: float) -> None:
        source, target = self.pick(tenant, one), self.pick(tenant, two)
        if source is None or target is None:
            return
        call = "recall.link(%s, %s, %s, %s, %s)"
        if source is target:
            self.refused(tenant, call, source.id, target.id, relation, weight, self.now)
            return
        new = self.value(tenant, call, source.id, target.id, relation, weight, self.now)
        assert new == self.tenants[tenant].links.join((source.id, target.id, relation), weight, self.now)

    @rule(tenant=tenant_names, one=picks, two=picks)
    def supersede(self, tenant: str, one: int, two: int) -> None:
        model, old, new = self.tenants[tenant], self.pick(tenant, one), self.pick(tenant, two)
        if old is None or new is None:
            return
        if old is new or old.id in model.successors(new.id):
            self.refused(tenant, "recall.supersede(%s, %s, %s)", old.id, new.id, self.now)
            return
        changed = self.value(tenant, "recall.supersede(%s, %s, %s)", old.id, new.id, self.now)
        assert changed == (old.superseded_by != new.id)
        old.superseded_by = new.id
        model.links.join((new.id, old.id, "supersedes"), 1.0, self.now)
        chain = self.sql(tenant, "SELECT successor FROM recall.successors(%s) ORDER BY step", [old.id])
        assert [row["successor"] for row in chain] == model.successors(old.id)

    @rule(tenant=tenant_names, number=picks, pinned=st.booleans())
    def pin(self, tenant: str, number: int, pinned: bool) -> None:
        memory = self.pick(tenant, number)
        if memory is not None:
            changed = self.value(tenant, "recall.pin(%s, %s, %s)", memory.id, pinned, self.now)
            assert changed == (memory.pinned != pinned)
            memory.pinned = pinned

    @rule(tenant=tenant_names, layer=st.sampled_from(LAYERS), rate=st.sampled_from([None, 0.2, 1.0, 4.0]),
          reading=st.sampled_from(["clock", "exponent"]), birth=st.sampled_from([1.0, 2.5]))  # fmt: skip
    def change_layer(
        self, tenant: str, layer: str, rate: float | None, reading: Reading, birth: float
    ) -> None:
        """Another rate and other zones, or the database's own again."""
        model = self.tenants[tenant]
        before = model.rates()[layer]
        if rate is None:
            dropped = self.value(tenant, "recall.drop_layer(%s, %s)", layer, self.now)
            assert dropped == (model.layers.pop(layer, None) is not None)
            return
        zones = ZoneThresholds(0.7, 0.35, 0.2)
        bounds = (zones.active, zones.stale, zones.fading)
        call = "recall.set_layer(%s, %s, %s, 0.5, %s, %s, %s, %s, p_now => %s)"
        changed = self.value(tenant, call, layer, rate, reading, birth, *bounds, self.now)
        after = model.layers[layer] = LayerRates(rate, reading, 0.5, birth, zones)
        moved = (before.clock, before.effective_decay) != (after.clock, after.effective_decay)
        assert changed == sum(memory.layer == layer for memory in model.memories.values()) * moved

    @rule(tenant=tenant_names, preset=st.sampled_from(list(PRESETS)))
    def use_preset(self, tenant: str, preset: Preset) -> None:
        self.sql(tenant, "SELECT recall.use_preset(%s, %s)", preset, self.now)
        self.tenants[tenant].use_preset(preset)

    @rule(tenant=tenant_names, change=st.sampled_from(CHANGES), back=st.booleans())
    def configure(self, tenant: str, change: tuple[str, float], back: bool) -> None:
        name, value = change
        self.sql(tenant, "SELECT recall.set_setting(%s, %s)", name, None if back else value)
        if back:
            self.tenants[tenant].settings.pop(name, None)
        else:
            self.tenants[tenant].settings[name] = value
