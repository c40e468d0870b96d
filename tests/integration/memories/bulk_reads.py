"""Calls that read: one or more of each function that reads rows of memories, searches, plans or accesses."""

from __future__ import annotations

from collections.abc import Iterable

from tests.attack.calls import Function
from tests.attack.growth import vector
from tests.attack.world import NOW
from tests.integration.memories.bulk_calls import LATER, SOME, Call

FEW_ROWS = {
    "completed_query": "no table",
    "hit_explanation": "no table",
    "job_states": "runs of jobs",
}
"""Functions with arguments that read no table that grows with memories or their use, and what they read."""

REQUEST = '{"query": "rope 7 and tar", "k": 10}'


def _newest(kind: str) -> str:
    return f"(SELECT max(id) FROM recall.plan WHERE tenant = 'acme' AND kind = '{kind}')"


def _last(table: str) -> str:
    return f"(SELECT max(id) FROM recall.{table} WHERE tenant = 'acme')"


def reads(ids: list[int], functions: Iterable[Function]) -> dict[str, Call]:
    """Calls of functions that read many rows of a tenant: those below, and all that need no argument."""
    return _plain(functions) | _made(ids)


def _plain(functions: Iterable[Function]) -> dict[str, Call]:
    """A call of each reading function without required arguments."""
    plain = [one for one in functions if one.least_role == "recall_reader" and not one.required]
    return {
        one.name: (f"SELECT recall.{one.name}(p_now => %s)", (NOW,))
        if "p_now" in one.names
        else (f"SELECT recall.{one.name}()", ())
        for one in plain
    }


def _made(ids: list[int]) -> dict[str, Call]:
    some = ids[20 : 20 + SOME]
    each = "SELECT count(*) FROM unnest(%s::bigint[]) i"
    return {
        "list_memories: by vitality": (
            "SELECT recall.list_memories(p_order => 'vitality', p_now => %s)",
            (NOW,),
        ),
        "get": (f"{each}, recall.get(i)", (some,)),
        "versions": (f"{each}, recall.versions(i)", (ids[:SOME],)),
        "associates": (f"{each}, recall.associates(i)", (some,)),
        "neighbourhood": ("SELECT recall.neighbourhood(%s)", (some[0],)),
        "changes": ("SELECT recall.changes(p_limit => 500)", ()),
        "zones_as_of": ("SELECT recall.zones_as_of(%s)", (NOW,)),
        "prune_candidates": ("SELECT recall.prune_candidates(p_now => %s)", (LATER,)),
        "similarities": ("SELECT recall.similarities(%s)", (some,)),
        "successors": ("SELECT recall.successors(%s)", (some,)),
        "content_hashes": ("SELECT recall.content_hashes(%s)", ([f"rope{n}" for n in range(SOME)],)),
        "search": (
            "SELECT recall.search('rope 7 and tar', p_embedding => %s::halfvec, p_tags => ARRAY['rope1'], "
            "p_now => %s)",
            (vector(4), NOW),
        ),
        "accesses_of": (f"{each}, recall.accesses_of(i)", (some,)),
        "diff_versions": (f"{each}, recall.diff_versions(i, 1)", (ids[:SOME],)),
        "explain": (f"{each} WHERE recall.explain(i, %s, p_now => %s) IS NOT NULL", (some[:5], REQUEST, NOW)),
        "explain_miss": (
            f"{each} WHERE recall.explain_miss(i, %s, p_now => %s) IS NOT NULL",
            (some[:5], REQUEST, NOW),
        ),
        "explain_vitality": (f"{each}, recall.explain_vitality(i, %s)", (some, NOW)),
        "find": ("SELECT recall.find(%s, %s::halfvec, p_now => %s)", (REQUEST, vector(4), NOW)),
        "get_erasure": (f"SELECT recall.get_erasure({_last('erasure')})", ()),
        "get_plan: prune": (f"SELECT recall.get_plan({_newest('prune')})", ()),
        "get_plan: dedupe": (f"SELECT recall.get_plan({_newest('dedupe')})", ()),
        "id_of": ("SELECT recall.id_of('rope' || n) FROM generate_series(1, %s) n", (SOME,)),
        "keys_of_source": ("SELECT recall.keys_of_source('rope-source')", ()),
        "directives": ("SELECT recall.directives(%s)", (some,)),
        "projects": ("SELECT recall.projects(%s)", (some,)),
        "derivations": ("SELECT recall.derivations(%s)", (some,)),
        "queries_without_names": (
            "SELECT recall.queries_without_names(%s)",
            ([f"who tied rope {n}?" for n in range(SOME)],),
        ),
        "require_memory": (f"{each}, recall.require_memory(i)", (some,)),
        "vitality": (f"{each} WHERE recall.vitality(i, %s) >= 0", (some, NOW)),
        "vitality_as_of": (f"{each}, recall.vitality_as_of(i, %s)", (some, NOW)),
        "vitality_curve": (
            f"{each}, recall.vitality_curve(i, ARRAY[%s, %s]::timestamptz[], %s)",
            (some, NOW, LATER, NOW),
        ),
        "zones_over_time": ("SELECT recall.zones_over_time(ARRAY[%s, %s]::timestamptz[])", (NOW, LATER)),
    }
