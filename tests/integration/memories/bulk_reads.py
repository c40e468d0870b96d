"""Calls that read: one or more of each function that reads rows of memories, searches, plans or accesses."""

from __future__ import annotations

from tests.attack.growth import vector
from tests.attack.world import NOW
from tests.integration.memories.bulk_calls import LATER, SOME, Call

FEW_ROWS = {
    "access_problems": "the catalogue",
    "caller": "the session and the catalogue",
    "current_tenant": "the session",
    "completed_query": "no table",
    "hit_explanation": "no table",
    "installation": "the catalogue and the settings of the database",
    "job_runs": "runs of jobs, of which a limited number is kept",
    "job_states": "runs of jobs",
    "languages": "the catalogue",
    "layers": "a row for each layer",
    "presets": "no table",
    "relevance_models": "a row for each model",
    "rerank_models": "a row for each model",
    "schema_state": "the catalogue",
    "settings": "a row for each setting",
}
"""Functions that read no table that grows with memories or their use, and what they read."""


REQUEST = '{"query": "rope 7 and tar", "k": 10}'


def _newest(kind: str) -> str:
    return f"(SELECT max(id) FROM recall.plan WHERE tenant = 'acme' AND kind = '{kind}')"


def _last(table: str) -> str:
    return f"(SELECT max(id) FROM recall.{table} WHERE tenant = 'acme')"


def reads(ids: list[int]) -> dict[str, Call]:
    """Calls of functions that read many rows of a tenant."""
    some = ids[20 : 20 + SOME]
    each = "SELECT count(*) FROM unnest(%s::bigint[]) i"
    return {
        "verify": ("SELECT recall.verify(%s)", (NOW,)),
        "status": ("SELECT recall.status(%s)", (NOW,)),
        "health_report": ("SELECT recall.health_report(%s)", (NOW,)),
        "overview": ("SELECT recall.overview(p_now => %s)", (NOW,)),
        "export_lines": ("SELECT recall.export_lines(p_now => %s)", (NOW,)),
        "list_memories": ("SELECT recall.list_memories(p_now => %s)", (NOW,)),
        "list_memories: by vitality": (
            "SELECT recall.list_memories(p_order => 'vitality', p_now => %s)",
            (NOW,),
        ),
        "get": (f"{each}, recall.get(i)", (some,)),
        "versions": (f"{each}, recall.versions(i)", (ids[:SOME],)),
        "associates": (f"{each}, recall.associates(i)", (some,)),
        "neighbourhood": ("SELECT recall.neighbourhood(%s)", (some[0],)),
        "changes": ("SELECT recall.changes(p_limit => 500)", ()),
        "feedback_by_memory": ("SELECT recall.feedback_by_memory()", ()),
        "quality": ("SELECT recall.quality()", ()),
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
        "change_cursor": ("SELECT recall.change_cursor()", ()),
        "count_pending_links": ("SELECT recall.count_pending_links()", ()),
        "diff_versions": (f"{each}, recall.diff_versions(i, 1)", (ids[:SOME],)),
        "erasures": ("SELECT recall.erasures()", ()),
        "experiment": ("SELECT recall.experiment()", ()),
        "explain": (f"{each} WHERE recall.explain(i, %s, p_now => %s) IS NOT NULL", (some[:5], REQUEST, NOW)),
        "explain_miss": (
            f"{each} WHERE recall.explain_miss(i, %s, p_now => %s) IS NOT NULL",
            (some[:5], REQUEST, NOW),
        ),
        "explain_vitality": (f"{each}, recall.explain_vitality(i, %s)", (some, NOW)),
        "feedback_by_rank": ("SELECT recall.feedback_by_rank()", ()),
        "feedback_qrels": ("SELECT recall.feedback_qrels()", ()),
        "find": ("SELECT recall.find(%s, %s::halfvec, p_now => %s)", (REQUEST, vector(4), NOW)),
        "get_erasure": (f"SELECT recall.get_erasure({_last('erasure')})", ()),
        "get_plan: prune": (f"SELECT recall.get_plan({_newest('prune')})", ()),
        "get_plan: dedupe": (f"SELECT recall.get_plan({_newest('dedupe')})", ()),
        "stored_texts": ("SELECT recall.stored_texts()", ()),
        "id_of": ("SELECT recall.id_of('rope' || n) FROM generate_series(1, %s) n", (SOME,)),
        "keys_of_source": ("SELECT recall.keys_of_source('rope-source')", ()),
        "logged_searches": ("SELECT recall.logged_searches()", ()),
        "plans": ("SELECT recall.plans()", ()),
        "imports": ("SELECT recall.imports()", ()),
        "unused_imports": ("SELECT recall.unused_imports()", ()),
        "projects": ("SELECT recall.projects(%s)", (some,)),
        "derivations": ("SELECT recall.derivations(%s)", (some,)),
        "stale_summaries": ("SELECT recall.stale_summaries()", ()),
        "queries_without_names": (
            "SELECT recall.queries_without_names(%s)",
            ([f"who tied rope {n}?" for n in range(SOME)],),
        ),
        "require_memory": (f"{each}, recall.require_memory(i)", (some,)),
        "unanswered_queries": ("SELECT recall.unanswered_queries()", ()),
        "vitality": (f"{each} WHERE recall.vitality(i, %s) >= 0", (some, NOW)),
        "vitality_as_of": (f"{each}, recall.vitality_as_of(i, %s)", (some, NOW)),
        "vitality_curve": (
            f"{each}, recall.vitality_curve(i, ARRAY[%s, %s]::timestamptz[], %s)",
            (some, NOW, LATER, NOW),
        ),
        "vitality_histogram": ("SELECT recall.vitality_histogram(p_now => %s)", (NOW,)),
        "zones_over_time": ("SELECT recall.zones_over_time(ARRAY[%s, %s]::timestamptz[])", (NOW, LATER)),
    }
