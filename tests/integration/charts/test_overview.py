"""The overview: what one pass tells of all memories is what is told of each of them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from pgrecall import Draft, InvalidInput, Memory

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)
AGES = (0, 1, 5, 20, 80, 300, 700)


@pytest.fixture
def filled(memory: Memory, now: datetime) -> Memory:
    """Memories of two layers and many ages, some used, one pinned, one archived."""
    for layer in ("knowledge", "episodic"):
        for age in AGES:
            born = now - age * DAY
            memory.remember_many(
                [Draft(f"{layer} {age}", key=f"{layer}/{age}", layer=layer, occurred_at=born)], now=born
            )
    for key, days in (("knowledge/80", 3), ("knowledge/300", 40), ("episodic/700", 1)):
        memory.record_access(key, "used", at=now - days * DAY, now=now)
    memory.pin("knowledge/700", now=now)
    memory.remember_many([Draft("gone", key="gone")], now=now)
    memory.forget("gone", now=now)
    return memory


def test_it_counts_the_memories_of_each_layer_and_zone(filled: Memory, now: datetime) -> None:
    found = filled.charts.overview(bins=10, now=now)
    assert [layer.layer for layer in found.layers] == ["episodic", "knowledge"]
    for layer in found.layers:
        each = [filled.get(f"{layer.layer}/{age}", now=now).vitality for age in AGES]
        assert layer.memories == len(AGES)
        assert layer.zones == Counter(terms.zone for terms in each)
        bins = Counter(min(int(terms.vitality * 10), 9) for terms in each)
        assert layer.counts == tuple(bins[place] for place in range(10))
        counts = [filled.get(f"{layer.layer}/{age}", now=now).access_counts for age in AGES]
        assert layer.unused == sum(count.used == 0 for count in counts)
    assert filled.for_tenant("other").charts.overview(now=now).layers == ()


def test_its_lists_are_in_order_and_go_page_by_page(filled: Memory, now: datetime) -> None:
    alive = filled.charts.overview(["alive"], limit=100, now=now).lists["alive"]
    vitalities = [filled.get(item.id, now=now).vitality.vitality for item in alive.items]
    assert alive.memories == len(alive.items) == 2 * len(AGES)
    assert vitalities == sorted(vitalities, reverse=True)
    assert [item.vitality for item in alive.items] == pytest.approx(vitalities)
    pages = [
        filled.charts.overview(["alive"], limit=5, offset=5 * page, now=now).lists["alive"].items
        for page in range(3)
    ]
    assert [item.id for page in pages for item in page] == [item.id for item in alive.items]
    unused = filled.charts.overview(["unused"], layer="knowledge", now=now).lists["unused"]
    assert [item.key for item in unused.items] == [f"knowledge/{age}" for age in (700, 20, 5, 1, 0)]
    assert all(item.used_at is None for item in unused.items)


def test_it_says_when_a_memory_leaves_its_zone(filled: Memory, now: datetime) -> None:
    leaving = filled.charts.overview(["leaving"], limit=100, now=now).lists["leaving"]
    held = {item.key: item for item in leaving.items}
    assert "knowledge/700" not in held, "the protection floor keeps it where it is"
    assert held
    for key, item in held.items():
        assert item.leaves_at is not None, key
        before, after = (
            filled.get(key, now=now + share * (item.leaves_at - now)).vitality.zone for share in (0.99, 1.01)
        )
        assert before == item.zone != after, key


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lists": ["loudest"]}, "There is no list 'loudest'"),
        ({"limit": 0}, "p_limit is 0"),
        ({"offset": -1}, "p_offset is -1"),
        ({"bins": 1}, "p_bins is 1"),
        ({"layer": "attic"}, "There is no layer 'attic'"),
    ],
)
def test_what_it_cannot_list_is_refused(memory: Memory, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        memory.charts.overview(**wrong)  # type: ignore[arg-type]


def test_the_past_of_all_is_that_of_each_instant(filled: Memory, now: datetime) -> None:
    instants = [now - days * DAY for days in (400, 30, 0)]
    shares = filled.charts.zones_over_time(instants)
    for at in instants:
        told = {
            (layer.layer, zone): many
            for layer in filled.history.zones(at)
            for zone, many in layer.zones.items()
        }
        assert {(share.layer, share.zone): share.memories for share in shares if share.at == at} == told
    with pytest.raises(InvalidInput, match="p_sample is 99"):
        filled.charts.zones_over_time(instants, sample=99)


def test_a_sample_stands_for_all(memory: Memory, now: datetime) -> None:
    memory.remember_many([Draft(f"note {n}", occurred_at=now - n * DAY) for n in range(250)], now=now)
    shares = memory.charts.zones_over_time([now], sample=100)
    assert sum(share.memories for share in shares) == pytest.approx(250)
    assert shares == memory.charts.zones_over_time([now], sample=100)
    exact = {zone: many for layer in memory.history.zones(now) for zone, many in layer.zones.items()}
    for share in shares:
        assert share.memories == pytest.approx(exact[share.zone], abs=250 * 0.2)


def test_a_sample_of_the_present_adds_up_to_the_live_memories(memory: Memory, now: datetime) -> None:
    """The page shows both numbers, one above the other."""
    stored = memory.remember_many([Draft(f"note {n}") for n in range(250)], now=now - DAY)
    for one in stored[:7]:
        memory.forget(one.id, now=now)
    before, present = now - DAY / 2, now + DAY
    shares = memory.charts.zones_over_time([before, present], sample=100)
    total = {at: sum(share.memories for share in shares if share.at == at) for at in (before, present)}
    assert total[present] == pytest.approx(243)
    assert total[before] == pytest.approx(250, abs=7)


def test_a_part_of_a_plan_counts_all_of_it(memory: Memory, now: datetime) -> None:
    memory.remember_many(
        [Draft(f"old {n}", layer="activity", occurred_at=now - 900 * DAY) for n in range(6)],
        now=now - 900 * DAY,
    )
    plan = memory.plans.prune(max_share=1.0, now=now)
    part = memory.plans.get(plan.id, limit=2)
    assert (len(plan.items), len(part.items), part.report.planned) == (6, 2, 6)
    assert part.items == plan.items[:2]
    with pytest.raises(InvalidInput, match="cannot be read"):
        memory.plans.get(plan.id, limit=-1)
