"""What charts are drawn from: accesses, distributions, curves and neighbourhoods, all bounded."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from pgrecall import Draft, InvalidInput, Memory, MemoryNotFound

pytestmark = pytest.mark.in_turns

DAY = timedelta(days=1)


def keep(memory: Memory, key: str, born: datetime) -> None:
    memory.remember_many([Draft(f"body of {key}", key=key, occurred_at=born)], now=born)


def chain(memory: Memory, born: datetime, names: str) -> None:
    """Memories of one letter each, every one linked to the next."""
    for name in names:
        keep(memory, name, born)
    for source, target in pairwise(names):
        memory.link(source, target, now=born)


def test_accesses_come_newest_first_and_bounded(memory: Memory, now: datetime) -> None:
    keep(memory, "note", now - 9 * DAY)
    for days in (5, 1, 3):
        memory.record_access("note", "used", at=now - days * DAY, session_id=f"s{days}", now=now)
    kinds = [(access.kind, now - access.at, access.session_id) for access in memory.charts.accesses("note")]
    assert kinds == [
        ("used", 1 * DAY, "s1"), ("used", 3 * DAY, "s3"), ("used", 5 * DAY, "s5"), ("write", 9 * DAY, None)
    ]  # fmt: skip
    assert [access.session_id for access in memory.charts.accesses("note", limit=2)] == ["s1", "s3"]
    with pytest.raises(InvalidInput, match="p_limit is 0"):
        memory.charts.accesses("note", limit=0)
    with pytest.raises(MemoryNotFound):
        memory.for_tenant("other").charts.accesses("note")


def test_the_histogram_counts_each_live_memory_where_its_vitality_lies(memory: Memory, now: datetime) -> None:
    for days in (0, 2, 30, 300):
        keep(memory, f"k{days}", now - days * DAY)
    keep(memory, "gone", now)
    memory.forget("gone", now=now)
    [counts] = memory.charts.vitality_histogram(10, now=now)
    expected = [0] * 10
    for days in (0, 2, 30, 300):
        expected[int(memory.get(f"k{days}", now=now).vitality.vitality * 10)] += 1
    assert (counts.layer, counts.memories, list(counts.counts)) == ("knowledge", 4, expected)
    assert memory.for_tenant("other").charts.vitality_histogram(now=now) == ()
    with pytest.raises(InvalidInput, match="p_bins is 1;"):
        memory.charts.vitality_histogram(1)


def test_the_curve_is_the_past_and_what_vitality_will_be(memory: Memory, now: datetime) -> None:
    keep(memory, "note", now - 9 * DAY)
    memory.record_access("note", "used", at=now - 3 * DAY, now=now)
    instants = [now + days * DAY for days in (400, -20, -5, -2, 0, 7)]
    curve = memory.charts.vitality_curve("note", instants, now=now)
    assert [point.at - now for point in curve] == [days * DAY for days in (-5, -2, 0, 7, 400)]
    for point in curve:
        later = point.at >= now
        told = (
            memory.get("note", now=point.at).vitality if later else memory.history.vitality("note", point.at)
        )
        assert (point.vitality, point.retention) == pytest.approx((told.vitality, told.retention), rel=1e-9)
        assert point.zone == told.zone
    assert memory.charts.vitality_curve("note", [], now=now) == ()
    with pytest.raises(InvalidInput, match="The number of p_instants is 2001"):
        memory.charts.vitality_curve("note", [now] * 2001)


def test_a_neighbourhood_goes_so_many_links_far_either_way(memory: Memory, now: datetime) -> None:
    chain(memory, now - 9 * DAY, "abcdefg")
    memory.forget("e", now=now)
    memory.maintenance.refresh_graph()
    around = memory.charts.neighbourhood("c", hops=2, now=now)
    assert around.nodes[0].key == "c"
    assert {(node.key, node.hops) for node in around.nodes} == {("c", 0), ("b", 1), ("d", 1), ("a", 2)}
    keys = {node.id: node.key for node in around.nodes}
    assert {keys[link.source] + keys[link.target] for link in around.links} == {"ab", "bc", "cd"}
    assert {node.key for node in around.nodes if node.cut_size} == {"b", "c"}
    assert around.left_out == 0


def test_a_neighbourhood_is_bounded_and_says_so(memory: Memory, now: datetime) -> None:
    keep(memory, "hub", now)
    for place in range(9):
        keep(memory, f"s{place}", now)
        memory.link(f"s{place}", "hub", now=now)
    around = memory.charts.neighbourhood("hub", limit=4, now=now)
    assert (len(around.nodes), len(around.links), around.left_out) == (4, 3, 6)
    with pytest.raises(InvalidInput, match="p_hops is 4; it must lie between 1 and 3"):
        memory.charts.neighbourhood("hub", hops=4)
    with pytest.raises(MemoryNotFound):
        memory.charts.neighbourhood("nobody")
