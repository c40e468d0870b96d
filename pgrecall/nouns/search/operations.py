"""Searching with and without a log entry, and the data for a block of context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from pgrecall.encoding import Vector, packed, search_document, text_array, to_json, token_texts, vector_text
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.links.models import Derivation
from pgrecall.nouns.operation import NOW, Operation, Row, acting, read_str, read_value
from pgrecall.nouns.search.explanation import Explanation
from pgrecall.nouns.search.found import Candidate, ConfidenceTerms, Found, Raised, Weighing
from pgrecall.nouns.search.grounds import SearchGround
from pgrecall.nouns.search.models import ConversationTurn, Hit, Passage, SearchRequest

_REQUEST = (
    "CASE WHEN set_config('recall.embedder', %(embedder)s, true) IS NOT NULL THEN %(request)s::jsonb END"
)
"""The request; evaluating it says what embedded the query. It is no field of the request, because cells of an
earlier version would refuse that."""

_MADE_HERE = ("reranked", "explanation", "tenant", "directive")
_HIT_FIELDS = tuple(f.name for f in fields(Hit) if f.name not in _MADE_HERE)
_CANDIDATE_FIELDS = tuple(f.name for f in fields(Candidate) if f.name != "hit")
_GROUNDS = "summary, record_send(hit_ground) AS hit_ground, record_send(search_ground) AS search_ground"
"""The summary, and what explanations are computed from, in binary (see grounds.py)."""


def queries_without_names(queries: Sequence[str]) -> Operation[tuple[tuple[str, tuple[str, ...]], ...]]:
    """Returns each query without known names, and these names."""
    return Operation(
        f"SELECT * FROM recall.queries_without_names({acting('%(queries)s::text[]')})",
        {"queries": text_array(queries)},
        lambda rows: tuple((row["query"], tuple(row["names"])) for row in rows),
        repeatable=True,
        acting=True,
        reads=True,
    )


def find(
    request: SearchRequest,
    vectors: Sequence[Embedded] | None,
    *,
    pool: int = 0,
    reranker: str | None = None,
    unless_named: bool = False,
) -> Operation[Found]:
    """Searches by words, names, cues and links, and by meaning if vectors of the queries are given.

    Args:
        request: the request.
        vectors: one for each query; None omits the search by meaning.
        pool: returns so many of the most relevant candidates besides the best ``k``, for a reranker.
        reranker: name of a reranker, to return the coefficients that convert its logits to relevance.
        unless_named: searches only if the queries contain no name; otherwise the result has only ``named``.
    """
    return Operation(
        f"SELECT {', '.join((*_HIT_FIELDS, *_CANDIDATE_FIELDS))}, {_GROUNDS} FROM recall.find("
        f"{_request()}, %(pool)s, %(reranker)s, %(tokens)s::jsonb, %(unless_named)s)",
        request_parameters(request, vectors)
        | {"pool": pool, "reranker": reranker, "unless_named": unless_named},
        _found,
        repeatable=True,
        acting=True,
        reads=True,
    )


def search_and_log(
    request: SearchRequest, vectors: Sequence[Embedded] | None, *, unless_named: bool = False
) -> Operation[Found]:
    """Searches and logs each hit as shown; a repetition after a lost connection may log them twice.

    ``unless_named`` is as in :func:`find`; a search that does not run is not logged.
    """
    return Operation(
        f"SELECT {', '.join(_HIT_FIELDS)}, search_id, {_GROUNDS} FROM recall.search_and_log("
        f"{_request(durable=False)}, %(tokens)s::jsonb, %(unless_named)s)",
        request_parameters(request, vectors) | {"unless_named": unless_named},
        _found,
        repeatable=True,
        durable=False,
        acting=True,
    )


def log_shown(
    ids: Sequence[int],
    session_id: str | None,
    query: str,
    *,
    queries: Sequence[str] | None = None,
    profile: str | None = None,
    experiment: Mapping[str, Any] | None = None,
) -> Operation[int | None]:
    """Logs a search, its hits and its experiment; returns its id, or None if searches are not kept.

    A repetition after a lost connection may log them twice.
    """
    return Operation(
        "SELECT recall.log_shown(%(ids)s, %(session_id)s, "
        "now(), %(query)s, %(profile)s, %(queries)s, %(experiment)s::jsonb)",
        {
            "ids": list(ids),
            "session_id": session_id,
            "query": query,
            "queries": None if queries is None else list(queries),
            "profile": profile,
            "experiment": None if experiment is None else to_json(experiment),
        },
        read_value,
        repeatable=True,
        durable=False,
    )


def completed_query(query: str, conversation: Sequence[ConversationTurn]) -> Operation[str]:
    """Completes a query by the turns that it refers to; returns it as it is where it makes sense alone."""
    turns = [{"role": turn.role, "content": turn.content, "at": turn.at} for turn in conversation]
    return Operation(
        "SELECT recall.completed_query(%(query)s, %(conversation)s::jsonb)",
        {"query": query, "conversation": to_json(turns)},
        read_str,
        repeatable=True,
        reads=True,
    )


def projects(ids: Sequence[int]) -> Operation[dict[int, str]]:
    """Reads the projects of those of these memories that have one."""
    return Operation(
        "SELECT * FROM recall.projects(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: {row["id"]: row["project"] for row in rows},
        repeatable=True,
        reads=True,
    )


def directives(ids: Sequence[int]) -> Operation[dict[int, str | None]]:
    """Reads the sentence that makes each of these memories a directive; None if none does by itself."""
    return Operation(
        "SELECT * FROM recall.directives(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: {row["id"]: row["sentence"] for row in rows},
        repeatable=True,
        reads=True,
    )


def similarities(ids: Sequence[int]) -> Operation[dict[tuple[int, int], float]]:
    """Computes the cosine of each pair of at most 200 memories, by pairs of ids, the smaller first."""
    return Operation(
        "SELECT * FROM recall.similarities(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: {(row["a"], row["b"]): row["similarity"] for row in rows},
        repeatable=True,
        reads=True,
    )


def successors(ids: Sequence[int]) -> Operation[dict[int, tuple[int, ...]]]:
    """Reads the chain of memories that supersede each of at most 200 memories, the newest last."""
    return Operation(
        "SELECT * FROM recall.successors(%(ids)s)", {"ids": list(ids)}, _chains, repeatable=True, reads=True
    )


def derivations(ids: Sequence[int]) -> Operation[tuple[Derivation, ...]]:
    """Reads what those of at most 200 memories that are summaries are derived from."""
    return Operation(
        "SELECT * FROM recall.derivations(%(ids)s)",
        {"ids": list(ids)},
        lambda rows: tuple(Derivation(**row) for row in rows),
        repeatable=True,
        reads=True,
    )


def _request(*, durable: bool = True) -> str:
    """Returns the SQL arguments of a search, always the same text, so that the statement is prepared only
    once."""
    return f"{acting(_REQUEST, durable=durable)}, %(embedding)s, %(embeddings)s, {NOW}"


def request_arguments() -> str:
    """Returns the SQL arguments of a search, for a function that takes others before them."""
    return f"{_REQUEST}, %(embedding)s, %(embeddings)s, {NOW}"


def request_parameters(request: SearchRequest, vectors: Sequence[Embedded] | None) -> dict[str, object]:
    """Returns the parameters of a search; ``vectors`` are those of its query and sub-queries, in this
    order."""
    left = [embedded.vector for embedded in vectors or ()]
    tokens = [token_texts(embedded.tokens) for embedded in vectors or ()]
    first = packed(left.pop(0)) if left and request.query.strip() else None
    return {
        "request": to_json(search_document(request)),
        "embedding": first,
        "embeddings": _array(left) if left else None,
        "now": request.now,
        "tokens": to_json(tokens) if any(tokens) else None,
        "embedder": (vectors[0].embedder or "") if vectors else "",
    }


def _array(vectors: Sequence[Vector]) -> str:
    """Encodes an array of vectors as text, so that Postgres infers its type, whatever the schema of
    pgvector."""
    return "{" + ",".join(f'"{vector_text(vector)}"' for vector in vectors) + "}"


def _found(rows: Sequence[Row]) -> Found:
    summary = rows[0]["summary"]
    if "named" in summary:
        return Found((), {}, (), named=tuple((query, tuple(names)) for query, names in summary["named"]))
    ground = SearchGround(rows[0]["search_ground"]) if rows[0]["search_ground"] else None
    hits = [(row, _hit(row, ground)) for row in rows if row["id"] is not None]
    blend = summary.get("blend") or {}
    terms = summary.get("confidence_terms")
    return Found(
        tuple(hit for _, hit in hits),
        summary.get("arms") or {},
        tuple(summary.get("skipped") or ()),
        rows[0].get("search_id"),
        tuple(Candidate(hit, *(row[name] for name in _CANDIDATE_FIELDS)) for row, hit in hits)
        if "logit" in rows[0]
        else (),
        Weighing(
            summary["mode"],
            summary["weight"],
            tuple(Raised(**one) for one in summary.get("raised") or ()),
            **blend,
        ),
        summary["confidence"],
        summary["min_confidence"],
        read_as(ConfidenceTerms, terms) if terms else None,
        summary["profile"],
        summary.get("experiment"),
        needs_context=bool(summary.get("needs_context")),
    )


def _hit(row: Row, ground: SearchGround | None) -> Hit:
    values = {name: row[name] for name in _HIT_FIELDS}
    values["tags"] = tuple(values["tags"])
    values["supersedes"] = tuple(values["supersedes"])
    values["contradicts"] = tuple(values["contradicts"])
    if ground is not None:
        values["explanation"] = Explanation(
            row["hit_ground"], ground, relevance=row["relevance"], vitality=row["vitality"], zone=row["zone"]
        )
    values["passage"] = read_as(Passage, row["passage"]) if row["passage"] else None
    return read_as(Hit, values)


def _chains(rows: Sequence[Row]) -> dict[int, tuple[int, ...]]:
    chains: dict[int, tuple[int, ...]] = {}
    for row in rows:  # by id and step
        chains[row["id"]] = (*chains.get(row["id"], ()), row["successor"])
    return chains
