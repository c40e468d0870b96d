"""Questions to the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from pgrecall.encoding import Vector, vector_text
from pgrecall.models import Hit, SearchRequest
from pgrecall.operations.base import NOW, Operation, Row

_SEARCH_PARAMETERS = tuple(f.name for f in fields(SearchRequest) if f.name not in ("session_id", "log"))
_ARGUMENTS = "p_embedding => %(embedding)s, " + ", ".join(
    f"p_{name} => {NOW}" if name == "now" else f"p_{name} => %({name})s" for name in _SEARCH_PARAMETERS
)


def question_without_names(query: str) -> Operation[tuple[str, tuple[str, ...]]]:
    """The question to embed, and the known names taken out of it."""
    return Operation(
        "SELECT * FROM recall.question_without_names(%(query)s)",
        {"query": query},
        lambda rows: (rows[0]["question"], tuple(rows[0]["names"])),
        repeatable=True,
    )


def search(request: SearchRequest, vector: Vector | None) -> Operation[tuple[Hit, ...]]:
    """Searches by words and names, and by meaning where the question's vector is given."""
    return Operation(
        f"SELECT * FROM recall.search({_ARGUMENTS})", _parameters(request, vector), _hits, repeatable=True
    )


def search_and_log(request: SearchRequest, vector: Vector | None) -> Operation[tuple[Hit, ...]]:
    """The same, and logs each hit as shown; repeated after a lost connection it may log them twice."""
    return Operation(
        f"SELECT * FROM recall.search_and_log({_ARGUMENTS}, p_session_id => %(session_id)s)",
        _parameters(request, vector) | {"session_id": request.session_id},
        _hits,
        repeatable=True,
        durable=False,
    )


def _parameters(request: SearchRequest, vector: Vector | None) -> dict[str, object]:
    parameters: dict[str, object] = {"embedding": None if vector is None else vector_text(vector)}
    for name in _SEARCH_PARAMETERS:
        value = getattr(request, name)
        parameters[name] = list(value) if isinstance(value, tuple) else value
    return parameters


def _hits(rows: Sequence[Row]) -> tuple[Hit, ...]:
    return tuple(_hit(row) for row in rows)


def _hit(row: Row) -> Hit:
    values = dict(row)
    values["tags"] = tuple(values["tags"])
    values["explanation"] = values["explanation"] or {}
    return Hit(**values)
