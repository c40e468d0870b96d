"""Acts of writing: remembering, editing, linking, replacing, pinning, forgetting."""

from __future__ import annotations

from typing import Any

from tests.model.faces import Values
from tests.model.stage import Face, Reached, Stage
from tests.model.vitality import DAY

LAYERS = ("entity", "knowledge", "episodic", "activity")
RELATIONS = ("links_to", "mentions", "implies", "supports", "next", "part_of", "contradicts")


class Writing(Stage):
    def draft(self, tenant: Reached) -> Values:
        """A new memory, or another text or the same one for a known key."""
        dice, known = self.dice, list(tenant.book.memories.values())
        if known and dice.random() < 0.3:
            changed = dict(dice.choice(known).draft)
            change = dice.choice(("body", "tags", "nothing"))
            if change == "body":
                changed["body"] = self.text()
            if change == "tags":
                changed["tags"] = [dice.choice(self.words)]
            return changed
        new = self.fresh(tenant)
        if known and dice.random() < 0.15:
            # What one of them says already, under a key of its own.
            said = {"key": f"{tenant.book.tenant}/{dice.randrange(10**6)}", "tags": [dice.choice(self.words)]}
            return {**dice.choice(known).draft, **said, "expires_at": None}
        return new

    def remember(self, tenant: Reached, face: Face) -> None:
        drawn = [self.draft(tenant) for _ in range(self.dice.randint(1, 3))]
        drafts = list({draft["key"] or id(draft): draft for draft in drawn}.values())
        if self.dice.random() < 0.8:
            self.stored(tenant, drafts, face.remember(drafts, self.now), face.name)
        else:
            stored = tenant.sql.remember(drafts, self.now, revive=False)
            self.stored(tenant, drafts, stored, "sql", revive=False)

    def stored(
        self, tenant: Reached, drafts: list[Values], stored: list[tuple[int, str]], face: str, *,
        revive: bool = True,
    ) -> None:  # fmt: skip
        book, embeds = tenant.book, face != "sql"
        expected = [book.outcome(draft, embeds=embeds, revive=revive) for draft in drafts]
        assert [outcome for _, outcome in stored] == expected, (stored, expected, drafts)
        for draft, (memory_id, outcome) in zip(drafts, stored, strict=True):
            known = book.by_key(draft["key"])
            assert known is None or known.id == memory_id
            book.store(memory_id, draft, outcome, face, self.now, embeds=embeds)
        book.connect([(draft, *one) for draft, one in zip(drafts, stored, strict=True)], self.now)

    def remember_wrongly(self, tenant: Reached, face: Face) -> None:
        """One draft of two cannot be: neither is stored."""
        wrong = self.dice.choice((
            {"layer": "nowhere"}, {"title": "x" * 1001}, {"occurred_at": self.now + 9 * DAY}
        ))  # fmt: skip
        if wrong.get("occurred_at") and face.name != "sql":
            return  # by the service's own clock this may be in the past
        draft = self.fresh(tenant)
        self.refused(face.remember, [{**draft, "key": None}, {**draft, "key": "bad", **wrong}], self.now)

    def edit(self, tenant: Reached, face: Face) -> None:
        """Other values for one or two fields, or what they are already."""
        dice, memory = self.dice, self.one(tenant)
        offered: dict[str, Any] = {
            "body": self.text(), "tags": [dice.choice(self.words)], "title": "",
            "author": dice.choice((None, "Ann", "Bob")), "layer": dice.choice(LAYERS),
            "metadata": {"n": dice.randrange(3)},
            "valid_until": dice.choice((None, self.now + 90 * DAY)), "expires_at": None,
        }  # fmt: skip
        fields = {name: offered[name] for name in dice.sample(sorted(offered), dice.randint(1, 2))}
        outcome = face.edit(memory.id, fields, self.now)
        expected = tenant.book.edit(memory.id, fields, face.name, self.now, embeds=face.name != "sql")
        assert outcome == expected, (outcome, fields, memory)

    def restore(self, tenant: Reached, face: Face) -> None:
        """A version that is kept, or the present."""
        memory = self.one(tenant)
        version = self.dice.choice([*memory.past.versions, memory.past.present(memory.draft)])
        outcome = face.restore(memory.id, version.number, self.now)
        embeds = face.name != "sql"
        assert outcome == tenant.book.edit(memory.id, version.fields, face.name, self.now, embeds=embeds)

    def link(self, tenant: Reached, face: Face) -> None:
        source, target = self.one(tenant).id, self.one(tenant).id
        given = (
            source,
            target,
            self.dice.choice(RELATIONS),
            self.dice.choice((0.5, 1.0, 1.0, 2.0)),
            self.now,
        )
        if source == target:
            self.refused(face.link, *given)
        else:
            assert face.link(*given) == tenant.book.link(*given)

    def supersede(self, tenant: Reached, face: Face) -> None:
        old, new = self.one(tenant).id, self.one(tenant).id
        if old == new or old in tenant.book.successors(new):
            self.refused(face.supersede, old, new, self.now)
            return
        assert face.supersede(old, new, self.now) == tenant.book.supersede(old, new, self.now)
        chain = tenant.sql.rows("successors(%s)", [old])
        told = [row["successor"] for row in sorted(chain, key=lambda row: row["step"])]
        assert told == tenant.book.successors(old)

    def pin(self, tenant: Reached, face: Face) -> None:
        memory, pinned = self.one(tenant), self.dice.random() < 0.6
        assert face.pin(memory.id, pinned, self.now) == (memory.pinned != pinned)
        memory.pinned = pinned

    def forget(self, tenant: Reached, face: Face) -> None:
        memory, hard = self.one(tenant).id, self.dice.random() < 0.4
        assert face.forget(memory, hard, self.now) == tenant.book.forget(memory, hard, self.now)
