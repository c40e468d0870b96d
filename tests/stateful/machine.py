"""A state machine of acts: two tenants in one database that is rolled back, compared after every step."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.conftest import NOW
from tests.databases import runner
from tests.integration.dedupe.dedupe_tools import export
from tests.model.acts.upkeep import Upkeep
from tests.model.acts.writing import LAYERS
from tests.model.book import Book
from tests.model.faces import Sql, Values
from tests.model.judging import Judge
from tests.model.parameters import PRESETS, Rates
from tests.model.stage import Act, Face, Reached

KEYS = tuple(f"k{place}" for place in range(6))
RELATIONS = ("links_to", "mentions", "next", "part_of")
WORDS = ("amber", "birch", "cedar")
PAUSES = (0, 0, 0, 0, 1, 300, 660, 3600, 86_400, 9 * 86_400, 40 * 86_400)
"""Seconds before an act."""

CHANGES = (
    ("vitality.spread_weight", 2.0), ("vitality.revival_weight", 0.3), ("vitality.stretch_per_link", 0.4),
    ("vitality.spread_half_life_days", 2.0), ("vitality.protection_floor", 0.2),
    ("access.burst_minutes", 3.0), ("access.burst_minutes", 0.0),
    ("access.weight_retrieval", 0.4), ("access.weight_read", 0.0),
    ("access.weight_used", 2.5), ("spread.damping", 1.0), ("graph.min_cut", 1.0), ("prune.grace_days", 1.0),
    ("prune.revival_days", 0.0),
)  # fmt: skip
GET = "SELECT g.* FROM unnest(%s::bigint[]) i CROSS JOIN LATERAL recall.get(i, %s) g"
TENANTS = ("acme", "globex")

seeds = st.integers(0, 2**32)


class Play(Upkeep):
    """The acts in SQL, with few keys that drafts share, and settings that change."""

    def __init__(self, connection: psycopg.Connection[Any], counts: Counter[str]) -> None:
        self.admin, self.counts, self.now, self.words = connection, counts, NOW, WORDS
        self.tenants = [Reached(Book(name), Sql("", name, connection)) for name in TENANTS]
        self.judge, self.sent = Judge(WORDS), {}

    def fresh(self, tenant: Reached) -> Values:  # noqa: ARG002 (keys are shared)
        dice = self.dice
        moments = [None if seconds is None else self.now + timedelta(seconds=seconds)
                   for seconds in dice.choices((None, -3600, -86_400 * 50, 300), k=2)]  # fmt: skip
        links = {(dice.choice((*KEYS, "Alpha", "BETA", "nowhere")), dice.choice(RELATIONS))
                 for _ in range(dice.randint(0, 2))}  # fmt: skip
        return {
            "body": self.text(), "key": dice.choice((*KEYS, *KEYS, None)),
            "title": dice.choice(("", "Alpha", "beta")), "layer": dice.choice(LAYERS),
            "role": dice.choice((None, "user")), "author": None, "source": None,
            "tags": list(dice.choice(((), ("red",), ("blue", "red")))), "metadata": {},
            "links": [{"target": target, "relation": relation} for target, relation in sorted(links)],
            "occurred_at": moments[0], "valid_from": None, "valid_until": moments[1],
            "expires_at": moments[1], "pinned": dice.random() < 0.25,
        }  # fmt: skip

    def text(self) -> str:
        return " ".join(self.dice.sample(self.words, self.dice.randint(1, 2)))

    def merge_and_undo(self, tenant: Reached, face: Face) -> None:
        """A merge hands everything over to the keeper, and its undoing brings all of it back."""
        again = {**self.one(tenant).draft, "key": None, "pinned": False, "links": []}
        again["body"] += "!"
        self.stored(tenant, [again], face.remember([again], self.now), face.name)
        self.run_job(tenant, "fold")
        tenant.sql.value("find_duplicates()")
        run, name = runner(self.admin), tenant.book.tenant
        before = export(run, tenant=name)
        self.dedupe(tenant, face)
        self.compare(tenant)
        if tenant.merged is not None:
            self.dedupe(tenant, face)
        assert export(run, tenant=name) == before

    def change_layer(self, tenant: Reached, _: Face) -> None:
        """Another rate and other zones, or the database's own again."""
        book, sql, dice = tenant.book, tenant.sql, self.dice
        layer, rate = dice.choice(LAYERS), dice.choice((None, 0.2, 1.0, 4.0))
        before = book.rates(layer)
        if rate is None:
            dropped = sql.value("drop_layer(%s, %s)", layer, self.now)
            assert dropped == (book.layers.pop(layer, None) is not None)
            return
        reading, birth, zones = dice.choice(("clock", "exponent")), dice.choice((1.0, 2.5)), (0.7, 0.35, 0.2)
        call = "set_layer(%s, %s, %s, 0.5, %s, %s, %s, %s, p_now => %s)"
        changed = sql.value(call, layer, rate, reading, birth, *zones, self.now)
        after = book.layers[layer] = Rates(rate, reading, 0.5, birth, zones)
        held = sum(memory.layer == layer for memory in book.memories.values())
        assert changed == held * (before.aging != after.aging)

    def use_preset(self, tenant: Reached, _: Face) -> None:
        preset = self.dice.choice(list(PRESETS))
        tenant.sql.rows("use_preset(%s, %s)", preset, self.now)
        tenant.book.use_preset(preset)

    def configure(self, tenant: Reached, _: Face) -> None:
        name, value = self.dice.choice(CHANGES)
        back = self.dice.random() < 0.5
        tenant.sql.rows("set_setting(%s, %s)", name, None if back else value)
        if back:
            tenant.book.settings.pop(name, None)
        else:
            tenant.book.settings[name] = value

    def compare(self, tenant: Reached) -> None:
        """Every memory that this tenant gets, by whatever id, and no other."""
        every = [one for each in self.tenants for one in each.book.memories]
        rows = runner(self.admin)(GET, (every, self.now), tenant=tenant.book.tenant)
        assert {row["id"] for row in rows} == set(tenant.book.memories)
        for row in rows:
            self.judge.memory(tenant.book, tenant.book.memories[row["id"]], row, self.now)


ACTS: tuple[Act, ...] = (
    Play.remember, Play.remember_wrongly, Play.record, Play.record_nearly, Play.link, Play.supersede,
    Play.forget, Play.pin, Play.edit, Play.restore, Play.ask, Play.show, Play.verdict, Play.look,
    Play.look_around, Play.job, Play.prune, Play.apply_any, Play.undo, Play.merge_and_undo, Play.change_layer,
    Play.use_preset, Play.configure, Play.trespass,
)  # fmt: skip


class Machine(RuleBasedStateMachine):
    """Plays acts drawn by seed. Of a rule for each act, Hypothesis would leave most out of a history."""

    connection: psycopg.Connection[Any]
    counts: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._stack.enter_context(self.connection.transaction(force_rollback=True))
        self.stage = Play(self.connection, self.counts)

    def _play(self, act: Act, tenant: Reached, dice: Random) -> None:
        self.stage.dice = dice
        try:
            act(self.stage, tenant, tenant.sql)
        except Exception as problem:
            problem.add_note(f"{act.__name__} in {tenant.book.tenant}")
            raise
        self.counts[act.__name__] += 1

    @initialize(ago=st.sampled_from((0, 90, 400)), seed=seeds)
    def begin(self, ago: int, seed: int) -> None:
        """Some old memories for each: without any, most acts have nothing to do."""
        self.stage.now -= timedelta(days=ago)
        dice = Random(seed)
        first = (*4 * [Play.remember], *2 * [Play.link], *2 * [Play.record])
        for tenant in self.stage.tenants:
            for act in first:
                self._play(act, tenant, dice)
        self.stage.now += timedelta(days=ago)

    @rule(number=st.sampled_from((0, 1)), seed=seeds, seconds=st.sampled_from(PAUSES))
    def play(self, number: int, seed: int, seconds: int) -> None:
        self.stage.now += timedelta(seconds=seconds)
        tenant, dice = self.stage.tenants[number], Random(seed)
        if tenant.book.memories:
            self._play(dice.choice(ACTS), tenant, dice)

    @invariant()
    def is_as_the_model_says(self) -> None:
        for tenant in self.stage.tenants:
            self.stage.compare(tenant)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is not None:  # a failed example ends here, and what failed is told
                return
            for tenant in self.stage.tenants:
                if tenant.book.memories:
                    self._play(Play.merge_and_undo, tenant, Random(0))
                for job in ("fold", "verify", "rebuild"):
                    self.stage.run_job(tenant, job)
                self.stage.compare(tenant)
        finally:
            self._stack.close()
