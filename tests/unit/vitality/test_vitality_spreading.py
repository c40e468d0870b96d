"""Spreading: who receives how much of an access, and that a stored boost stays within its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.vitality.score import spread_now
from tests.model.spreading import add_spread, spread_at_hop, spread_targets

DAY = 86_400.0
NOW = 1_780_000_000.0
HAIR = 1 + 1e-12
"""Room for the last bits of a float."""

Links = dict[frozenset[int], float]

links = st.dictionaries(
    st.frozensets(st.integers(0, 9), min_size=2, max_size=2),
    st.sampled_from([0.05, 0.3, 1.0, 7.0]),
    max_size=25,
)
rules = st.fixed_dictionaries(
    {
        "utility": st.floats(0.01, 1),
        "damping": st.floats(0.05, 1),
        "hops": st.integers(0, 3),
        "fan_out": st.integers(1, 10),
        "fan_exponent": st.floats(0, 2),
    }
)
boosts = st.lists(st.tuples(st.floats(0, 2), st.floats(NOW - 60 * DAY, NOW)), min_size=1, max_size=20)


def around(graph: Links) -> Callable[[int], list[tuple[int, float]]]:
    """The neighbours of each memory, strongest first, then by id."""

    def neighbours(memory: int) -> list[tuple[int, float]]:
        linked = [(next(iter(pair - {memory})), weight) for pair, weight in graph.items() if memory in pair]
        return sorted(linked, key=lambda entry: (-entry[1], entry[0]))

    return neighbours


def star(leaves: int) -> Links:
    return {frozenset((0, leaf)): 1.0 for leaf in range(1, leaves + 1)}


def chain(length: int) -> Links:
    return {frozenset((place, place + 1)): 1.0 for place in range(length)}


def walks(
    graph: Links, start: int, amount: float, rule: dict[str, float], hops: int
) -> Iterator[tuple[int, int, float]]:
    """Every walk of up to ``hops`` links: its end, its length and what arrives over it."""
    linked = around(graph)(start)
    for reached, weight in linked[: int(rule["fan_out"])] if hops else []:
        arrived = amount * rule["damping"] * min(weight, 1) / len(linked) ** rule["fan_exponent"]
        yield reached, 1, arrived
        for end, length, at_end in walks(graph, reached, arrived, rule, hops - 1):
            yield end, length + 1, at_end


@given(links, rules)
def test_each_memory_receives_the_most_of_its_shortest_walks(graph: Links, rule: dict[str, float]) -> None:
    shortest: dict[int, tuple[int, float]] = {}
    for end, length, amount in walks(graph, 0, rule["utility"], rule, int(rule["hops"])):
        if end != 0:
            known_length, known_amount = shortest.get(end, (length, 0.0))
            if length <= known_length:
                best = max(amount, known_amount) if length == known_length else amount
                shortest[end] = (length, best)
    expected = {end: amount for end, (_, amount) in shortest.items()}
    assert spread_targets(0, around(graph), **rule) == pytest.approx(expected, rel=1e-12)


@given(links, rules, st.integers(0, 10))
def test_the_limit_keeps_the_largest(graph: Links, rule: dict[str, float], limit: int) -> None:
    everyone = list(spread_targets(0, around(graph), **rule).items())
    assert everyone == sorted(everyone, key=lambda entry: (-entry[1], entry[0]))
    assert list(spread_targets(0, around(graph), **rule, limit=limit).items()) == everyone[:limit]


@given(links, rules)
def test_no_memory_receives_more_than_was_spread_and_the_source_nothing(
    graph: Links, rule: dict[str, float]
) -> None:
    received = spread_targets(0, around(graph), **rule)
    assert 0 not in received
    assert all(0 < amount <= rule["utility"] * rule["damping"] * HAIR for amount in received.values())


@given(st.floats(0.01, 1), st.floats(0.05, 1), st.integers(0, 8))
def test_along_a_chain_without_fan_each_hop_is_damped(utility: float, damping: float, hops: int) -> None:
    received = spread_targets(0, around(chain(9)), utility, damping, hops, fan_exponent=0)
    expected = {hop: spread_at_hop(utility, hop, damping) for hop in range(1, hops + 1)}
    assert received == pytest.approx(expected)


def test_two_hops_by_default_each_divided_by_the_root_of_the_fan() -> None:
    assert spread_targets(0, around(chain(5))) == pytest.approx({1: 0.6, 2: 0.36 / math.sqrt(2)})


def test_a_hub_reaches_its_strongest_and_divides_by_all_its_neighbours() -> None:
    graph = star(100) | {frozenset((0, 77)): 5.0}
    received = spread_targets(0, around(graph))
    assert list(received) == [*range(1, 16), 77]
    assert list(received.values()) == pytest.approx([0.06] * 16)


def test_a_weak_link_passes_its_weight_and_a_strong_one_no_more_than_all() -> None:
    graph = {frozenset((0, 1)): 0.5, frozenset((0, 2)): 50.0}
    assert spread_targets(0, around(graph)) == pytest.approx({2: 0.6 / math.sqrt(2), 1: 0.3 / math.sqrt(2)})


def test_what_is_near_is_not_reached_again_by_a_richer_detour() -> None:
    graph = {frozenset((0, 1)): 1.0, frozenset((1, 2)): 1.0, frozenset((0, 2)): 0.01}
    assert spread_targets(0, around(graph), fan_exponent=0)[2] == pytest.approx(0.006)


@pytest.mark.parametrize("rule", [{"hops": 0}, {"damping": 0.0}, {"utility": 0.0}, {"limit": 0}])
def test_what_would_receive_nothing_is_left_out(rule: dict[str, float]) -> None:
    assert spread_targets(0, around(star(3)), **rule) == {}


def test_a_memory_without_links_spreads_nothing() -> None:
    assert spread_targets(0, around({})) == {}


@given(boosts, st.floats(0.01, 3650))
def test_a_stored_boost_never_exceeds_one_nor_falls_below_what_was_left(
    amounts: list[tuple[float, float]], half_life: float
) -> None:
    stored, stored_at = 0.0, None
    for amount, at in amounts:
        value, value_at = add_spread(stored, stored_at, amount, at, half_life)
        left = min(stored, 1.0) * 2 ** -((value_at - (stored_at or value_at)) / DAY / half_life)
        assert left <= value * HAIR <= HAIR
        assert value_at == max(at, stored_at or at)
        stored, stored_at = value, value_at


@given(boosts, st.floats(0.01, 3650), st.randoms(use_true_random=False))
def test_below_the_cap_amounts_add_up_in_any_order(
    amounts: list[tuple[float, float]], half_life: float, random: Random
) -> None:
    small = [(amount / 2 / len(amounts), at) for amount, at in amounts]
    stored, stored_at = 0.0, None
    for amount, at in random.sample(small, len(small)):
        stored, stored_at = add_spread(stored, stored_at, amount, at, half_life)
    newest = max(at for _, at in small)
    expected = math.fsum(amount * 2 ** -((newest - at) / DAY / half_life) for amount, at in small)
    assert stored_at == newest
    assert stored == pytest.approx(expected, rel=1e-9)


@given(boosts, st.floats(0, 400))
def test_adding_never_lowers_what_is_left_later(amounts: list[tuple[float, float]], days: float) -> None:
    stored, stored_at = add_spread(0.0, None, *amounts[0])
    later = NOW + days * DAY
    for amount, at in amounts[1:]:
        before = spread_now(stored, (later - stored_at) / DAY)
        stored, stored_at = add_spread(stored, stored_at, amount, at)
        assert spread_now(stored, (later - stored_at) / DAY) * HAIR >= before


def test_a_late_amount_arrives_as_old_as_it_is() -> None:
    assert add_spread(0.5, NOW, 0.4, NOW - 7 * DAY) == (pytest.approx(0.7), NOW)
    assert add_spread(0.4, NOW - 7 * DAY, 0.5, NOW) == (pytest.approx(0.7), NOW)


def test_what_is_stored_is_capped_at_one() -> None:
    assert add_spread(0.9, NOW, 0.6, NOW) == (1.0, NOW)
    assert add_spread(0.0, None, 3.0, NOW) == (1.0, NOW)
    assert add_spread(5.0, NOW - 7 * DAY, 0.1, NOW) == (pytest.approx(0.6), NOW)


@given(st.floats(-6e10, 3e11), st.floats(-6e10, 3e11), st.floats(0.01, 3650))
def test_no_distance_in_time_raises(one: float, other: float, half_life: float) -> None:
    value, at = add_spread(1.0, one, 1.0, other, half_life)
    assert 0 < value <= 1
    assert at == max(one, other)
