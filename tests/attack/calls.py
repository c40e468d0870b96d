"""Attacks on every function that a role may call, made from the catalogue: hostile values for each argument.

A function with an argument of a type that is not known here cannot be attacked, and the suite says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import psycopg

from tests.attack.world import GUESSED, KEY, KEY_DIGEST, NOW, VECTOR

CALLABLE = (
    "SELECT p.proname AS name, d.least_role, p.pronargs AS number, p.pronargdefaults AS optional, "
    "coalesce((p.proargnames)[1:p.pronargs], '{}') AS names, "
    "ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY u(t, place) "
    "ORDER BY place) AS types "
    "FROM recall_private.declared_functions() d JOIN pg_proc p ON p.proname = d.name "
    "AND p.pronamespace = 'recall'::regnamespace WHERE d.least_role <> 'recall_owner' ORDER BY p.proname"
)

CRAFTED = (
    GUESSED, KEY, "contract", "*", "globex", f"{GUESSED}:* | !x", f"%{GUESSED}%", "(.*)+$", "\x01globex",
    "'; DELETE FROM recall.memory; --", f"$$ || '{GUESSED}", "used",
)  # fmt: skip
"""Texts: a word and a key of globex's, a word of both, wild cards, and what would be syntax somewhere."""


class Function(NamedTuple):
    """A callable function, with its arguments in order."""

    name: str
    least_role: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    required: int


class Attack(NamedTuple):
    """One statement, with what it is given."""

    function: str
    sql: str
    parameters: tuple[Any, ...] | Mapping[str, Any]


def functions_of(admin: psycopg.Connection[Any]) -> list[Function]:
    rows = admin.execute(CALLABLE).fetchall()
    return [Function(r[0], r[1], tuple(r[4]), tuple(r[5]), r[2] - r[3]) for r in rows]


def attacks_on(function: Function, ids: Mapping[str, int], own: Mapping[str, int]) -> Iterator[Attack]:
    """Every hostile value in every argument, harmless ones in the others; and the plain call."""
    harmless = dict(zip(function.names, function.types, strict=True))
    needed = {
        name: _harmless(function.name, name, harmless[name], own)
        for name in function.names[: function.required]
    }
    if "p_now" in harmless:
        needed["p_now"] = NOW
    yield _call(function, needed)
    for name, kind in harmless.items():
        if name != "p_now":
            for value in _hostile(kind, ids):
                yield _call(function, needed | {name: value})
    numbers = [name for name, kind in harmless.items() if kind == "bigint"]
    for number in ids.values():
        if len(numbers) > 1:
            yield _call(function, needed | dict.fromkeys(numbers, number))


def _call(function: Function, given: Mapping[str, Any]) -> Attack:
    kinds = dict(zip(function.names, function.types, strict=True))
    arguments = ", ".join(f"{name} => %s::{kinds[name]}" for name in given)
    return Attack(function.name, f"SELECT * FROM recall.{function.name}({arguments})", tuple(given.values()))


HARMLESS: Mapping[str, Any] = {
    "integer": 1,
    "text": "contract",
    "text[]": ["contract"],
    "json": "[]",
    "jsonb": "[]",
    "boolean": True,
    "integer[]": [1],
    "halfvec": VECTOR,
    "halfvec[]": [VECTOR],
    "double precision": 1.0,
    "timestamp with time zone": NOW,
    "timestamp with time zone[]": [NOW],
    "bytea": bytes(32),
    "recall.hit_ground": "(1,,0,0.5,0.5,0.5,f,,)",
    "recall.search_ground": "(1,f,odds,0.5,,,,,,,)",
}


DOCUMENTS: Mapping[str, Any] = {
    "p_changes": {"author": "seen"},
    "p_request": {"query": "contract"},
    "p_subject": {"tag": "harbour nothing"},
    "p_counts": {},
    "p_memory": {"id": 1, "body": "seen"},
}
"""Of those arguments that are no list."""


def _harmless(function: str, name: str, kind: str, own: Mapping[str, int]) -> Any:
    """What the attacker may give, so that the call does something."""
    if kind == "bigint":
        return own.get(_number(function, name), 1)
    if name in DOCUMENTS:
        return json.dumps(DOCUMENTS[name])
    if name == "p_state":
        return "done"
    return {"bigint[]": [own.get("memory", 1)], **HARMLESS}[kind]


def _number(function: str, name: str) -> str:
    """Which thing of one's own an argument means."""
    if "erasure" in function:
        return "erasure"
    if function in ("apply_plan", "undo_plan"):
        return "proposal" if function == "apply_plan" else "dedupe"
    if function == "revoke_key":
        return "key"
    known = {"p_plan_id": "plan", "p_search_id": "search", "p_run_id": "run"}
    return known.get(name, "other" if name in ("p_dst", "p_new") else "memory")


def _hostile(kind: str, ids: Mapping[str, int]) -> list[Any]:
    numbers = sorted(set(ids.values()))
    values: dict[str, list[Any]] = {
        "bigint": [*numbers, -1],
        "integer": [0, 1_000_000],
        "text": list(CRAFTED),
        "text[]": [[GUESSED], [KEY, "globex"], ["*", "\x01globex"]],
        "json": [json.dumps(value) for value in _documents(ids)],
        "jsonb": [json.dumps(value) for value in _documents(ids)],
        "boolean": [True, False, None],
        "bigint[]": [numbers, [-1]],
        "integer[]": [[5] * len(numbers)],
        "halfvec": [VECTOR],
        "halfvec[]": [[VECTOR]],
        "double precision": [0.0, 10.0],
        "timestamp with time zone": ["2000-01-01", "infinity"],
        "timestamp with time zone[]": [["2025-01-01", NOW]],
        "bytea": [KEY_DIGEST],
        "recall.hit_ground": [f'(1,,0,0.5,0.5,0.5,f,,"(globex,{ids["memory"]}{"," * 25})")'],
        "recall.search_ground": [f'(1,f,odds,0.5,"(globex,*,balanced{"," * 20})",,,,{{{GUESSED}}},,)'],
    }
    return values[kind]


def _documents(ids: Mapping[str, int]) -> list[Any]:
    memory = ids["memory"]
    draft = {"body": "seen", "key": KEY, "links": [{"target": KEY}, {"target": "globex-mira"}]}
    use = {"kind": "used", "session_id": f"{GUESSED}-s", "idempotency_key": f"{GUESSED}-once"}
    numbers = {"intercept": 0, "rerank": 1, "fused": 1, "tenant": "globex"}
    model = {"profile": "balanced", "reranker": "r", "fitted_on": "x", "tenant": "globex", "embedder": "hash"}
    return [
        [memory, KEY],
        [draft],
        [{"body": "seen", "tenant": "globex"}],
        [{"memory_id": memory, **use}],
        [{"key": KEY, **use}],
        [{"id": memory, "content_hash": None, "embedding": VECTOR, "tenant": "globex"}],
        {**model, "coefficients": numbers},
        {"search": ids["search"], "lexical": 1},
        {"title": f"{GUESSED} missing", "aliases": [KEY], "layer": f"{GUESSED}-layer"},
        {"content_hash": "0", "embedding": VECTOR, "id": memory},
    ]
