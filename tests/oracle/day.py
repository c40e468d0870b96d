"""A random day of eight tenants: each act goes through a face drawn by lot, and into the model's book."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from tests.model.acts.upkeep import Upkeep
from tests.model.acts.writing import LAYERS
from tests.model.faces import Values
from tests.model.judging import Judge
from tests.model.stage import Act, Face, Reached
from tests.model.vitality import DAY
from tests.oracle.faults import FAULTS
from tests.oracle.world import World

SYLLABLES = ("ba", "ko", "lu", "di", "mo", "tu", "ra", "zi", "ne", "vo")
BEGIN = timedelta(hours=30)
"""So long before the run the day begins: it ends before the moment of the run, which services work at."""

LENGTH = timedelta(hours=26)


class Day(Upkeep):
    """What happens, by a seed. The same seed makes the same choices; only the moment of the run differs."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        self.tenants, self.admin = world.tenants, world.admin
        self.dice = random.Random(seed)
        self.now = (datetime.now(UTC) - BEGIN).replace(microsecond=0)
        self.counts: Counter[str] = Counter()
        self.words = ["".join(self.dice.choices(SYLLABLES, k=3)) + "k" for _ in range(40)]
        self.judge = Judge(self.words)
        self.sent = {}

    def fresh(self, tenant: Reached) -> Values:
        dice, number = self.dice, self.dice.randrange(10**6)
        return {
            "body": self.text(), "key": f"{tenant.book.tenant}/{number}", "title": "",
            "layer": dice.choice(LAYERS), "role": dice.choice((None, "user", "assistant")),
            "author": dice.choice((None, "Ann", "Bob")), "source": dice.choice((None, "notes", "chat")),
            "tags": dice.sample(self.words[:6], 2), "metadata": {"n": number % 3},
            "occurred_at": dice.choice((None, self.ago(dice.choice((DAY / 24, DAY, 40 * DAY, 400 * DAY))))),
            "valid_from": None,
            "valid_until": dice.choice((None, None, self.now + dice.choice((-1, 90)) * DAY)),
            "expires_at": dice.choice((None, None, None, self.now + timedelta(hours=1))),
        }  # fmt: skip

    def play(self, steps: int) -> None:
        """So many calls. An error names the seed and the step."""
        longest = max(1, int(LENGTH / timedelta(seconds=1) / steps))
        for step in range(steps):
            self.now += timedelta(seconds=self.dice.randint(1, longest))
            tenant = self.dice.choice(self.world.tenants)
            [act] = self.dice.choices(ACTS, weights=WEIGHTS) if tenant.book.memories else [Day.remember]
            face = self.dice.choice(tenant.faces)
            try:
                act(self, tenant, face)
            except Exception as problem:
                again = f"python -m tests.oracle --minutes 0 --seed {self.seed} --steps {steps}"
                problem.add_note(f"{act.__name__} by {face.name}, step {step}; again: {again}")
                raise
            self.counts[f"{act.__name__} by {face.name}"] += 1

    def end(self) -> None:
        """Folds what is left, and compares every memory of every tenant at several moments."""
        for tenant in self.world.tenants:
            if not tenant.book.memories:
                continue
            for job in ("fold", "verify", "rebuild"):
                self.run_job(tenant, job)
            for memory in tenant.book.memories.values():
                for later in (0, 2, 60, 2000):
                    self.judge.terms(tenant, self.dice.choice(tenant.faces), memory, self.now + later * DAY)
                self.judge.versions(self.dice.choice(tenant.faces), memory, self.dice)
            self.follow(tenant, self.dice.choice(tenant.faces))
            for face in tenant.faces:
                self.judge.log(tenant, face)
                self.judge.status(tenant, face, self.now)

    def follow(self, tenant: Reached, face: Face) -> None:
        """Reads on in the log of changes from where this tenant's reader was."""
        self.world.settle()
        tenant.cursor = self.judge.followed(tenant, face, self.dice)


CHANCES: dict[Act, int] = {
    Day.remember: 18, Day.remember_wrongly: 2, Day.record: 18, Day.record_nearly: 4, Day.link: 8,
    Day.supersede: 3, Day.forget: 4, Day.pin: 3, Day.edit: 6, Day.restore: 3, Day.follow: 4, Day.dedupe: 5,
    Day.ask: 9, Day.show: 1, Day.verdict: 2, Day.look: 14, Day.job: 8, Day.trespass: 3, **FAULTS,
}  # fmt: skip
ACTS, WEIGHTS = list(CHANCES), list(CHANCES.values())
