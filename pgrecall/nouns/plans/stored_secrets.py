"""The search for secrets in stored texts, by the patterns of capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pgrecall.importers.secrets import secret_spans
from pgrecall.nouns.plans.redact import Document, StoredTexts


def found_in(pages: Sequence[StoredTexts]) -> list[Document]:
    """Where these texts hold secrets, and of what kind, as ``recall.plan_redact`` takes it."""
    found: list[Document] = []
    for stored in pages:
        places = [
            {"path": path, "spans": spans, "name": is_name}
            for path, text, is_name in _texts(stored.texts)
            if (spans := [[start, stop - start, kind] for start, stop, kind in secret_spans(text)])
        ]
        if places:
            found.append(
                {
                    "id": stored.memory_id,
                    "version": stored.version,
                    "digest": stored.digest,
                    "places": places,
                }
            )
    return found


def _texts(value: Any) -> Iterator[tuple[list[str], str, bool]]:
    """Each text in a JSON value, the path to it, and whether it is the name of the field there; without
    recursion, since metadata may be nested deep."""
    waiting: list[tuple[list[str], Any]] = [([], value)]
    while waiting:
        path, one = waiting.pop()
        if isinstance(one, str):
            yield path, one, False
        elif isinstance(one, dict):
            yield from (([*path, name], name, True) for name in one)
            waiting += [([*path, name], inner) for name, inner in one.items()]
        elif isinstance(one, list):
            waiting += [([*path, str(place)], inner) for place, inner in enumerate(one)]
