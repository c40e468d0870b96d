"""Prune plans for the tests of their report, as the documents that Postgres returns."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from pgrecall.nouns.plans.prune import PrunePlan

LAYERS = ("entity", "knowledge", "episodic")
RELATIONS = ("links_to", "mentions", "part_of")


def plan_document(
    items: int = 12,
    neighbours: int = 6,
    kept: int = 1,
    state: str = "planned",
    titles: tuple[str, ...] = (),
    live: int = 200,
) -> dict[str, Any]:
    """A plan drawn at random, the same each time; ``titles`` are dealt out in turn."""
    draw = random.Random(f"{items} {neighbours} {kept}")
    deal = _dealer(titles)
    others = [_neighbour(100_000 + place, deal(), draw) for place in range(neighbours)]
    held = [_kept(50_000 + place, deal(), others) for place in range(kept)]
    entries = [_item(place, deal(), state, draw) for place in range(1, items + 1)]
    links = _links(entries, [*others, *held], draw) if others or held else []
    return {
        "id": 7,
        "kind": "prune",
        "state": state,
        "created_at": "2026-06-01T09:30:00+00:00",
        "applied_at": None if state == "planned" else "2026-06-02T09:30:00+00:00",
        "undone_at": "2026-06-03T09:30:00+00:00" if state == "undone" else None,
        "options": {
            "max_count": 1000, "max_share": 0.1, "grace_days": 30, "revival_days": 14, "layers": None
        },
        "report": _report(entries, others, held, links, live),
        "items": entries,
    }  # fmt: skip


def plan(**options: Any) -> PrunePlan:
    """The same as a value."""
    return PrunePlan.from_document(plan_document(**options))


def empty_plan() -> PrunePlan:
    """The plan of a tenant that holds nothing."""
    return plan(items=0, neighbours=0, kept=0, live=0)


def _dealer(titles: tuple[str, ...]) -> Any:
    count = iter(range(10**9))

    def deal() -> str:
        place = next(count)
        return titles[place % len(titles)] if titles else f"Note number {place}"

    return deal


def _neighbour(number: int, title: str, draw: random.Random) -> dict[str, Any]:
    fields = {"layer": draw.choice(LAYERS), "vitality": 0.4, "zone": "stale", "protected": number % 3 == 0}
    return {"id": number, "key": f"notes/{number}.md", "title": title, **fields}


def _kept(number: int, title: str, others: list[dict[str, Any]]) -> dict[str, Any]:
    examples = [{"id": other["id"], "title": other["title"]} for other in others[:2]]
    return {"id": number, "key": None, "title": title, "cut_size": 4, "examples": examples}


def _item(place: int, title: str, state: str, draw: random.Random) -> dict[str, Any]:
    vitality = round(draw.uniform(0.001, 0.0999), 4)
    total = vitality / (1 - vitality)
    terms = {"recent": total * 0.75, "tail": total * 0.25, "spread": 0.0, "revival": 0.0, "activation": total}
    rest = {"accesses": 3, "base": -3.0, "vitality": vitality, "retention": vitality, "zone": "dormant"}
    skipped = state != "planned" and place % 4 == 0
    outcome = None if state == "planned" else "skipped" if skipped else "archived"
    return {
        "id": place, "key": f"item/{place}" if place % 2 else None, "title": title,
        "layer": draw.choice(LAYERS), "place": place, "vitality": vitality, "terms": {**terms, **rest},
        "reason": f"Its last use was {draw.randint(31, 900)} days ago.",
        "impact": {"links_in": 0, "links_out": 0, "ends": []},
        "outcome": outcome, "note": "It was used after the plan was made." if skipped else None,
    }  # fmt: skip


def _links(entries: list[dict[str, Any]], ends: list[dict[str, Any]], draw: random.Random) -> list[list[Any]]:
    links = []
    for item in entries[: 2 * len(entries) // 3]:
        end, relation = draw.choice(ends), draw.choice(RELATIONS)
        links.append([item["id"], end["id"], relation])
        far = {"id": end["id"], "title": end["title"], "relation": relation, "outgoing": True}
        item["impact"] = {"links_in": 0, "links_out": 1, "ends": [far]}
    return links


def _report(
    entries: list[dict[str, Any]],
    others: list[dict[str, Any]],
    held: list[dict[str, Any]],
    links: list[list[Any]],
    live: int,
) -> dict[str, Any]:
    bins = Counter(min(19, int(item["vitality"] * 20)) for item in entries)
    rest = max(0, live - len(entries))
    bins[10] += rest
    return {
        "live": live,
        "zones": {"knowledge": {"dormant": len(entries), "stale": rest}} if live else {},
        "histogram": [bins[place] for place in range(20)],
        "eligible": len(entries) + len(held), "capped": 0, "planned": len(entries),
        "would_cut_off": 4 * len(held), "kept_back": held,
        "links_ending": len(links), "links": links[:500], "neighbours": others,
        "communities": [
            {"memories": 40, "planned": 3, "mean_vitality": 0.12, "examples": [other["title"]]}
            for other in others[:3]
        ],
    }  # fmt: skip
