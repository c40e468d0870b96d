"""Searching, with and without a log entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from pgrecall.encoding import Vector, packed, search_document, text_array, to_json, token_texts, vector_text
from pgrecall.models.embedding import Embedded
from pgrecall.models.reading import read_as
from pgrecall.models.search import Candidate, ConfidenceTerms, Found, Hit, Passage, SearchRequest, Weighing
from pgrecall.operations.operation import NOW, Operation, Row, acting

_HIT_FIELDS = tuple(f.name for f in fields(Hit) if f.name != "reranked")


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
        request: what is asked.
        vectors: one for each query; None searches without meaning.
        pool: adds this many of the most relevant to the best ``k``.
        reranker: adds the coefficients that convert its logits to relevance.
        unless_named: searches only if the queries contain no name; otherwise ``named`` is all that is found.
    """
    return Operation(
        f"SELECT * FROM recall.find("
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

    ``unless_named`` does as for :func:`find`, and then logs nothing.
    """
    return Operation(
        "SELECT * FROM recall.search_and_log("
        f"{_request(durable=False)}, %(tokens)s::jsonb, %(unless_named)s)",
        request_parameters(request, vectors) | {"unless_named": unless_named},
        _found,
        repeatable=True,
        durable=False,
        acting=True,
    )


def _request(*, durable: bool = True) -> str:
    """The SQL arguments of a search: one text for all, so that its statement is prepared once."""
    request = acting("%(request)s::jsonb", durable=durable)
    return f"{request}, %(embedding)s, %(embeddings)s, {NOW}"


def request_arguments() -> str:
    """The SQL arguments of a search, for a function that takes others before them."""
    return f"%(request)s::jsonb, %(embedding)s, %(embeddings)s, {NOW}"


def request_parameters(request: SearchRequest, vectors: Sequence[Embedded] | None) -> dict[str, object]:
    """Parameters of a search; the vectors are those of its query and sub-queries, in this order."""
    left = [embedded.vector for embedded in vectors or ()]
    tokens = [token_texts(embedded.tokens) for embedded in vectors or ()]
    first = packed(left.pop(0)) if left and request.query.strip() else None
    return {
        "request": to_json(search_document(request)),
        "embedding": first,
        "embeddings": _array(left) if left else None,
        "now": request.now,
        "tokens": to_json(tokens) if any(tokens) else None,
    }


def _array(vectors: Sequence[Vector]) -> str:
    """Encodes an array of vectors; the parameter determines its type, in whatever schema pgvector is."""
    return "{" + ",".join(f'"{vector_text(vector)}"' for vector in vectors) + "}"


def _found(rows: Sequence[Row]) -> Found:
    summary = rows[0]["summary"]
    if "named" in summary:
        return Found((), {}, (), named=tuple((query, tuple(names)) for query, names in summary["named"]))
    hits = [(row, _hit(row)) for row in rows if row["id"] is not None]
    blend = summary.get("blend") or {}
    terms = summary.get("confidence_terms")
    return Found(
        tuple(hit for _, hit in hits),
        summary.get("arms") or {},
        tuple(summary.get("skipped") or ()),
        rows[0].get("search_id"),
        tuple(Candidate(hit, row["logit"], row["use_term"], row["exempt"]) for row, hit in hits)
        if "logit" in rows[0]
        else (),
        Weighing(summary["mode"], summary["weight"], **blend),
        summary["confidence"],
        summary["min_confidence"],
        read_as(ConfidenceTerms, terms) if terms else None,
        summary["profile"],
        summary.get("experiment"),
    )


def _hit(row: Row) -> Hit:
    values = {name: row[name] for name in _HIT_FIELDS}
    values["tags"] = tuple(values["tags"])
    values["supersedes"] = tuple(values["supersedes"])
    values["contradicts"] = tuple(values["contradicts"])
    values["explanation"] = values["explanation"] or {}
    values["passage"] = read_as(Passage, row["passage"]) if row["passage"] else None
    return read_as(Hit, values)
