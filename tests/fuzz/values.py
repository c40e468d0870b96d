"""Values of every type that a function of ours takes, the edges of each more often than its middle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.conftest import DIMENSIONS

Strategy = st.SearchStrategy[Any]

KEYS = ("acme-plan", "acme-mira", "acme-old")
"""Of memories that are there."""

MEGABYTE = "harbour " * 131_072

EDGES = (
    "", " ", "\t\r\n", "*", "'", '"', "\\", "%", "_", "$$", "--", ";", ":*", "a & !b | (", "<->", "!", "()",
    "(.*)+$", "[", "\\x", "{}", "[]", "null", "NULL", "NaN", "Infinity", "-1", "1e400", "0x10", "9" * 400,
    "\u0001", "\u001f", "\u007f", "\u0085", "\u00a0", "\u200b", "\u202e", "\u2028", "\ufeff", "\ufffe",
    "\U0010ffff",
    "e\u0301" * 50, "\u0130", "\u00df", "🙂👩‍👩‍👧", "harbour", "contract", "used", "balanced", "hash",
    "knowledge",
    "entity", "acme", "globex", "prune.grace_days", "english", "default", "verify", "it's", "x" * 1001,
    "x" * 10_001,
    "word " * 3000, "a." * 3000, "(" * 3000, *KEYS,
)  # fmt: skip
"""Texts that are syntax somewhere, names that are known, and lengths beyond what is taken."""

plain = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=40)
"""Any text that Postgres can be given."""

texts = st.one_of(st.sampled_from(EDGES), plain, st.sampled_from(KEYS))
MOMENTS = (
    "-infinity", "infinity", "4713-01-02 BC", "0001-12-31 BC", "0001-01-01", "0001-01-03 00:00+00",
    "1900-02-28",
    "1970-01-01 00:00+00", "2026-06-01 12:00+00", "2026-06-01 12:00:00.000001+15:59", "2262-04-12",
    "9999-12-29",
    "9999-12-31 23:59:59.999999-15:59", "10000-01-01", "294276-12-31",
)  # fmt: skip

FLOATS = (
    "NaN", "Infinity", "-Infinity", "0", "-0", "1", "0.5", "1e-320", "-1e-320", "1e-300", "1e300", "-1e300",
    "1.7976931348623157e308", "10", "100", "1000", "1e15", "0.1",
)  # fmt: skip


def vector(value: float, dimensions: int = DIMENSIONS) -> str:
    return f"[{','.join([str(value)] * dimensions)}]"


VECTORS = (
    vector(0), vector(-0.0), vector(0.125), vector(65504), vector(-65504), vector(6e-8), vector(1, 1),
    vector(1, 65),
    "[" + ",".join(["1"] + ["0"] * (DIMENSIONS - 1)) + "]",
)  # fmt: skip

FIELDS = (
    "key", "layer", "title", "body", "role", "author", "context", "source", "session_id", "tags", "aliases",
    "metadata", "occurred_at", "valid_from", "valid_until", "expires_at", "pinned", "embedding", "links",
    "target",
    "relation", "weight", "memory_id", "kind", "at", "idempotency_key", "id", "content_hash", "profile",
    "reranker",
    "embedder", "fitted_on", "coefficients", "intercept", "rerank", "fused", "search", "lexical",
    "similarity",
    "form", "vitality_weight", "vitality_mode", "semantic", "name", "cue", "graph", "author",
)  # fmt: skip
"""Members of the documents that functions read, so that more than the shape is looked at."""


def numbers(bits: int) -> Strategy:
    most = 2 ** (bits - 1) - 1
    return st.one_of(
        st.sampled_from((0, 1, -1, 2, 3, 20, 1000, 1001, most, -most - 1)),
        st.integers(-most - 1, most),
        st.integers(0, 20),
    )


def _bare() -> Strategy:
    """JSON without members: the leaves of documents, those that other types spell among them."""
    return st.one_of(
        st.none(), st.booleans(), numbers(64), st.sampled_from((1e308, -1e308, 0.5, 1e-300, 10**400)),
        texts, st.sampled_from(MOMENTS), st.sampled_from(VECTORS), st.sampled_from(FLOATS),
    )  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


documents = st.one_of(
    st.recursive(
        _bare(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.one_of(st.sampled_from(FIELDS), plain), inner, max_size=6),
        ),
        max_leaves=12,
    ),
    st.lists(st.dictionaries(st.sampled_from(FIELDS), _bare(), min_size=1, max_size=8), min_size=1,
    max_size=3),
    st.fixed_dictionaries(
        {"body": texts}, optional={name: _bare() for name in FIELDS[:19] if name != "body"}
    ).map(lambda draft: [draft]),
    st.sampled_from((_nested(900), [[]] * 5000, {"a" * 70_000: 1})),
)  # fmt: skip


def arrays(of: Strategy) -> Strategy:
    """Of one dimension, with NULLs; of none; and of two, which few expect."""
    some = st.one_of(of, st.none())
    flat = st.lists(some, max_size=5)
    return st.one_of(flat, st.integers(1, 3).flatmap(lambda wide: st.lists(
        st.lists(some, min_size=wide, max_size=wide), min_size=1, max_size=3)))  # fmt: skip


ODDS = st.floats(-50, 50)


def by_type(ids: Mapping[str, int]) -> dict[str, Strategy]:
    """A strategy for each type, in which numbers of things that are there occur."""
    there = st.sampled_from(sorted(set(ids.values())))
    # Mostly such as are taken: a call that is refused for one argument says nothing of the others.
    usual = ("2026-06-01 12:00+00", "2026-06-02 00:00+00")
    moments, vectors = st.sampled_from((*MOMENTS, *usual * 8)), st.sampled_from(VECTORS)
    singles = {
        "integer": numbers(32),
        "bigint": st.one_of(there, numbers(64)),
        "text": texts,
        "halfvec": vectors,
        "double precision": st.one_of(st.sampled_from(FLOATS), st.floats().map(str)),
        "timestamp with time zone": moments,
    }
    return {
        **singles,
        **{f"{name}[]": arrays(values) for name, values in singles.items()},
        "boolean": st.booleans(),
        "bytea": st.binary(max_size=40),
        "json": documents.map(json.dumps),
        "jsonb": documents.map(json.dumps),
        # Of numbers that a search can have: whoever makes up others explains what was never found.
        "recall.hit_ground": st.tuples(st.integers(-3, 20), st.integers(0, 65535), ODDS, ODDS, ODDS).map(
            "({0[0]},,{0[1]},{0[2]},{0[3]},{0[4]},f,,)".format
        ),
        "recall.search_ground": st.tuples(st.integers(0, 2**32), ODDS).map(
            "({0[0]},f,odds,{0[1]},,,,,,,)".format
        ),
    }


def replaced(data: bytes, at: int, gone: int, instead: bytes) -> bytes:
    """The same with other bytes in place of so many; a place beyond the end counts on from the beginning."""
    at %= len(data) + 1
    return data[:at] + instead + data[at + gone :]
