"""Hindsight's transfer archive: a ZIP with a manifest, one file for each document, and the observations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from pgrecall.errors import InvalidInput
from pgrecall.importers.files import ZIP_FAULTS, failure_reason, printable_path
from pgrecall.importers.hindsight.facts import NamedFact, fact_name
from pgrecall.importers.json_records import parse_json
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import DraftLink

MAX_ENTRY_BYTES = 256_000_000
_VERSION = 1
_DOCUMENT = re.compile(r"documents/[0-9]+\.json")
_HINT = "Export the bank again, and pass the file without unpacking it."


def read_archive(path: Path) -> Iterator[NamedFact | Problem | Skipped]:
    """The facts and the observations of the archive. Raises InvalidInput for any other file."""
    try:
        with ZipFile(path) as archive:
            manifest = _entry(archive, "manifest.json", [])
    except ZIP_FAULTS as error:
        raise InvalidInput(
            f"{printable_path(path)} cannot be read: {failure_reason(error)}.", hint=_HINT
        ) from error
    except (KeyError, ValueError) as error:
        raise InvalidInput(
            f"{printable_path(path)} is not a Hindsight archive: {_words(error)}.", hint=_HINT
        ) from error
    if not isinstance(manifest, dict) or manifest.get("schema_version") != _VERSION:
        raise InvalidInput(
            f"{printable_path(path)} is a Hindsight archive of an unknown version.",
            hint=f"The schema_version in its manifest.json must be {_VERSION}.",
        )
    bank = manifest.get("source_bank_id")
    return _read(path, bank if isinstance(bank, str) else None)


def _read(path: Path, bank: str | None) -> Iterator[NamedFact | Problem | Skipped]:
    notices: list[Skipped] = []
    try:
        with ZipFile(path) as archive:
            observations, problems = _observations(archive, path, notices)
            yield from problems
            names: dict[tuple[str, int], list[str]] = {}
            for number, record in enumerate(observations, start=1):
                name = fact_name(record, "id", "source_id") or f"observation/{number}"
                for fact in _sources(record):
                    names.setdefault(fact, []).append(name)
                yield NamedFact(record, name, f"observation {number}", bank, kind="observation")
            for entry in sorted(filter(_DOCUMENT.fullmatch, archive.namelist())):
                yield from _facts(archive, entry, path, bank, names, notices)
            yield from notices
    except ZIP_FAULTS as error:
        raise InvalidInput(
            f"{printable_path(path)} cannot be read: {failure_reason(error)}.", hint=_HINT
        ) from error


def _facts(
    archive: ZipFile,
    entry: str,
    path: Path,
    bank: str | None,
    names: dict[tuple[str, int], list[str]],
    notices: list[Skipped],
) -> Iterator[NamedFact | Problem]:
    try:
        document, facts = _document(_entry(archive, entry, notices))
    except ValueError as error:
        yield Problem(printable_path(path), f"{entry}: {error}.")
        return
    fact_names = [
        fact_name(fact, "source_id") or f"{document}/{index + 1}" for index, fact in enumerate(facts)
    ]
    for index, fact in enumerate(facts):
        supports = (DraftLink(name, "supports") for name in names.get((document, index), ()))
        causes = (DraftLink(fact_names[cause]) for cause in _causes(fact, len(fact_names)) if cause != index)
        place = f"{entry}, fact {index + 1}"
        yield NamedFact(fact, fact_names[index], place, bank, (*supports, *causes), document)


def _document(value: Any) -> tuple[str, list[Any]]:
    """The id of a document and its facts. Raises ValueError if it has none."""
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    name, facts = fact_name(value, "id"), value.get("facts", [])
    if name is None:
        raise ValueError("id is required")
    if not isinstance(facts, list):
        raise ValueError("facts must be a list")
    return name, facts


def _causes(fact: Any, count: int) -> list[int]:
    """The positions of the facts that caused this one; positions without a fact are left out."""
    relations = fact.get("causal_relations") if isinstance(fact, dict) else None
    found = set()
    for relation in relations if isinstance(relations, list) else ():
        index = relation.get("target_fact_index") if isinstance(relation, dict) else None
        if type(index) is int and 0 <= index < count:
            found.add(index)
    return sorted(found)


def _observations(archive: ZipFile, path: Path, notices: list[Skipped]) -> tuple[list[Any], list[Problem]]:
    """The records of the observations."""
    if "observations.json" not in archive.namelist():
        return [], []
    try:
        value = _entry(archive, "observations.json", notices)
        if not isinstance(value, list):
            raise ValueError("must be a list")
    except ValueError as error:
        return [], [Problem(printable_path(path), f"observations.json: {error}.")]
    return value, []


def _sources(record: Any) -> list[tuple[str, int]]:
    """The document and position of every fact that an observation is derived from."""
    sources = record.get("sources") if isinstance(record, dict) else None
    pairs = [
        (each.get("document_id"), each.get("fact_index"))
        for each in (sources if isinstance(sources, list) else ())
        if isinstance(each, dict)
    ]
    return [(name, index) for name, index in pairs if isinstance(name, str) and type(index) is int]


def _entry(archive: ZipFile, name: str, notices: list[Skipped]) -> Any:
    """The JSON value of an entry. Raises KeyError if there is none, ValueError if it cannot be used."""
    if archive.getinfo(name).file_size > MAX_ENTRY_BYTES:
        raise ValueError(f"{name} is larger than {MAX_ENTRY_BYTES // 1_000_000} MB")
    try:
        return parse_json(archive.read(name), name, notices)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deep") from error


def _words(error: Exception) -> str:
    return str(error.args[0]).rstrip(".") if isinstance(error, KeyError) else str(error)
