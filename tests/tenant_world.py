"""A tenant that has lived: something of everything that a tenant can hold; and all that it can be asked."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgrecall import Access, Draft, DraftLink, Memory
from tests.conftest import DIMENSIONS, NOW

LAYERS = ("knowledge", "episodic", "activity", "entity", "diary")
WORDS = (
    "harbour", "contract", "crane", "tide", "gauge", "winter", "ledger", "ferry", "signal", "archive",
    "lantern", "storm", "keeper", "night", "canal", "bridge", "letter", "invoice", "autumn", "garden",
)  # fmt: skip
MOMENTS = (NOW, NOW + timedelta(days=45), NOW + timedelta(days=900))
PAST = (NOW - timedelta(days=200), NOW - timedelta(days=30), NOW - timedelta(hours=3))
QUERIES = ("harbour contract", "who is Keeper Storm", "winter ledger", "note-7", "gardn bridge")


LONG = "\n\nThe keeper counts ropes, nets and lamps, and writes them down." * 30
"""Makes a memory long enough for passages."""


def fill_tenant(memory: Memory, url: str, seed: int = 1, size: int = 30) -> None:
    """Fills an empty tenant by what people and jobs do, at given moments: nothing depends on today."""
    rng = random.Random(seed)
    memory.layers.set("diary", now=NOW - timedelta(days=500), metabolic_rate=0.7, birth_weight=1.4)
    memory.settings.set("prune.grace_days", 2.0)
    memory.settings.set("spread.damping", 0.55)
    born = _store(memory, rng, size)
    _use(memory, rng, born)
    _change(memory, rng, size)
    memory.maintenance.refresh_statistics(now=NOW)
    memory.maintenance.refresh_graph()
    _prune(memory)
    _dedupe(memory)
    _ask(memory, url)


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(4, 14)))


def _drafts(rng: random.Random, size: int) -> Iterator[tuple[datetime, Draft]]:
    for number in range(size):
        at = NOW - timedelta(days=rng.uniform(1, 420))
        layer = LAYERS[number % len(LAYERS)]
        known = {"a": None, "b": [1, {"c": "é\u2028\U0001f980"}]} if number % 3 else {}
        yield (
            at,
            Draft(
                f"{_text(rng)} «quoted» \\ back\nline {number}" + (LONG if number == 8 else ""),
                title=f"{rng.choice(WORDS).title()} {rng.choice(WORDS).title()}" if number % 4 else "",
                key=f"note-{number}" if number % 5 else None,
                layer=layer,
                author=rng.choice(("Mira Okafor", "José", None)),
                role=rng.choice(("user", "assistant", None)),
                context=_text(rng) if number % 2 else "",
                source="world" if number % 3 else None,
                session_id=f"s-{number % 4}",
                tags=tuple(rng.sample(WORDS, 2)),
                aliases=(f"Keeper {rng.choice(WORDS).title()}",) if layer == "entity" else (),
                metadata=known,
                occurred_at=at - timedelta(days=3) if number % 6 == 0 else None,
                valid_from=at if number % 7 == 0 else None,
                valid_until=NOW + timedelta(days=20) if number % 7 == 0 else None,
                expires_at=NOW + timedelta(days=10 * (number % 3)) if number % 9 == 0 else None,
                pinned=number % 11 == 0,
                links=tuple(
                    DraftLink(f"note-{rng.randrange(size + 4)}", rng.choice(("links_to", "supports", "next")))
                    for _ in range(number % 4)
                ),
            ),
        )


def _store(memory: Memory, rng: random.Random, size: int) -> dict[str, datetime]:
    born = {}
    for at, draft in sorted(_drafts(rng, size), key=lambda each: each[0]):
        memory.remember_many([draft], now=at)
        if draft.key:
            born[draft.key] = at
    # Replaced without its links, which are history from then on.
    memory.remember_many(
        [Draft("harbour again", key="note-3", layer="knowledge")], keep=False, now=NOW - timedelta(hours=9)
    )
    return born


def _use(memory: Memory, rng: random.Random, born: dict[str, datetime]) -> None:
    """Some recorded at once, some late, some one of a burst."""
    for number in range(3 * len(born)):
        key = rng.choice(list(born))
        at = NOW - (NOW - born[key]) * rng.random() ** 3
        use = Access(
            key,
            rng.choice(("read", "used", "reference", "retrieval")),
            at,
            f"talk-{number % 6}" if number % 3 else None,
            f"once-{number}" if number % 4 == 0 else None,
        )
        again = Access(key, use.kind, at + timedelta(minutes=2), use.session_id)
        late = timedelta(days=rng.choice((0, 0, 3)))
        memory.record_accesses(
            [use, again] if number % 5 == 0 else [use], now=at + late + timedelta(minutes=3)
        )


def _change(memory: Memory, rng: random.Random, size: int) -> None:
    memory.supersede("note-1", "note-2", now=NOW - timedelta(days=5))
    memory.supersede("note-6", "note-4", now=NOW - timedelta(days=5))
    memory.link("note-2", "note-7", "contradicts", now=NOW - timedelta(days=2))
    memory.edit("note-7", occurred_at=NOW - timedelta(days=500), now=NOW - timedelta(hours=8))
    memory.edit("note-7", tags=("changed",), now=NOW - timedelta(hours=7))
    memory.forget("note-8", now=NOW - timedelta(days=30))
    memory.forget("note-9", now=NOW - timedelta(days=30))
    memory.remember_many([Draft("back from the archive", key="note-9")], now=NOW - timedelta(days=1))
    memory.pin("note-12", now=NOW - timedelta(days=8))
    memory.pin("note-12", False, now=NOW - timedelta(days=4))
    memory.forget("note-13", hard=True)


def _prune(memory: Memory) -> None:
    for days, end in ((300, "undone"), (301, "applied"), (302, "planned")):
        plan = memory.plans.prune(max_share=0.3, max_count=4, now=NOW + timedelta(days=days))
        if end != "planned":
            memory.plans.apply(plan.id, now=NOW + timedelta(days=days))
        if end == "undone":
            memory.plans.undo(plan.id, now=NOW + timedelta(days=days))


def _dedupe(memory: Memory) -> None:
    texts = (
        "Tom oils the winch of the ferry before the first crossing",
        "Ida keeps the log of the harbour master",
    )
    for days, end in ((303, "undone"), (304, "applied"), (305, "planned")):
        now = NOW + timedelta(days=days)
        for number, text in enumerate(texts):
            drafts = [
                Draft(text + more, key=f"twin {days} {number} {place}", tags=(f"twin{place}",))
                for place, more in enumerate((".", "!"))
            ]
            memory.remember_many(drafts, now=NOW - timedelta(days=days))
        plan = memory.plans.dedupe(now=now)
        if end != "planned":
            memory.plans.apply(plan.id, now=now)
        if end == "undone":
            memory.plans.undo(plan.id, now=now)


def _ask(memory: Memory, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (memory.tenant,))
        connection.execute("SELECT recall.refresh_vitality(p_now => %s)", (NOW,))
        for number, query in enumerate(QUERIES):
            shown = connection.execute(
                "SELECT search_id, id FROM recall.search_and_log("
                "jsonb_build_object('query', %s::text, 'k', 4, 'session_id', %s::text), p_now => %s)",
                (query, f"talk-{number}", NOW),
            ).fetchall()
            if len(shown) > 1:
                memory.used(shown[0][0], shown[0][1], now=NOW)
                memory.rejected(shown[0][0], [shown[1][1]], now=NOW)
            if number == 2:
                memory.maintenance.fold()  # what the later ones showed waits in the queue
        relevance = {"profile": "identity", "embedder": f"hash-{DIMENSIONS}", "fitted_on": "a few questions"}
        connection.execute(
            "SELECT recall.store_relevance_model(%s)", (json.dumps(relevance | _COEFFICIENTS),)
        )
        reading = {"intercept": -0.5, "rerank": 0.3, "fused": 0.7}
        rerank = {"reranker": "some", "coefficients": reading, "fitted_on": "a few questions"}
        connection.execute("SELECT recall.store_rerank_model(%s)", (json.dumps(rerank),))


_COEFFICIENTS = {
    "coefficients": {
        "intercept": -6.1, "similarity": 7, "no_similarity": 1.5, "coverage": 2, "information": 1, "name": 3,
        "author": 1, "cue": 4, "period": 1, "graph": 0.5, "token_similarity": 2,
        "no_token_similarity": 0.5, "session_coverage": 0.5, "question": 4, "speaker": 1, "no_number": 0.5,
    }
}  # fmt: skip


def all_answers(url: str, tenant: str) -> dict[str, list[dict[str, Any]]]:
    """What the tenant answers to everything, to the last digit; what tells today's clock is left out."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
        return {
            name: connection.execute(sql, {**_GIVEN, **values}).fetchall()
            for name, sql, values in _questions()
        }


_GIVEN: dict[str, Any] = {"vector": "[" + ",".join(["0.3", "-1"] * (DIMENSIONS // 2)) + "]", "now": NOW}


def _questions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for query in QUERIES:
        for moment in MOMENTS if query in QUERIES[:2] else MOMENTS[:1]:
            yield f"search {query} {moment}", _SEARCH, {"query": query, "now": moment, "as_of": None}
        for past in PAST if query in QUERIES[:2] else ():
            yield f"search {query} as of {past}", _SEARCH, {"query": query, "now": NOW, "as_of": past}
    for name, sql in _EVERYTHING.items():
        yield name, sql, {}
    for moment in MOMENTS:
        yield f"vitality {moment}", _VITALITY, {"now": moment}
    for past in PAST:
        yield f"vitality as of {past}", _VITALITY_AS_OF, {"now": past}
        yield f"zones as of {past}", "SELECT * FROM recall.zones_as_of(%(now)s)", {"now": past}


_SEARCH = (
    "SELECT * FROM recall.search(%(query)s, %(vector)s::halfvec, 12, p_session_id => 'talk-1', "
    "p_include_superseded => true, p_now => %(now)s, p_as_of => %(as_of)s)"
)
_VITALITY = (
    "SELECT m.id, e.* FROM recall.memory m CROSS JOIN LATERAL recall.explain_vitality(m.id, %(now)s) e "
    "WHERE m.tenant = recall.current_tenant() ORDER BY 1"
)
_VITALITY_AS_OF = (
    "SELECT m.id, e.* FROM recall.memory m CROSS JOIN LATERAL recall.vitality_as_of(m.id, %(now)s) e "
    "WHERE m.tenant = recall.current_tenant() ORDER BY 1"
)
_EVERYTHING = {
    "archived": "SELECT * FROM recall.search('harbour', p_include_archived => true, p_now => %(now)s)",
    "settings": "SELECT * FROM recall.settings()",
    "layers": "SELECT * FROM recall.layers()",
    "languages": "SELECT * FROM recall.languages()",
    "plans": "SELECT p.id, recall.get_plan(p.id) FROM recall.plan p "
    "WHERE p.tenant = recall.current_tenant() ORDER BY 1",
    "candidates": "SELECT * FROM recall.prune_candidates(p_now => %(now)s)",
    "relevance": "SELECT * FROM recall.relevance_models()",
    "rerankers": "SELECT * FROM recall.rerank_models()",
    "feedback": "SELECT * FROM recall.feedback_by_memory()",
    # A mean of shares adds up in whatever order rows lie.
    "ranks": "SELECT rank, shown, judged, used, round(propensity::numeric, 12) "
    "FROM recall.feedback_by_rank()",
    "judged": "SELECT search_id, query, jsonb_path_query_array(judgements, '$[*].verdict') "
    "FROM recall.feedback_qrels()",
    "pending": "SELECT recall.count_pending_links()",
    "status": "SELECT recall.status(%(now)s) - '{tenant}'::text[]",
    "memories": "SELECT m.id, recall.get(m.id, %(now)s) FROM recall.memory m "
    "WHERE m.tenant = recall.current_tenant() ORDER BY 1",
    "associates": "SELECT m.id, a.* FROM recall.memory m CROSS JOIN LATERAL "
    "recall.associates(m.id, p_now => %(now)s) a WHERE m.tenant = recall.current_tenant() ORDER BY 1, 2",
    "uses": "SELECT m.id, e.kind, e.weight, e.at, e.session_id FROM recall.memory m CROSS JOIN LATERAL "
    "recall.accesses_of(m.id) WITH ORDINALITY e(no, kind, weight, at, session_id, place) "
    "WHERE m.tenant = recall.current_tenant() ORDER BY m.id, e.place",
    "overview": "SELECT recall.overview(p_now => %(now)s)",
    "verified": "SELECT recall.verify(%(now)s)",
}
