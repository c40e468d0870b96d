"""Every job there is: its name, what it does, and its flow."""

from __future__ import annotations

from pgrecall import workflows
from pgrecall.errors import InvalidInput
from pgrecall.jobs.embedding import embed, reembed
from pgrecall.jobs.steps import Job, JobFlow, Progress, Task
from pgrecall.operations import job_steps, maintenance, prune
from pgrecall.workflows.maintenance import FOLD_ROWS

VITALITY_ROWS, EXPIRE_ROWS = 50_000, 1000


def _fold(task: Task) -> JobFlow:
    while folded := (yield job_steps.fold_accesses(task.rows(FOLD_ROWS))):
        yield Progress(folded, {"folded": folded})


def _expire(task: Task) -> JobFlow:
    while archived := (yield job_steps.expire_memories(task.rows(EXPIRE_ROWS), task.now)):
        yield Progress(archived, {"archived": archived})
    while dropped := (yield job_steps.expire_searches(task.rows(EXPIRE_ROWS), task.now)):
        yield Progress(dropped, {"searches": dropped})


def _vitality(task: Task) -> JobFlow:
    last: int | None = 0
    while last is not None:
        last = yield job_steps.refresh_vitality(last, task.rows(VITALITY_ROWS), task.now)
        if last is not None:
            yield Progress(1, {"batches": 1})
    yield job_steps.refresh_medians(task.now)


def _graph(task: Task) -> JobFlow:
    report = yield from workflows.refresh_graph(task.now)
    yield Progress(report.memories, {"memories": report.memories, "protected": report.protected})


def _statistics(_: Task) -> JobFlow:
    counted = yield job_steps.refresh_lexemes()
    yield Progress(counted, {"memories": counted})


def _vectors(task: Task) -> JobFlow:
    moved = yield job_steps.house_vectors(task.rows(job_steps.FEW_VECTORS))
    yield Progress(moved, {"moved": moved})


def _prune(task: Task) -> JobFlow:
    plan = yield from workflows.plan_prune(prune.PruneRequest(now=task.now))
    [summary] = yield prune.prune_plans(1, plan)
    yield Progress(summary.planned, {"planned": summary.planned})


def _verify(task: Task) -> JobFlow:
    checks = yield maintenance.verify(task.now)
    problems = sum(check.problems for check in checks)
    yield Progress(len(checks), {"checks": len(checks), "problems": problems})


def _partitions(task: Task) -> JobFlow:
    made = yield job_steps.make_access_partitions(task.now)
    yield Progress(made, {"made": made})


JOBS: tuple[Job, ...] = (
    Job("fold", "Folds logged accesses into the activation of memories.", _fold),
    Job("embed", "Embeds memories that came without a vector, as from plain SQL.", embed, embeds=True),
    Job("expire", "Archives memories whose time to live is over; drops old searches.", _expire),
    Job("vitality", "Brings the cached vitality and layer medians of reports up to date.", _vitality),
    Job("graph", "Finds and protects the memories that hold the link graph together.", _graph),
    Job("statistics", "Recounts how rare each word is.", _statistics),
    Job("vectors", "Gives the vectors of a tenant of more than 4,000 an index of their own.", _vectors),
    Job("prune", "Plans what could be archived: a dry run that changes no memory.", _prune),
    Job("verify", "Checks that stored summaries, links and plans agree with each other.", _verify),
    Job("partitions", "Makes the access log's partitions of the months to come.", _partitions, whole=True),
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
    """The job of this name.

    Raises:
        InvalidInput: there is none; the sentence lists those there are.
    """
    for job in JOBS:
        if job.name == name:
            return job
    names = ", ".join(job.name for job in JOBS)
    raise InvalidInput(f"There is no job {name!r}.", hint=f"There are {names}.")
