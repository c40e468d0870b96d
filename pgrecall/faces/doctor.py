"""Checks of an installation: each finding has a level, a sentence, and the command that fixes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from pgrecall.cells.checking import CellFinding
from pgrecall.database.server import require_suitable
from pgrecall.errors import DatabaseUnsuitable, RecallError
from pgrecall.faces.wording import about_replica, counted
from pgrecall.nouns.jobs.models import JobStatus
from pgrecall.nouns.service.models import Caller
from pgrecall.nouns.status.models import Status
from pgrecall.schema import state as schema
from pgrecall.schema.roles import AccessProblem, Examination, quoted
from pgrecall.settings import Settings

Level = Literal["ok", "warn", "fail"]
Area = Literal["server", "cells", "schema", "roles", "embedder", "reranker", "llm", "jobs", "memories"]

STALE_STATISTICS = timedelta(days=2)
_OWN_ROLE = "give the service a role of its own: pgrecall roles create NAME --any-tenant"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: a level, a sentence, and a command or step that fixes it."""

    area: Area
    level: Level
    message: str
    fix: str = ""


def failed(area: Area, error: RecallError, fix: str = "") -> Finding:
    """An error as a finding; its hint is the fix unless one is given."""
    return Finding(area, "fail", error.message, fix or error.hint)


def check_server(found: Examination) -> Iterator[Finding]:
    """Checks the version, the extensions and the rights of the role."""
    facts = found.facts
    try:
        require_suitable(facts)
    except DatabaseUnsuitable as error:
        if not found.usable:  # a role that only uses the schema need not be able to create it
            yield failed("server", error)
    else:
        yield Finding("server", "ok", f"Postgres {facts.version_text}, database {facts.database}.")
    if found.usable and not facts.runs_triggers:
        yield Finding(
            "server", "fail",
            "session_replication_role is replica: no trigger runs, so new names are not found.",
            f"ALTER DATABASE {facts.database} RESET session_replication_role, or the same for the role;",
        )  # fmt: skip
    installed = {name: extension.installed for name, extension in facts.extensions.items()}
    named = [f"{name} {version}" for name, version in installed.items() if version]
    if named:
        yield Finding("server", "ok", f"Extensions: {', '.join(sorted(named))}.")
    if found.unaccent is None:
        yield Finding(
            "server", "warn", "The extension unaccent is missing: café is not found as cafe.",
            "install the server's contrib package, then: pgrecall upgrade",
        )  # fmt: skip
    yield from _check_use(found)


def check_pooler(found: Examination, settings: Settings) -> Iterator[Finding]:
    """Reports the connection pooler and its consequences."""
    if found.pool is None:
        return
    if settings.prepared_statements == "on":
        prepared = "Statements are prepared, so the pooler has to track them."
    else:
        prepared = "Statements are not prepared."
    jobs = " Jobs and the worker need another URL." if found.pool == "transaction" else ""
    yield Finding("server", "ok", f"Connections go through a pooler in {found.pool} mode. {prepared}{jobs}")


def _check_use(found: Examination) -> Iterator[Finding]:
    role = found.facts.role
    if found.usable is False and found.owned:
        yield Finding(
            "server", "fail", f"Role {role} may upgrade the schema, but may not use memories.",
            f"as an administrator: GRANT recall_worker TO {quoted(role)} WITH INHERIT TRUE",
        )  # fmt: skip
    elif found.usable is False:
        yield Finding(
            "server", "fail", f"Role {role} may not use memories.",
            f"as an administrator: GRANT recall_app TO {quoted(role)}; pgrecall roles bind {role} TENANT",
        )  # fmt: skip
    elif found.owned is False:
        yield Finding("server", "ok", f"Role {role} may use the schema; another one upgrades it.")


def check_schema(state: schema.SchemaState) -> Finding:
    """Checks that the schema is that of this version."""
    if state.revision is None:
        return Finding("schema", "fail", "This database is not initialised.", "pgrecall init")
    try:
        schema.require_current(state)
    except RecallError as error:
        return failed("schema", error, "pgrecall upgrade" if "upgrade" in error.hint else "")
    return Finding("schema", "ok", f"Schema {state.revision}, embeddings of {state.dimensions} dimensions.")


def check_cells(found: Iterable[CellFinding]) -> Iterator[Finding]:
    """Lists the findings of a check of every cell."""
    for one in found:
        name = "Directory" if one.cell is None else f"Cell {one.cell}"
        yield Finding("cells", one.level, f"{name}: {one.message}", one.fix)


def check_cell(state: Status) -> Iterator[Finding]:
    """Reports the number of this cell, if it is one."""
    if state.cell is not None:
        yield Finding("cells", "ok", f"This database is cell {state.cell} of an installation.")


def check_replica(state: Status) -> Iterator[Finding]:
    """Checks that the replica answers searches, and says how much it lags."""
    replica = state.replica
    if replica is None:
        return
    if replica.problem:
        fix = "see the log of the standby, PGRECALL_REPLICA_URL and PGRECALL_REPLICA_LAG"
        yield Finding("server", "warn", about_replica(replica), fix)
    else:
        yield Finding("server", "ok", about_replica(replica))


def check_caller(caller: Caller, *, allowed: bool) -> Finding:
    """Checks the role of this connection; warns if it may do more than it needs, unless ``allowed``."""
    level: Level = "ok" if allowed else "warn"
    fix = "" if allowed else _OWN_ROLE
    if caller.superuser or caller.bypasses:
        power = "is a superuser" if caller.superuser else "bypasses row security"
        message = f"Role {caller.role} {power}, so tenants are not isolated from it."
        return Finding("roles", level, message, fix)
    if caller.administers:
        message = f"Role {caller.role} may act as {caller.owner}, the owner of all memories."
        return Finding("roles", level, message, fix)
    if caller.tenant is None:
        message = f"Role {caller.role} is bound to no tenant and may not choose one."
        return Finding(
            "roles", "fail", message, f"as an administrator: pgrecall roles bind {caller.role} TENANT"
        )
    binding = "may act for any tenant" if caller.tenant == "*" else f"acts for tenant {caller.tenant} alone"
    return Finding("roles", "ok", f"Role {caller.role} ({caller.may}) {binding}.")


def check_rights(problems: Sequence[AccessProblem]) -> Iterator[Finding]:
    """Lists owners, rights, row security and policies that differ from their declaration, with a fix."""
    for found in problems:
        yield Finding("roles", "fail" if found.grave else "warn", f"{found.problem}.", f"{found.fix};")


def check_jobs(state: Status, now: datetime) -> Iterator[Finding]:
    """Checks when each job ran last, which ones failed, and whether a worker runs."""
    for job in state.jobs:
        if job.state == "failed" and job.last is not None:
            reason = (job.last.error or "").splitlines()
            yield Finding(
                "jobs", "fail", f"The job {job.name} failed {_ago(job.last.finished_at, now)}: "
                f"{reason[0] if reason else 'no reason is known'}", f"pgrecall jobs run {job.name}",
            )  # fmt: skip
    overdue = [job.name for job in state.jobs if job.state == "overdue"]
    ran = [job for job in state.jobs if job.last is not None]
    if overdue:
        yield Finding(
            "jobs", "warn", f"No worker seems to run; overdue: {', '.join(overdue)}.", "pgrecall worker"
        )
    elif not ran and state.memories:
        yield Finding("jobs", "warn", "No job has ever run.", "pgrecall worker")
    if ran:
        yield Finding("jobs", "ok", f"Last runs: {', '.join(_last(job, now) for job in ran)}.")
    elif not state.memories:
        yield Finding("jobs", "ok", "Nothing is stored yet, so no job has anything to do.")


def check_memories(state: Status, now: datetime) -> Iterator[Finding]:
    """Checks that memories can be found: embeddings, statistics, and alarms."""
    stored = f"{counted(state.memories, 'live memory', 'live memories')} of tenant {state.tenant}"
    if state.passages:
        stored += f" with {counted(state.passages, 'further passage')}"
    if state.awaiting_embedding:
        yield Finding(
            "memories", "warn", f"{_have(state.awaiting_embedding)} no embedding yet.",
            "pgrecall jobs run embed",
        )  # fmt: skip
    if state.awaiting_passages:
        yield Finding(
            "memories", "warn",
            f"{_have(state.awaiting_passages)} no passages yet: meaning finds only their beginning.",
            "pgrecall jobs run embed",
        )  # fmt: skip
    old = state.statistics_at is None or now - state.statistics_at > STALE_STATISTICS
    if state.memories and old:
        since = f"refreshed {_ago(state.statistics_at, now)}" if state.statistics_at else "never refreshed"
        yield Finding("memories", "warn", f"Word statistics were {since}.", "pgrecall jobs run statistics")
    for alarm in state.alarms:
        yield Finding("memories", "warn", alarm, "pgrecall status")
    if not state.awaiting_embedding and not old:
        refreshed = _ago(state.statistics_at, now)
        yield Finding("memories", "ok", f"{stored}, all embedded, word statistics refreshed {refreshed}.")
    elif not state.memories:
        yield Finding("memories", "ok", "Nothing is stored yet.")


def _have(memories: int) -> str:
    return f"{counted(memories, 'memory', 'memories')} {'has' if memories == 1 else 'have'}"


def _last(job: JobStatus, now: datetime) -> str:
    assert job.last is not None
    return f"{job.name} {_ago(job.last.started_at, now)}"


def _ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "just now"
    minutes = max((now - at.astimezone(UTC)).total_seconds() / 60, 0)
    for size, unit in ((1440, "d"), (60, "h"), (1, "min")):
        if minutes >= size:
            return f"{minutes / size:.0f} {unit} ago"
    return "just now"
