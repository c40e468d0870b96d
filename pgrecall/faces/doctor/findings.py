"""What the doctor says: findings, each with the command that mends it, from the server to its upkeep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from pgrecall.database.server import require_suitable
from pgrecall.errors import DatabaseUnsuitable, RecallError
from pgrecall.faces.cli.model_lending import Lent
from pgrecall.schema import state as schema
from pgrecall.schema.inspection import Examination
from pgrecall.search.embed.embedder import make_embedder
from pgrecall.search.rerank.reranker import make_reranker, warm_up
from pgrecall.settings import Settings

Level = Literal["ok", "warn", "fail"]
Area = Literal["server", "schema", "roles", "embedder", "reranker", "jobs", "memories"]
AREAS: Sequence[Area] = ("server", "schema", "roles", "embedder", "reranker", "jobs", "memories")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it stands, in a sentence, and a command or step that mends it."""

    area: Area
    level: Level
    said: str
    fix: str = ""


def refused(area: Area, error: RecallError, fix: str = "") -> Finding:
    """An error as a finding; its hint is the fix where none is known."""
    return Finding(area, "fail", error.message, fix or error.hint)


def on_server(found: Examination) -> Iterator[Finding]:
    """Version, extensions and rights."""
    facts = found.facts
    try:
        require_suitable(facts)
    except DatabaseUnsuitable as error:
        if not found.usable:  # once the schema is there, a role that uses it need not be able to make it
            yield refused("server", error)
    else:
        yield Finding("server", "ok", f"Postgres {facts.version_text}, database {facts.database}.")
    installed = {name: extension.installed for name, extension in facts.extensions.items()}
    named = [f"{name} {version}" for name, version in installed.items() if version]
    if named:
        yield Finding("server", "ok", f"Extensions: {', '.join(sorted(named))}.")
    if found.unaccent is None:
        yield Finding(
            "server", "warn", "The extension unaccent is missing: café is not found as cafe.",
            "install the server's contrib package, then: pgrecall upgrade",
        )  # fmt: skip
    yield from _rights(found)


def _rights(found: Examination) -> Iterator[Finding]:
    role = found.facts.role
    if found.usable is False:
        yield Finding(
            "server", "fail", f"Role {role} may not use memories.",
            f"as an administrator: GRANT recall_app TO {role}; pgrecall role bind {role} TENANT",
        )  # fmt: skip
    elif found.owned is False:
        yield Finding("server", "ok", f"Role {role} may use the schema; another one upgrades it.")


def on_schema(state: schema.SchemaState) -> Finding:
    """Whether the schema is this version's."""
    if state.revision is None:
        return Finding("schema", "fail", "This database is not initialised.", "pgrecall init")
    try:
        schema.require_current(state)
    except RecallError as error:
        return refused("schema", error, "" if "newer" in error.message else "pgrecall upgrade")
    return Finding("schema", "ok", f"Schema {state.revision}, embeddings of {state.dimensions} dimensions.")


def on_embedder(
    settings: Settings, dimensions: int | None, known: str | None, lent: Lent
) -> Iterator[Finding]:
    """Whether texts can be embedded, and as the database expects it: ``known`` made what it holds."""
    try:
        embedder = lent.embedder or make_embedder(settings)
        if embedder is None:
            yield Finding(
                "embedder", "warn", "There is none: words and names are searched, meaning is not.",
                "export PGRECALL_EMBEDDER=local",
            )  # fmt: skip
            return
        with _closed_after(embedder):
            [vector] = embedder.embed(("Does the embedder answer?",))
    except RecallError as error:
        yield refused("embedder", error)
        return
    if dimensions not in (None, len(vector)):
        yield Finding(
            "embedder", "fail",
            f"{embedder.name} gives {len(vector)} dimensions, this database keeps {dimensions}.",
            "configure the embedder it was made for, or another database (docs/howto/change-embedder.md)",
        )  # fmt: skip
    elif known not in (None, embedder.name):
        yield Finding(
            "embedder", "fail", f"The vectors are of {known}, the configured embedder is {embedder.name}.",
            "configure the old one, or: pgrecall job run reembed",
        )  # fmt: skip
    else:
        yield Finding("embedder", "ok", f"{embedder.name} answers with {len(vector)} dimensions.")
        for sentence in lent.said:
            yield Finding("embedder", "ok", sentence)


def on_reranker(settings: Settings, lent: Lent) -> Finding:
    """Whether the configured one loads, or is lent."""
    try:
        reranker = lent.reranker or make_reranker(settings)
        if reranker is None:
            return Finding("reranker", "ok", "None is configured; the fused order stands.")
        with _closed_after(reranker):
            warm_up(reranker)
    except RecallError as error:
        return refused("reranker", error)
    return Finding("reranker", "ok", f"{reranker.name} is ready.")


def _closed_after(model: object) -> AbstractContextManager[object]:
    """Ends the connections of a model that holds some."""
    return closing(model) if isinstance(model, _Closable) else nullcontext()


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...
