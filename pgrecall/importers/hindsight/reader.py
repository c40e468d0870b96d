"""Exports of a Hindsight bank: its list of memories as JSON, or its transfer archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.importers.draft_checks import storable
from pgrecall.importers.fields import ANY, Rules
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.hindsight.archive import read_archive
from pgrecall.importers.hindsight.facts import TYPES, NamedFact, fact_name
from pgrecall.importers.json_records import first_records, load_json, records
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

_LISTS = ("items", "results")
_HINT = "Save the answer of GET /v1/default/banks/BANK/memories/list, or give the transfer archive (.zip)."


def is_hindsight(value: object) -> bool:
    """Whether a JSON value looks like memories of Hindsight."""
    return any(map(_is_fact, first_records(value, _LISTS)))


def _is_fact(record: dict[str, Any]) -> bool:
    kind = record.get("fact_type") or record.get("type")
    return isinstance(record.get("text"), str) and isinstance(kind, str) and kind in TYPES


def read_hindsight(
    path: Path, *, source: str, prefix: str = "", layer: str | None = None, rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads each fact as a draft from a page of the memory list, a list of pages or facts, or a ``.zip``.

    World facts, opinions and observations go to ``knowledge``, experiences to ``episodic``; ``layer``
    overrides both. Keys are ``hindsight/ID``, or ``hindsight/DOCUMENT/NUMBER`` for facts without ids in an
    archive. Causes become links, and facts are linked ``supports`` to their observations.

    Raises:
        InvalidInput: the file has neither format.
    """
    require_file(path)
    if path.suffix.lower() == ".zip":
        facts = read_archive(path)
    else:
        notices: list[Skipped] = []
        value = load_json(path, "an export of Hindsight", _HINT, notices)
        if not is_hindsight(value) and any(True for _ in records(value, _LISTS)):
            raise InvalidInput(f"{printable_path(path)} contains no memories of Hindsight.", hint=_HINT)
        facts = chain(notices, _listed(value, path))
    return _drafts(facts, path, source, prefix, layer, rules)


def _listed(value: object, path: Path) -> Iterator[NamedFact | Problem]:
    supports = _observations_of(value)
    for place, record in records(value, _LISTS):
        name = fact_name(record, "id", "source_id")
        if name is None:
            reason = "id is required" if isinstance(record, dict) else "must be an object"
            yield Problem(printable_path(path), f"{place}: {reason}.")
        else:
            links = tuple(DraftLink(target, "supports") for target in supports.get(name, ()))
            yield NamedFact(record, name, place, links=links)


def _observations_of(value: object) -> dict[str, list[str]]:
    """The ids of the observations derived from each fact, by the id of the fact."""
    supports: dict[str, list[str]] = {}
    for _, record in records(value, _LISTS):
        if isinstance(record, dict) and isinstance(name := record.get("id"), str) and name:
            sources: Any = record.get("source_memory_ids")
            for fact in sources if isinstance(sources, list) else ():
                if isinstance(fact, str):
                    supports.setdefault(fact, []).append(name)
    return supports


def _drafts(
    facts: Iterator[NamedFact | Problem | Skipped],
    path: Path,
    source: str,
    prefix: str,
    layer: str | None,
    rules: Rules,
) -> Iterator[Draft | Problem | Skipped]:
    shown = printable_path(path)
    places: dict[str, str] = {}
    before = f"{prefix}hindsight/"
    for placed in facts:
        if isinstance(placed, Problem | Skipped):
            yield placed
            continue
        first = places.setdefault(placed.name, placed.place)
        if first != placed.place:
            yield Problem(shown, f"{placed.place}: id {placed.name[:60]!r} is already used by {first}.")
            continue
        links = tuple(replace(link, target=before + link.target) for link in placed.links)
        try:
            fields = placed.fields(rules)
            draft = placed.draft(fields, before + placed.name, source, layer, links)
        except ValueError as error:
            yield Problem(shown, f"{placed.place}: {error}.")
            continue
        yield from fields.notices(f"{shown}: {placed.place}")
        yield from storable(draft, shown, placed.place, rules)
