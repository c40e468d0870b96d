"""How recent a replica has to be: the laws of marks, with a clock that the test sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.client.freshness import Freshness, Mark

LIMIT = 10.0

STEPS = st.lists(
    st.tuples(
        st.sampled_from(("commit", "mark", "write", "ask")),
        st.sampled_from(("acme", "beta")),
        st.floats(0.0, 20.0, allow_nan=False),
        st.integers(0, 400),
    ),
    max_size=60,
)


class Primary:
    """A clock and a log, with the time of every commit."""

    def __init__(self) -> None:
        self.now = 0.0
        self.end = 0
        self.commits: list[tuple[float, int]] = []

    def commit(self) -> None:
        self.end += 10
        self.commits.append((self.now, self.end))

    def missing(self, position: int) -> list[float]:
        """The times of the commits that a replica at a position lacks."""
        return [at for at, end in self.commits if end > position]


@given(steps=STEPS)
def test_no_answer_is_older_than_it_says(steps: list[tuple[str, str, float, int]]) -> None:
    primary = Primary()
    known = Freshness(LIMIT, clock=lambda: primary.now)
    written = {"acme": -1, "beta": -1}
    for what, tenant, pause, position in steps:
        primary.now += pause
        if what == "commit":
            primary.commit()
        elif what == "write":
            primary.commit()
            written[tenant] = primary.end
            known.note_write(tenant)
            primary.now += 0.001
        elif what == "mark":
            known.add(Mark(known.now(), primary.end))
        else:
            position = min(position, primary.end)
            staleness = known.staleness(position)
            missing = primary.missing(position)
            if staleness is not None:
                assert all(at >= primary.now - staleness for at in missing)
            if known.is_late(position):
                assert any(at <= primary.now - LIMIT for at in missing)
            wanted = known.required_position(tenant)
            if wanted is not None and position >= wanted:
                assert position >= written[tenant]
                assert staleness is not None
                assert staleness <= LIMIT


def test_mark_is_needed_after_a_write_of_the_tenant() -> None:
    primary = Primary()
    known = Freshness(LIMIT, clock=lambda: primary.now)
    assert known.needs_mark("acme")
    known.add(Mark(known.now(), 0))
    assert not known.needs_mark("acme")
    primary.now += 0.001
    known.note_write("acme")
    assert known.needs_mark("acme")
    assert not known.needs_mark("beta")
    assert known.required_position("acme") is None
    assert known.required_position("beta") == 0


def test_marks_stay_few() -> None:
    primary = Primary()
    known = Freshness(LIMIT, clock=lambda: primary.now)
    for _ in range(10_000):
        primary.now += 0.01
        known.add(Mark(known.now(), primary.end))
        assert len(known._marks) <= 20


def test_failed_server_rests() -> None:
    primary = Primary()
    known = Freshness(LIMIT, clock=lambda: primary.now)
    known.pause("replica", 5.0)
    assert known.is_paused("replica")
    assert not known.is_paused("primary")
    primary.now += 5.0
    assert not known.is_paused("replica")
