"""A random day of eight tenants: each call goes through a face drawn by lot, and into the oracle's book."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle import merging, rules
from tests.oracle.faces import Face
from tests.oracle.faults import FAULTS
from tests.oracle.judging import Judge
from tests.oracle.vitality import DAY
from tests.oracle.world import Reached, World

SYLLABLES = ("ba", "ko", "lu", "di", "mo", "tu", "ra", "zi", "ne", "vo")
LAYERS = ("entity", "knowledge", "episodic", "activity")
KINDS = ("read", "reference", "used", "retrieval", "write")
RELATIONS = ("links_to", "mentions", "implies", "supports", "next", "part_of", "contradicts")
JOBS = ("fold", "expire", "statistics", "verify", "rebuild", "vitality")
BEGIN = timedelta(hours=30)
"""So long before the run the day begins: it ends before the moment of the run, which services work at."""

LENGTH = timedelta(hours=26)


class Day:
    """What happens, by a seed. The same seed makes the same choices; only the moment of the run differs."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        self.dice = random.Random(seed)
        self.now = (datetime.now(UTC) - BEGIN).replace(microsecond=0)
        self.begin = self.now
        self.counts: Counter[str] = Counter()
        self.words = ["".join(self.dice.choices(SYLLABLES, k=3)) + "k" for _ in range(40)]
        self.judge = Judge(self.words)
        self.sent: dict[str, list[dict[str, Any]]] = {}
        """Accesses with an idempotency key, by tenant: some are sent again."""

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
            self.run_job(tenant, "fold")
            self.run_job(tenant, "verify")
            self.run_job(tenant, "rebuild")
            for memory in tenant.book.memories.values():
                for later in (0, 2, 60, 2000):
                    self.judge.terms(tenant, self.dice.choice(tenant.faces), memory, self.now + later * DAY)
                self.judge.versions(self.dice.choice(tenant.faces), memory, self.dice)
            self.follow(tenant, self.dice.choice(tenant.faces))
            for face in tenant.faces:
                self.judge.log(tenant, face)
                self.judge.status(tenant, face, self.now)

    # Writing

    def draft(self, tenant: Reached) -> dict[str, Any]:
        """A new memory, or another text or the same one for a known key."""
        dice, known = self.dice, list(tenant.book.memories.values())
        if known and dice.random() < 0.3:
            memory = dice.choice(known)
            changed = dict(memory.draft)
            change = dice.choice(("body", "tags", "nothing"))
            if change == "body":
                changed["body"] = self.text()
            if change == "tags":
                changed["tags"] = [dice.choice(self.words)]
            return changed
        number = dice.randrange(10**6)
        if known and dice.random() < 0.15:
            # What one of them says already, under a key of its own.
            said = {
                "key": f"{tenant.book.tenant}/{number}",
                "tags": [dice.choice(self.words)],
                "expires_at": None,
            }
            return {**dice.choice(known).draft, **said}
        occurred = self.now - dice.choice((timedelta(hours=1), DAY, 40 * DAY, 400 * DAY)) * dice.random()
        return {
            "body": self.text(), "key": f"{tenant.book.tenant}/{number}", "title": "",
            "layer": dice.choice(LAYERS), "role": dice.choice((None, "user", "assistant")),
            "author": dice.choice((None, "Ann", "Bob")), "source": dice.choice((None, "notes", "chat")),
            "tags": dice.sample(self.words[:6], 2), "metadata": {"n": number % 3},
            "occurred_at": dice.choice((None, occurred.replace(microsecond=0))),
            "valid_from": None,
            "valid_until": dice.choice((None, None, self.begin + dice.choice((-1, 90)) * DAY)),
            "expires_at": dice.choice((None, None, None, self.now + timedelta(hours=1))),
        }  # fmt: skip

    def text(self) -> str:
        return " ".join(self.dice.choices(self.words, k=self.dice.randint(3, 9)))

    def remember(self, tenant: Reached, face: Face) -> None:
        drawn = [self.draft(tenant) for _ in range(self.dice.randint(1, 3))]
        drafts = list({draft["key"]: draft for draft in drawn}.values())
        self.stored(tenant, drafts, face.remember(drafts, self.now), face.name)

    def stored(
        self, tenant: Reached, drafts: list[dict[str, Any]], stored: list[tuple[int, str]], face: str
    ) -> None:
        embedded = face != "sql"
        assert len(stored) == len(drafts)
        for draft, (memory_id, outcome) in zip(drafts, stored, strict=True):
            known = tenant.book.by_key(draft["key"])
            assert outcome == tenant.book.remember(draft, embedded), (outcome, draft, known)
            assert known is None or known.id == memory_id
            tenant.book.stored(memory_id, draft, outcome, face, self.now, embedded=embedded)

    def uses(self, tenant: Reached, *, send: bool = True) -> list[dict[str, Any]]:
        """Accesses since the memories exist; some repeat a key that was sent before."""
        items: list[dict[str, Any]] = []
        for _ in range(self.dice.randint(1, 4)):
            memory = self.dice.choice(list(tenant.book.memories.values()))
            since = max(memory.born, self.now - 20 * DAY)
            at = since + timedelta(
                seconds=int((self.now - since).total_seconds() * self.dice.random() ** 0.3)
            )
            key = self.dice.choice((None, f"once {self.dice.randrange(10**9)}"))
            items.append({
                "memory_id": memory.id, "kind": self.dice.choice(KINDS), "at": at,
                "session_id": self.dice.choice((None, "s1", "s2")), "idempotency_key": key,
            })  # fmt: skip
        known = self.sent.setdefault(tenant.book.tenant, [])
        again = [each for each in known if each["memory_id"] in tenant.book.memories]
        if again and self.dice.random() < 0.4:
            items.append({**self.dice.choice(again), "at": self.now})
        if send:
            known += [item for item in items if item["idempotency_key"] is not None]
        return items

    def record(self, tenant: Reached, face: Face) -> None:
        items = self.uses(tenant)
        assert face.record(items, self.now) == tenant.book.record(items)

    def pair(self, tenant: Reached) -> tuple[int, int] | None:
        ids = list(tenant.book.memories)
        if len(ids) < 2:
            return None
        one, other = self.dice.sample(ids, 2)
        return one, other

    def link(self, tenant: Reached, face: Face) -> None:
        if pair := self.pair(tenant):
            relation = self.dice.choice(RELATIONS)
            assert face.link(*pair, relation, self.now) == tenant.book.link(*pair, relation, self.now)

    def supersede(self, tenant: Reached, face: Face) -> None:
        if (pair := self.pair(tenant)) and pair[0] not in tenant.book.successors(pair[1]):
            assert face.supersede(*pair, self.now) == tenant.book.supersede(*pair, self.now)

    def forget(self, tenant: Reached, face: Face) -> None:
        memory, hard = self.dice.choice(list(tenant.book.memories)), self.dice.random() < 0.4
        assert face.forget(memory, hard, self.now) == tenant.book.forget(memory, hard, self.now)

    def pin(self, tenant: Reached, face: Face) -> None:
        memory, pinned = self.dice.choice(list(tenant.book.memories.values())), self.dice.random() < 0.6
        assert face.pin(memory.id, pinned, self.now) == (memory.pinned != pinned)
        memory.pinned = pinned

    def edit(self, tenant: Reached, face: Face) -> None:
        """Other values for one or two fields, or what they are already."""
        dice, memory = self.dice, self.dice.choice(list(tenant.book.memories.values()))
        offered: dict[str, Any] = {
            "body": self.text(), "tags": [dice.choice(self.words)], "title": "",
            "author": dice.choice((None, "Ann", "Bob")), "layer": dice.choice(LAYERS),
            "metadata": {"n": dice.randrange(3)},
            "valid_until": dice.choice((None, self.begin + 90 * DAY)), "expires_at": None,
        }  # fmt: skip
        fields = {name: offered[name] for name in dice.sample(sorted(offered), dice.randint(1, 2))}
        outcome = face.edit(memory.id, fields, self.now)
        expected = tenant.book.edit(memory.id, fields, face.name, self.now, embeds=face.name != "sql")
        assert outcome == expected, (outcome, fields, memory)

    def restore(self, tenant: Reached, face: Face) -> None:
        """A version that is kept, or the present."""
        memory = self.dice.choice(list(tenant.book.memories.values()))
        version = self.dice.choice([*memory.past.versions, memory.past.present(memory.draft)])
        outcome = face.restore(memory.id, version.number, self.now)
        embeds = face.name != "sql"
        assert outcome == tenant.book.edit(memory.id, version.fields, face.name, self.now, embeds=embeds)

    def follow(self, tenant: Reached, face: Face) -> None:
        """Reads on in the log of changes from where this tenant's reader was."""
        self.world.settle()
        tenant.cursor = self.judge.followed(tenant, face, self.dice)

    def dedupe(self, tenant: Reached, face: Face) -> None:
        """Plans which duplicates to merge and merges them; or undoes what was merged."""
        if tenant.merged is not None:
            restored = face.undo_dedupe(tenant.merged.id, self.now)
            assert restored == merging.undo(tenant.book, tenant.merged, face.name, self.now)
            tenant.merged = None
            return
        self.run_job(tenant, "fold")
        found = face.plan_dedupe(self.now)
        plan = merging.Plan(found["id"], [
            merging.Cluster(each["keeper"]["id"], [member["id"] for member in each["members"]])
            for each in found["clusters"]
        ])  # fmt: skip
        merging.check(tenant.book, plan, self.now)
        outcomes = face.apply_dedupe(plan.id, self.now)
        expected = {each.keeper: "kept" for each in plan.clusters}
        expected |= {one: "merged" for each in plan.clusters for one in each.members}
        assert dict(outcomes) == expected, (outcomes, plan)
        merging.apply(tenant.book, plan, face.name, self.now)
        tenant.merged = plan if plan.clusters else None
        self.counts["merged"] += sum(len(each.members) for each in plan.clusters)

    # Asking

    def ask(self, tenant: Reached, face: Face) -> None:
        """A logged search, and sometimes a verdict on it."""
        session = self.dice.choice((None, "s1", "s3"))
        request = {
            "query": self.dice.choice(self.words),
            "k": self.dice.choice((3, 100)),
            "session_id": session,
        }
        began = datetime.now(UTC)
        search, hits = face.search(request, self.now)
        ended = datetime.now(UTC)
        ids = [hit["id"] for hit in hits]
        at = self.now
        if face.name != "sql" and ids:
            # The service's own clock: what it logged lies between the request and the answer.
            logged = tenant.sql.rows("accesses_of(%s)", ids[0])
            at = max(row["at"] for row in logged if row["kind"] == "retrieval")
            assert began <= at <= ended, (began, at, ended)
        # Services ask at their own moment, which is after all that this day decides by.
        self.judge.membership(tenant.book, request, hits, self.now if face.name == "sql" else ended)
        tenant.book.shown(search, session, ids, at)
        if search is not None and ids:
            self.verdict(tenant, face, search, at)

    def verdict(self, tenant: Reached, face: Face, search: int, at: datetime) -> None:
        for _ in range(self.dice.randint(0, 2)):
            _, shown = tenant.book.searches[search]
            judged = self.dice.sample(shown, self.dice.randint(1, len(shown)))
            said = self.dice.choice(("used", "rejected"))
            told = face.judge(said, search, judged, at)
            assert told == tenant.book.judge(search, judged, said, at)

    def look(self, tenant: Reached, face: Face) -> None:
        self.judge.look(tenant, face, self.dice, self.now)

    # Jobs

    def job(self, tenant: Reached, _: Face) -> None:
        self.run_job(tenant, self.dice.choice(JOBS))

    def run_job(self, tenant: Reached, name: str) -> None:
        """Runs one job, with the result that the book says."""
        book, sql = tenant.book, tenant.sql
        if name == "fold":
            while sql.value("fold_accesses()"):
                pass
            book.fold()
        elif name == "expire":
            assert sql.value("expire_memories(1000, %s)", self.now) == book.expire(self.now)
        elif name == "statistics":
            assert sql.value("refresh_statistics(%s)", self.now) == len(book.live)
            rules.refresh_medians(book, self.now)
        elif name == "verify":
            found = sql.value("verify(%s)", self.now)
            assert [check for check in found["checks"] if check["problems"]] == []
        elif name == "rebuild":
            self.run_job(tenant, "fold")
            differing = sql.value("rebuild()")
            assert differing == 0, differing
        else:
            last = sql.value("refresh_vitality(0, 10000, %s)", self.now)
            assert last == max(book.memories, default=None), last
            book.see_zones(self.now)


Act = Callable[[Day, Reached, Face], None]
CHANCES: dict[Act, int] = {
    Day.remember: 20, Day.record: 20, Day.link: 8, Day.supersede: 3, Day.forget: 4, Day.pin: 3,
    Day.edit: 6, Day.restore: 3, Day.follow: 4, Day.dedupe: 5, Day.ask: 10, Day.look: 14, Day.job: 8,
    **FAULTS,
}  # fmt: skip
ACTS, WEIGHTS = list(CHANCES), list(CHANCES.values())
