"""Acts of use: accesses, searches, verdicts on them, and what a tenant must never reach."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.model.faces import Rows, Values
from tests.model.stage import Face, Reached, Stage
from tests.model.vitality import DAY

KINDS = ("read", "reference", "used", "used", "retrieval", "write")
NEAR = (0, 0, -120, -550, -650, -7200, -20 * 86_400, 240, 400)
"""Seconds from now, about the bounds of a repeat, of a session and of what can be told."""


class Using(Stage):
    sent: dict[str, list[Values]]
    """Accesses with an idempotency key, by tenant: some are sent again."""

    def uses(self, tenant: Reached, *, send: bool = True) -> Rows:
        """Accesses since the memories exist; some repeat a key that was sent before."""
        dice, items = self.dice, list[Values]()
        for _ in range(dice.randint(1, 4)):
            memory = self.one(tenant)
            since = max(memory.born, self.now - 20 * DAY)
            at = since + timedelta(seconds=int((self.now - since).total_seconds() * dice.random() ** 0.3))
            key = dice.choice((None, f"once {dice.randrange(10**9)}"))
            items.append({
                "memory_id": memory.id, "kind": dice.choice(KINDS), "at": at,
                "session_id": dice.choice((None, "s1", "s2")), "idempotency_key": key,
            })  # fmt: skip
        known = self.sent.setdefault(tenant.book.tenant, [])
        again = [each for each in known if each["memory_id"] in tenant.book.memories]
        if again and dice.random() < 0.4:
            items.append({**dice.choice(again), "at": self.now})
        if send:
            known += [item for item in items if item["idempotency_key"] is not None]
        return items

    def record(self, tenant: Reached, face: Face) -> None:
        items = self.uses(tenant)
        assert face.record(items, self.now) == tenant.book.record(items, self.now)

    def record_one(self, tenant: Reached, face: Face, memory: int, kind: str) -> None:
        use = {"memory_id": memory, "kind": kind, "at": self.now, "session_id": None, "idempotency_key": None}
        assert face.record([use], self.now) == tenant.book.record([use], self.now)

    def record_nearly(self, tenant: Reached, face: Face) -> None:
        """Uses at the bounds of what counts, with keys of others; one that cannot be stops all."""
        items = [
            {**item, "at": self.now + timedelta(seconds=self.dice.choice(NEAR)),
             "idempotency_key": self.dice.choice((None, None, "turn 1", "turn 2", "turn 3"))}
            for item in self.uses(tenant, send=False)
        ]  # fmt: skip
        if all(tenant.book.can_record(item, self.now) for item in items):
            assert face.record(items, self.now) == tenant.book.record(items, self.now)
        else:
            self.refused(face.record, items, self.now)

    def ask(self, tenant: Reached, face: Face) -> None:
        """A logged search, and sometimes a verdict on it."""
        session = self.dice.choice((None, "s1", "s3"))
        wanted = self.judge.filter(self.dice, self.one(tenant)) if self.dice.random() < 0.5 else {}
        request: Values = {
            **wanted, "query": self.dice.choice(self.words), "k": self.dice.choice((3, 100)),
            "session_id": session,
        }  # fmt: skip
        began = datetime.now(UTC)
        search, hits = face.search(request, self.now)
        ended = datetime.now(UTC)
        ids, at = [hit["id"] for hit in hits], self.now
        if face.name != "sql" and ids:
            # The service's own clock: what it logged lies between the request and the answer.
            logged = tenant.sql.rows("accesses_of(%s)", ids[0])
            at = max(row["at"] for row in logged if row["kind"] == "retrieval")
            assert began <= at <= ended, (began, at, ended)
        # Services ask at their own moment, which is after all that this day decides by.
        self.judge.membership(tenant.book, request, hits, self.now if face.name == "sql" else ended)
        tenant.book.shown(search, session, ids, at)
        for _ in range(self.dice.randint(0, 2)):
            self.verdict(tenant, face)

    def show(self, tenant: Reached, _: Face) -> None:
        """What another search showed is logged; what is another tenant's is left out."""
        shown = list({self.one(tenant).id for _ in range(self.dice.randint(1, 3))})
        session = self.dice.choice((None, "s1", "s2"))
        strange = list(self.other(tenant).book.memories)[:1]
        search = tenant.sql.value("log_shown(%s, %s, %s, 'who?')", [*shown, *strange], session, self.now)
        tenant.book.shown(search, session, shown, self.now)

    def verdict(self, tenant: Reached, face: Face) -> None:
        """What was shown was used, or rejected; in another tenant's name neither."""
        book, dice = tenant.book, self.dice
        if not book.searches:
            return
        number, said = dice.choice(list(book.searches)), dice.choice(("used", "rejected"))
        search = book.searches[number]
        self.refused(self.other(tenant).sql.judge, said, number, search.shown, self.now)
        if not search.shown:
            return
        judged, at = dice.sample(search.shown, dice.randint(1, len(search.shown))), max(self.now, search.at)
        assert face.judge(said, number, judged, at) == book.judge(number, judged, said, at)

    def look(self, tenant: Reached, face: Face) -> None:
        self.judge.look(tenant, face, self.dice, self.now)

    def look_around(self, tenant: Reached, _: Face) -> None:
        """What is used together, and how often each memory was shown, used and rejected."""
        book, memory = tenant.book, self.one(tenant).id
        rows = tenant.sql.rows("associates(%s, 99, %s)", memory, self.now)
        told = {row["memory_id"]: (row["sessions"], row["association"]) for row in rows}
        half_life = book.setting("association.half_life_days")
        expected = book.associations.of(memory, self.now, half_life)
        assert set(told) == set(expected)
        for other, numbers in expected.items():
            assert told[other] == pytest.approx(numbers, rel=1e-6)
        counts = tenant.sql.rows("feedback_by_memory()")
        assert {row["id"]: [row["shown"], row["used"], row["rejected"]] for row in counts} == book.feedback()

    def trespass(self, tenant: Reached, face: Face) -> None:
        """Ids of another tenant's memories are unknown here, whatever is asked."""
        foreign = list(self.other(tenant).book.memories)
        if not foreign:
            return
        strange, own, sql = self.dice.choice(foreign), self.one(tenant).id, tenant.sql
        use: Values = {"memory_id": strange, "kind": "used", "at": self.now}
        calls: list[tuple[Any, ...]] = [
            (face.record, [use], self.now), (face.forget, strange, True, self.now),
            (face.pin, strange, True, self.now), (face.link, own, strange, "links_to", 1.0, self.now),
            (face.supersede, strange, own, self.now), (sql.rows, "require_memory(%s)", strange),
        ]  # fmt: skip
        for call, *given in calls:
            self.refused(call, *given)
        if face.name != "sql":
            self.refused(face.get, strange, self.now)
        assert sql.value("vitality(%s, %s)", strange, self.now) is None
        for call in ("get(%s, %s)", "explain_vitality(%s, %s)", "associates(%s, 9, %s)"):
            assert sql.rows(call, strange, self.now) == []
