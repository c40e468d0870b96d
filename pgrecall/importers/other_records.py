"""Records of other programs in the words of our own: the graph that the memory server of MCP keeps.

Its file has a line for each entity, with what was observed of it, and one for each relation of two entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_Record = dict[str, Any]


def is_record(value: Any) -> bool:
    """Whether a JSON value is one of our records, or of those that are read as such."""
    if not isinstance(value, dict):
        return False
    graph = isinstance(value.get("entities"), list) and isinstance(value.get("relations"), list)
    texts = (isinstance(value.get(name), str) for name in TEXTS)
    ours = isinstance(value.get("body"), str) or (any(texts) and not _OURS.isdisjoint(value))
    return graph or ours or _of_graph(value) is not None


def as_records(value: _Record) -> Iterator[_Record]:
    """The records in an object of a file: itself, or those of a graph."""
    if "body" not in value and isinstance(value.get("entities"), list):
        for kind, name in (("entity", "entities"), ("relation", "relations")):
            held = value.get(name)
            for one in held if isinstance(held, list) else ():
                yield from as_records({**one, "type": kind} if isinstance(one, dict) else {"body": one})
    else:
        yield _of_graph(value) or value


def _of_graph(value: _Record) -> _Record | None:
    """The record of an entity or a relation; None for anything else."""
    match value:
        case {"type": "entity", "name": str(name), "observations": list(observed)}:
            texts = [one.get("content") if isinstance(one, dict) else one for one in observed]
            rest = {field: held for field, held in value.items() if field not in _OF_ENTITY}
            body = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
            given = {"key": name, "title": name, "body": body or name, "tags": value.get("entityType")}
            return rest | given
        case {"type": "relation", "from": str(origin), "to": str(target), "relationType": str(relation)}:
            rest = {field: held for field, held in value.items() if field not in _OF_RELATION}
            key = f"{origin}/{relation}/{target}"
            return rest | {
                "key": key, "body": f"{origin} {relation.replace('_', ' ')} {target}",
                "links": [{"target": origin}, {"target": target}],
            }  # fmt: skip
    return None


TEXTS = ("body", "text", "content", "page_content")
"""Names of the text of a record; the last is that of documents of LangChain."""

_OURS = frozenset({"key", "metadata", "created_at", "occurred_at", "tags", "layer", "pinned"})
"""Names of which a record whose text has another name than ``body`` has one; messages of chats do not."""

_OF_ENTITY = ("type", "name", "entityType", "observations")
_OF_RELATION = ("type", "from", "to", "relationType")
