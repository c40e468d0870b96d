"""Questions to the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from pgrecall.encoding import Vector, packed, to_json, vector_text
from pgrecall.models import Hit, SearchRequest
from pgrecall.models.search import Candidate, Found, Weighing
from pgrecall.operations.base import NOW, Operation, Row

_ELSEWHERE = ("rerank", "deadline", "log")
"""Fields of a request that the database is not told."""

_CASTS = {"now": NOW, "cues": "recall.ids_of(%(cues)s)"}
_SEARCH_PARAMETERS = tuple(f.name for f in fields(SearchRequest) if f.name not in _ELSEWHERE)
_ARGUMENTS = "p_embedding => %(embedding)s, p_embeddings => %(embeddings)s, " + ", ".join(
    f"p_{name} => {_CASTS.get(name, f'%({name})s')}" for name in _SEARCH_PARAMETERS
)
_HIT_FIELDS = tuple(f.name for f in fields(Hit) if f.name != "reranked")


def questions_without_names(queries: Sequence[str]) -> Operation[tuple[tuple[str, tuple[str, ...]], ...]]:
    """The questions to embed, in their order, and the known names taken out of each."""
    return Operation(
        "SELECT * FROM recall.questions_without_names(%(queries)s)",
        {"queries": list(queries)},
        lambda rows: tuple((row["question"], tuple(row["names"])) for row in rows),
        repeatable=True,
    )


def find(
    request: SearchRequest,
    vectors: Sequence[Vector] | None,
    *,
    pool: int = 0,
    reranker: str | None = None,
) -> Operation[Found]:
    """Searches by words, names, cues and links, and by meaning where the questions' vectors are given.

    ``pool`` asks for the so many most relevant beside the best ``k``, and ``reranker`` for what makes its
    logits a relevance.
    """
    return Operation(
        f"SELECT * FROM recall.find({_ARGUMENTS}, p_pool => %(pool)s, p_reranker => %(reranker)s)",
        _parameters(request, vectors) | {"pool": pool, "reranker": reranker},
        _found,
        repeatable=True,
    )


def search_and_log(request: SearchRequest, vectors: Sequence[Vector] | None) -> Operation[Found]:
    """The same, and logs each hit as shown; repeated after a lost connection it may log them twice."""
    return Operation(
        f"SELECT * FROM recall.search_and_log({_ARGUMENTS})",
        _parameters(request, vectors),
        _found,
        repeatable=True,
        durable=False,
    )


def _parameters(request: SearchRequest, vectors: Sequence[Vector] | None) -> dict[str, object]:
    left = list(vectors or ())
    first = packed(left.pop(0)) if left and request.query.strip() else None
    parameters: dict[str, object] = {"embedding": first, "embeddings": _array(left)}
    for name in _SEARCH_PARAMETERS:
        value = getattr(request, name)
        parameters[name] = list(value) if isinstance(value, tuple) else value
    for name in ("cues", "weights"):
        if parameters[name] is not None:
            parameters[name] = to_json(parameters[name])
    return parameters


def _array(vectors: Sequence[Vector]) -> str | None:
    """An array of vectors as Postgres reads it; its type is the parameter's, wherever pgvector lives."""
    return "{" + ",".join(f'"{vector_text(vector)}"' for vector in vectors) + "}" if vectors else None


def _found(rows: Sequence[Row]) -> Found:
    summary = rows[0]["summary"]
    hits = [(row, _hit(row)) for row in rows if row["id"] is not None]
    blend = summary.get("blend") or {}
    return Found(
        tuple(hit for _, hit in hits),
        summary.get("arms") or {},
        tuple(summary.get("skipped") or ()),
        rows[0].get("search_id"),
        tuple(Candidate(hit, row["logit"], row["liveliness"], row["exempt"]) for row, hit in hits)
        if "logit" in rows[0]
        else (),
        Weighing(summary["mode"], summary["weight"], **blend),
    )


def _hit(row: Row) -> Hit:
    values = {name: row[name] for name in _HIT_FIELDS}
    values["tags"] = tuple(values["tags"])
    values["supersedes"] = tuple(values["supersedes"])
    values["contradicts"] = tuple(values["contradicts"])
    values["explanation"] = values["explanation"] or {}
    return Hit(**values)
