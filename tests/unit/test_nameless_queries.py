"""Which tenants' next questions are embedded without a lookup of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.client import nameless_queries
from pgrecall.client.nameless_queries import NamelessQueries


def test_the_first_question_needs_a_lookup() -> None:
    assert NamelessQueries().queries("acme", ["where is it"]) is None


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans())))
def test_the_last_question_of_a_tenant_decides(noted: list[tuple[str, bool]]) -> None:
    known = NamelessQueries()
    last = dict[str, bool]()
    for tenant, named in noted:
        known.note(tenant, named=named)
        last[tenant] = named
    for tenant in "ab":
        assert (known.queries(tenant, ["why"]) is None) == last.get(tenant, True)


@pytest.mark.parametrize(
    ("question", "embedded"),
    [
        ("why", "why"),
        ("  why   not ", "why not"),
        ("why\tnot", None),
        ("why\u00a0not", None),
        ("why\n", None),
    ],
)
def test_white_space_is_as_sql_leaves_it(question: str, embedded: str | None) -> None:
    known = NamelessQueries()
    known.note("acme", named=False)
    assert known.queries("acme", [question]) == (None if embedded is None else [embedded])


def test_nothing_asked_is_nothing_to_embed() -> None:
    known = NamelessQueries()
    known.note("acme", named=False)
    assert known.queries("acme", []) is None


def test_the_number_of_tenants_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nameless_queries, "MAX_TENANTS", 2)
    known = NamelessQueries()
    for tenant in "abc":
        known.note(tenant, named=False)
    assert [known.queries(tenant, ["why"]) for tenant in "abc"] == [None, ["why"], ["why"]]
