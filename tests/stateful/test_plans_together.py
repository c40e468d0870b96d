"""Plans of every kind in any order, with edits between: what cannot be done is refused."""

from __future__ import annotations

import random
from typing import Any

import psycopg
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.outcomes import outcome
from tests.fuzz.scale import tried

STEPS = 60
TEXTS = (
    "The winch of the Aurora was oiled in the harbour",
    "The winch of the Aurora was oiled in the harbour.",
    "The winch of the Aurora was oiled in the big harbour by Ann",
    "The winch of the Aurora was not oiled in the harbour",
    "Tide tables are printed in the old town hall",
    "tide tables are printed, in the old town hall",
)
NAMED = {
    "one": "memory", "two": "memory", "dedupe": "dedupe", "prune": "prune", "redact": "redact",
    "erasure": "erasure",
}  # fmt: skip
"""Which of the ids a call is given."""

CALLS: dict[str, str] = {
    "remember": "SELECT recall.remember(%(text)s, p_author => %(author)s, p_now => %(now)s)",
    "edit": "SELECT recall.edit(%(one)s, jsonb_build_object('body', %(text)s::text), p_now => %(now)s)",
    "restore version": "SELECT recall.restore_version(%(one)s, 1, p_now => %(now)s)",
    "forget": "SELECT recall.forget(%(one)s, p_now => %(now)s)",
    "forget for good": "SELECT recall.forget(%(one)s, true, p_now => %(now)s)",
    "pin": "SELECT recall.pin(%(one)s, %(flag)s, p_now => %(now)s)",
    "link": "SELECT recall.link(%(one)s, %(two)s, %(relation)s, p_now => %(now)s)",
    "use": "SELECT recall.record_access(%(one)s, 'used', p_now => %(now)s)",
    "find": "SELECT recall.find_duplicates()",
    "plan dedupe": "SELECT recall.plan_dedupe(p_now => %(now)s)",
    "plan merge": "SELECT recall.plan_merge(%(one)s, ARRAY[%(two)s]::bigint[], p_now => %(now)s)",
    "apply dedupe": "SELECT recall.apply_plan(%(dedupe)s, p_now => %(now)s)",
    "undo dedupe": "SELECT recall.undo_plan(%(dedupe)s, p_now => %(now)s)",
    "plan prune": "SELECT recall.plan_prune(p_grace_days => 0, p_max_share => 1, p_now => %(now)s)",
    "apply prune": "SELECT recall.apply_plan(%(prune)s, p_now => %(now)s)",
    "undo prune": "SELECT recall.undo_plan(%(prune)s, p_now => %(now)s)",
    # The secret is a word, in current texts and in earlier versions.
    "plan redact": "SELECT recall.plan_redact((SELECT coalesce(jsonb_agg(jsonb_build_object("
    "'id', t.memory_id, 'version', t.version, 'digest', t.digest, 'places', jsonb_build_array("
    "jsonb_build_object('path', ARRAY['body'], 'spans', jsonb_build_array(jsonb_build_array("
    "position('town' IN t.texts ->> 'body') - 1, 4, 'Key')))))), '[]') FROM recall.stored_texts() t "
    "WHERE position('town' IN t.texts ->> 'body') > 0), p_now => %(now)s)",
    "apply redact": "SELECT recall.apply_plan(%(redact)s, p_now => %(now)s)",
    "undo redact": "SELECT recall.undo_plan(%(redact)s, p_now => %(now)s)",
    "plan erasure": "SELECT recall.plan_erasure(jsonb_build_object('author', %(author)s::text), 'ann', "
    "p_now => %(now)s)",
    "apply erasure": "SELECT recall.apply_erasure(%(erasure)s, 'ann', p_now => %(now)s)",
}
IDS = (
    "SELECT (SELECT array_agg(id ORDER BY id) FROM recall.memory WHERE tenant = 'acme') AS memory, "
    "(SELECT array_agg(id ORDER BY id) FROM recall.plan WHERE tenant = 'acme' AND kind = 'dedupe') "
    "AS dedupe, "
    "(SELECT array_agg(id ORDER BY id) FROM recall.plan WHERE tenant = 'acme' AND kind = 'prune') AS prune, "
    "(SELECT array_agg(id ORDER BY id) FROM recall.plan WHERE tenant = 'acme' AND kind = 'redact') "
    "AS redact, "
    "(SELECT array_agg(id ORDER BY id) FROM recall.erasure WHERE tenant = 'acme') AS erasure"
)
PROBLEMS = (
    "SELECT c ->> 'name' AS name, c -> 'examples' AS examples "
    "FROM jsonb_array_elements(recall.verify(%s::timestamptz) -> 'checks') c "
    "WHERE (c ->> 'problems')::int > 0"
)


def test_any_order_of_plans(shared_connection: psycopg.Connection[dict[str, Any]]) -> None:
    met: set[tuple[str, str]] = set()

    @tried(8)
    @given(st.integers(0, 2**32))
    def one(seed: int) -> None:
        with shared_connection.transaction(force_rollback=True):
            met.update(play(shared_connection, random.Random(seed)))

    one()
    assert {name for name, what in met if what == "answered"} == set(CALLS)
    assert {name for name, what in met if what == "refused"} >= {
        "apply dedupe", "undo dedupe", "undo prune", "undo redact",
    }  # fmt: skip


def play(connection: psycopg.Connection[dict[str, Any]], chance: random.Random) -> set[tuple[str, str]]:
    """Calls at random; what came of which."""
    connection.execute("SELECT set_config('recall.tenant', 'acme', true)")
    met, done = set(), []
    for step in range(STEPS):
        ids = connection.execute(IDS).fetchone()
        assert ids is not None
        name = chance.choice(list(CALLS)) if step > 8 else "remember"
        values = {
            "text": chance.choice(TEXTS),
            "author": chance.choice(("ann", "ben", None)),
            "flag": chance.random() < 0.5,
            "relation": chance.choice(("links_to", "next", "supersedes", "contradicts")),
            "now": f"2026-06-{1 + step // 3:02} 12:00+00",
            **{place: chance.choice(ids[kind] or [1]) for place, kind in NAMED.items()},
        }
        done.append((name, values))
        try:
            what = outcome(connection, CALLS[name], values)
        except psycopg.Error as error:
            raise AssertionError(f"{error} in {done}") from error
        met.add((name, what))
        if what == "answered":
            wrong = connection.execute(PROBLEMS, (values["now"],)).fetchall()
            assert wrong == [], f"{wrong} after {done}"
    return met
