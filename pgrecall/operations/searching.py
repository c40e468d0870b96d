"""Questions to the database."""

from __future__ import annotations

from dataclasses import fields

from pgrecall.encoding import Vector, vector_text
from pgrecall.models import Hit, SearchRequest
from pgrecall.operations.base import NOW, Operation, Row

_SEARCH_PARAMETERS = tuple(f.name for f in fields(SearchRequest))
_SEARCH_SQL = "SELECT * FROM recall.search(p_embedding => %(embedding)s, " + ", ".join(
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
    parameters: dict[str, object] = {"embedding": None if vector is None else vector_text(vector)}
    for name in _SEARCH_PARAMETERS:
        value = getattr(request, name)
        parameters[name] = list(value) if isinstance(value, tuple) else value
    return Operation(
        f"{_SEARCH_SQL})", parameters, lambda rows: tuple(_hit(row) for row in rows), repeatable=True
    )


def _hit(row: Row) -> Hit:
    values = dict(row)
    values["tags"] = tuple(values["tags"])
    values["explanation"] = values["explanation"] or {}
    return Hit(**values)
