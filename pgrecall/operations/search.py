"""Questions to the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from pgrecall.encoding import Vector, packed, to_json, vector_text
from pgrecall.models.search import Candidate, Found, Hit, SearchRequest, Weighing
from pgrecall.operations.operation import NOW, Operation, Row, acting

_ELSEWHERE = ("rerank", "deadline", "log")
"""Fields of a request that the database is not told."""

_SENT_AS = {"now": NOW, "cues": "recall.ids_of(%(cues)s)"}
_DEFAULTS = {f.name: f.default for f in fields(SearchRequest) if f.name not in _ELSEWHERE}
"""What a request leaves to the functions' own defaults, which are the same."""

_HIT_FIELDS = tuple(f.name for f in fields(Hit) if f.name != "reranked")


def questions_without_names(queries: Sequence[str]) -> Operation[tuple[tuple[str, tuple[str, ...]], ...]]:
    """The questions to embed, in their order, and the known names taken out of each."""
    return Operation(
        f"SELECT * FROM recall.questions_without_names({acting('%(queries)s::text[]')})",
        {"queries": list(queries)},
        lambda rows: tuple((row["question"], tuple(row["names"])) for row in rows),
        repeatable=True,
        acting=True,
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
    parameters = _parameters(request, vectors)
    parameters |= {"pool": pool, "reranker": reranker} if pool else {}
    return _call("find", parameters)


def search_and_log(request: SearchRequest, vectors: Sequence[Vector] | None) -> Operation[Found]:
    """The same, and logs each hit as shown; repeated after a lost connection it may log them twice."""
    return _call("search_and_log", _parameters(request, vectors), durable=False)


def _call(function: str, parameters: Mapping[str, object], *, durable: bool = True) -> Operation[Found]:
    by_itself = "cues" not in parameters  # which are looked up among the tenant's before the function begins
    sent_as = _SENT_AS | ({"query": acting("%(query)s", durable=durable)} if by_itself else {})
    arguments = ", ".join(f"p_{name} => {sent_as.get(name, f'%({name})s')}" for name in parameters)
    return Operation(
        f"SELECT * FROM recall.{function}({arguments})",
        parameters,
        _found,
        repeatable=True,
        durable=durable,
        acting=by_itself,
    )


def _parameters(request: SearchRequest, vectors: Sequence[Vector] | None) -> dict[str, object]:
    """What is asked, and all that differs from the defaults."""
    left = list(vectors or ())
    first = packed(left.pop(0)) if left and request.query.strip() else None
    parameters: dict[str, object] = {"query": request.query}
    parameters |= {"embedding": first} if first is not None else {}
    parameters |= {"embeddings": _array(left)} if left else {}
    for name, default in _DEFAULTS.items():
        value = getattr(request, name)
        if name != "query" and value != default:
            parameters[name] = list(value) if isinstance(value, tuple) else value
    for name in ("cues", "weights"):
        if name in parameters:
            parameters[name] = to_json(parameters[name])
    return parameters


def _array(vectors: Sequence[Vector]) -> str:
    """An array of vectors as Postgres reads it; its type is the parameter's, wherever pgvector lives."""
    return "{" + ",".join(f'"{vector_text(vector)}"' for vector in vectors) + "}"


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
