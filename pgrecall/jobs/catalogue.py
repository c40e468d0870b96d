"""The catalogue of jobs: names, descriptions, functions, and states."""

from __future__ import annotations

from datetime import datetime, timedelta

from pgrecall.errors import InvalidInput
from pgrecall.jobs.alerts import alert_document
from pgrecall.jobs.embedding import embed, reembed
from pgrecall.jobs.job import Job, JobContext, Stopped
from pgrecall.nouns.jobs.models import JobState, JobStatus
from pgrecall.nouns.jobs.operations import JobRow, job_states
from pgrecall.nouns.maintenance import operations as maintenance
from pgrecall.nouns.operation import Operation
from pgrecall.nouns.plans import operations as plans

VITALITY_ROWS, EXPIRE_ROWS = 50_000, 1000

OVERDUE_AFTER = timedelta(minutes=5)
"""Time beyond a whole interval after which a due job counts as overdue."""


def _fold(context: JobContext) -> None:
    while folded := context.execute(maintenance.fold_accesses(context.rows(maintenance.FOLD_ROWS))):
        context.report(folded, folded=folded)


def _expire(context: JobContext) -> None:
    rows = context.rows(EXPIRE_ROWS)
    while archived := context.execute(maintenance.expire_memories(rows, context.now)):
        context.report(archived, archived=archived)
    while dropped := context.execute(maintenance.expire_searches(rows, context.now)):
        context.report(dropped, searches=dropped)
    while dropped := context.execute(maintenance.expire_changes(rows, context.now)):
        context.report(dropped, changes=dropped)


def _vitality(context: JobContext) -> None:
    last: int | None = 0
    while last is not None:
        last = context.execute(maintenance.refresh_vitality(last, context.rows(VITALITY_ROWS), context.now))
        if last is not None:
            context.report(1, batches=1)
    context.execute(maintenance.refresh_medians(context.now))


def _graph(context: JobContext) -> None:
    context.execute(maintenance.resolve_pending_links())
    report = context.execute(maintenance.refresh_graph(context.now))
    context.report(report.memories, memories=report.memories, protected=report.protected)


def _statistics(context: JobContext) -> None:
    counted = context.execute(maintenance.refresh_lexemes())
    context.report(counted, memories=counted)


def _vectors(context: JobContext) -> None:
    moved = context.execute(maintenance.move_vectors_to_own_table(context.rows(maintenance.FEW_VECTORS)))
    context.report(moved, moved=moved)


def _prune(context: JobContext) -> None:
    plan = context.execute(plans.plan_prune(plans.PruneRequest(now=context.now)))
    [summary] = context.execute(plans.plans(1, plan))
    context.report(summary.planned, planned=summary.planned)


def _dedupe(context: JobContext) -> None:
    while compared := context.execute(plans.find_duplicates(context.rows(plans.BATCH))):
        context.report(compared, compared=compared)
    plan = context.execute(plans.plan_dedupe(plans.DedupeRequest(now=context.now)))
    [summary] = context.execute(plans.plans(1, plan))
    context.report(summary.planned, planned=summary.planned)


def _verify(context: JobContext) -> None:
    checks = context.execute(maintenance.verify(context.now))
    context.report(len(checks), checks=len(checks), problems=sum(check.problems for check in checks))


def _alerts(context: JobContext) -> None:
    """Calls the hook if an alarm began or ended since the last report; without a hook, does nothing."""
    hook = context.task.hooks.alert
    if hook is None:
        return
    changes = context.execute(maintenance.alarm_changes(context.now))
    reported = [change for change in changes if change.change != "standing"]
    if reported:
        hook.call(alert_document(context.tenant, changes))
    # The next run compares with the alarms reported now.
    context.report(len(reported), **{change.kind: 1 for change in changes if change.change != "ended"})


def _partitions(context: JobContext) -> None:
    made = context.execute(maintenance.make_access_partitions(context.now))
    context.report(made, made=made)


def _backup(context: JobContext) -> None:
    if context.task.hooks.backups is None:
        raise InvalidInput("There is no folder for backups.", hint="Name one: PGRECALL_BACKUP_DIR.")
    from pgrecall.schema.backups.programs import BrokenOff

    try:
        made, deleted = context.task.hooks.backups.add(now=context.now, stop=context.task.stop)
    except BrokenOff:
        raise Stopped from None
    context.report(1, backups=1, bytes=made.bytes, deleted=deleted)


def _import(context: JobContext) -> None:
    if context.task.hooks.folders is None:
        raise InvalidInput("There is no folder of notes to follow.", hint="Name one: PGRECALL_WATCH.")
    counts = context.task.hooks.folders(context.task.stop)
    context.report(sum(counts.values()), **counts)


JOBS: tuple[Job, ...] = (
    Job("fold", "Folds logged accesses into the activation of memories.", _fold),
    Job("embed", "Embeds memories without a vector, such as those stored by plain SQL.", embed, embeds=True),
    Job("expire", "Archives expired memories; deletes old searches and changes.", _expire),
    Job("vitality", "Updates the cached vitality of memories and the medians of layers.", _vitality),
    Job("graph", "Finds and protects the memories that hold the link graph together.", _graph),
    Job("statistics", "Recounts the document frequencies of words.", _statistics),
    Job("vectors", "Gives a tenant with more than 4,000 vectors its own vector index.", _vectors),
    Job("prune", "Plans what could be archived: a dry run that changes no memory.", _prune),
    Job("dedupe", "Plans which duplicates could be merged: a dry run that changes no memory.", _dedupe),
    Job("verify", "Checks that stored summaries, links and plans are consistent.", _verify),
    Job("alerts", "Calls the alert hook when an alarm begins or ends.", _alerts, alerts=True),
    Job("import", "Brings memories in step with folders of notes.", _import, whole=True, follows=True),
    Job("partitions", "Creates partitions of the access log for the coming months.", _partitions, whole=True),
    Job("backup", "Backs up the database and deletes old backups.", _backup, whole=True, backs_up=True),
    Job(
        "reembed",
        "Replaces the vectors of all tenants after the embedder has changed.",
        reembed,
        joint=True,
        by_hand=True,
        embeds=True,
    ),
)


def job_named(name: str) -> Job:
    """Returns the job of this name.

    Raises:
        InvalidInput: there is none; the error lists those there are.
    """
    for job in JOBS:
        if job.name == name:
            return job
    names = ", ".join(job.name for job in JOBS)
    raise InvalidInput(f"There is no job {name!r}.", hint=f"Choose one of: {names}.")


def states_of_jobs(now: datetime | None) -> Operation[tuple[JobRow, ...]]:
    """Reads the state of every job, in the order of the catalogue."""
    return job_states([job.name for job in JOBS], [job.name for job in JOBS if job.whole], now)


def job_statuses(rows: tuple[JobRow, ...]) -> tuple[JobStatus, ...]:
    """Returns every job with its interval, newest run and state."""
    about = {job.name: job.about for job in JOBS}
    return tuple(
        JobStatus(row.job, about[row.job], row.minutes, row.due_at, row.last, state_of(row)) for row in rows
    )


def state_of(row: JobRow) -> JobState:
    """Returns the state of a job; problems come before normal states."""
    if row.last is not None and row.last.state == "running":
        return "running"
    if row.last is not None and row.last.state == "failed":
        return "failed"
    if row.minutes is None:
        return "manual"
    if row.minutes == 0:
        return "off"
    if row.last is None or row.due_at is None:
        return "never"
    late = row.asked_at - row.due_at
    if late > timedelta(minutes=row.minutes) + OVERDUE_AFTER:
        return "overdue"
    return "due" if late >= timedelta() else "waiting"
