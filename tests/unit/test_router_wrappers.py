"""The wrappers of the router: SQL from the functions that a cell declares, without a database."""

from __future__ import annotations

import pytest

from pgrecall.cells.router.nodes import host_and_port
from pgrecall.cells.router.wrappers import DeclaredFunction, wrapper_of, wrappers_of
from pgrecall.errors import InvalidInput

PIN = DeclaredFunction(
    "pin", "recall_app", "p_memory_id bigint, p_pinned boolean DEFAULT true", ("p_memory_id", "p_pinned"),
    "boolean", False, (),
)  # fmt: skip
GET = DeclaredFunction(
    "get", "recall_reader", "p_memory_id bigint", ("p_memory_id",), "TABLE(id bigint, \"order\" text)", True,
    ("id", "order"),
)  # fmt: skip


def test_the_tenant_comes_first() -> None:
    wrapper = wrapper_of(PIN)
    assert wrapper.arguments == "p_tenant text, p_memory_id bigint, p_pinned boolean DEFAULT true"
    assert wrapper.body.splitlines()[1:3] == [
        "    PERFORM recall_router.enter($1);",
        '    RETURN recall."pin"("p_memory_id" => $2, "p_pinned" => $3);',
    ]


def test_columns_are_asked_for_by_name() -> None:
    assert 'RETURN QUERY SELECT r."id", r."order" FROM recall."get"(' in wrapper_of(GET).body


def test_a_function_without_arguments_has_the_tenant() -> None:
    function = DeclaredFunction("tenants", "recall_worker", "", (), "SETOF text", True, ())
    wrapper = wrapper_of(function)
    assert wrapper.arguments == "p_tenant text"
    assert 'RETURN QUERY SELECT r FROM recall."tenants"() r;' in wrapper.body


def test_a_function_that_returns_nothing_is_performed() -> None:
    function = DeclaredFunction("refresh", "recall_app", "", (), "void", False, ())
    assert '    PERFORM recall."refresh"();' in wrapper_of(function).body


def test_a_new_tenant_is_admitted_before_it_lives_anywhere() -> None:
    function = DeclaredFunction("admit_tenant", "recall_app", "", (), "boolean", False, ())
    assert "enter($1, false)" in wrapper_of(function).body


def test_names_and_bodies_cannot_break_out() -> None:
    odd = DeclaredFunction(
        'o"dd', "recall_app", "p_text text DEFAULT '{}'::text", ("p_text",), "text", False, ()
    )
    made = wrapper_of(odd).create().as_string(None)
    assert made.startswith('CREATE FUNCTION "recall_router"."o""dd"(p_tenant text, p_text text DEFAULT ')
    assert 'recall."o""dd"' in made


def test_a_cell_is_asked_only_about_the_tenant_of_the_call() -> None:
    holder = DeclaredFunction(
        "key_holder", "recall_app", "p_hash bytea", ("p_hash",), "TABLE(tenant text, id bigint)", True,
        ("tenant", "id"),
    )  # fmt: skip
    assert 'FROM recall."key_holder"("p_hash" => $2) r WHERE r.tenant = $1;' in wrapper_of(holder).body
    tenant = DeclaredFunction(
        "page_session_tenant", "recall_app", "p_digest bytea", ("p_digest",), "text", False, ()
    )
    call = 'recall."page_session_tenant"("p_digest" => $2)'
    assert f"RETURN (SELECT r FROM {call} r WHERE r = $1);" in wrapper_of(tenant).body


def test_wrappers_are_found_by_name() -> None:
    assert set(wrappers_of([PIN, GET])) == {"pin", "get"}


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("host=one dbname=recall", ("one", 5432)),
        ("host=10.0.0.1 port=5433 dbname=recall", ("10.0.0.1", 5433)),
    ],
)
def test_an_address_says_where_a_node_is(address: str, found: tuple[str, int]) -> None:
    assert host_and_port(address) == found


@pytest.mark.parametrize("address", ["dbname=recall", "host=/tmp dbname=recall", "host=a,b dbname=recall"])
def test_a_node_has_one_host(address: str) -> None:
    with pytest.raises(InvalidInput, match="names no single host"):
        host_and_port(address)
