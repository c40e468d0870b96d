"""The command doctor: what is wrong with an installation, and the command that mends it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.cli.base import DONE, AsJson, globals_of, is_fresh, output
from pgrecall.faces.cli.command_line import Context, Exit, Option
from pgrecall.faces.cli.json_output import to_text
from pgrecall.faces.cli.values import clock

if TYPE_CHECKING:
    from pgrecall.faces.doctor.findings import Area, Finding
    from pgrecall.schema.ownership import AccessProblem
    from pgrecall.schema.state import SchemaState
    from pgrecall.settings import Settings

FAILED = 1
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    context: Context,
    only: Annotated[
        list[str] | None,
        Option(help="This alone: server, schema, roles, embedder, reranker, jobs or memories. Repeatable."),
    ] = None,
    strict: Annotated[bool, Option("--strict", help="A warning counts as a failure.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at server, schema, models, jobs and memories; say what is wrong and what mends it.

    Nothing is changed. Exit code 1 when something fails.
    """
    from pgrecall.faces.doctor.findings import AREAS

    unknown = [area for area in only or () if area not in AREAS]
    if unknown:
        raise InvalidInput(
            f"--only {unknown[0]!r} is nothing to look at.", hint=f"There are {', '.join(AREAS)}."
        )
    areas = only or AREAS
    findings = [found for found in _findings(context, areas) if _asked(found, areas)]
    bad = ("fail", "warn") if strict else ("fail",)
    failed = any(found.level in bad for found in findings)
    if as_json:
        output().out(to_text({"healthy": not failed, "findings": findings}))
    else:
        _show(findings)
    raise Exit(FAILED if failed else DONE)


def _findings(context: Context, areas: Collection[str]) -> Iterator[Finding]:
    """What is found, in the order in which one thing stands on another."""
    from pgrecall.faces.cli.model_lending import Lent, borrowed_models
    from pgrecall.faces.doctor import findings as looks
    from pgrecall.schema import state as schema
    from pgrecall.schema.inspection import examine, rights

    given = globals_of(context)
    settings = given.settings()
    state: SchemaState | None = None
    problems: Sequence[AccessProblem] = ()
    known: str | None = None
    upkeep: Iterator[Finding] = iter(())
    if is_fresh(settings):
        where = settings.data_dir.expanduser()
        absent = f"There is no embedded Postgres in {where} yet."
        yield looks.Finding("server", "warn", absent, "pgrecall init")
    else:
        try:
            with given.located() as (url, _, _):
                yield from looks.on_server(examine(url, timeout=settings.connect_timeout))
                state = schema.inspect(url, timeout=settings.connect_timeout)
                yield looks.on_schema(state)
                if looks.on_schema(state).level == "ok":
                    problems = rights(url, timeout=settings.connect_timeout)
        except RecallError as error:
            yield looks.refused("server", error)
    if state is not None and looks.on_schema(state).level == "ok":
        known, upkeep = _upkeep(settings, problems)
    lent = Lent()
    if not {"embedder", "reranker"}.isdisjoint(areas):
        lent = borrowed_models(settings, lambda _: None)
    if "embedder" in areas:
        yield from looks.on_embedder(settings, state.dimensions if state else None, known, lent)
    if "reranker" in areas:
        yield looks.on_reranker(settings, lent)
    yield from upkeep


def _upkeep(settings: Settings, problems: Sequence[AccessProblem]) -> tuple[str | None, Iterator[Finding]]:
    """The embedder whose vectors are stored, and what is found of roles, jobs and memories."""
    from pgrecall import Memory
    from pgrecall.faces.doctor.findings import refused
    from pgrecall.faces.doctor.maintenance import on_jobs, on_memories
    from pgrecall.faces.doctor.roles import on_caller, on_rights

    now = clock()
    who: list[Finding] = []
    try:
        with Memory(settings=replace(settings, embedder="none", reranker="none")) as memory:
            who += [
                on_caller(memory.service.caller(), allowed=settings.allow_superuser),
                *on_rights(problems),
            ]
            state = memory.status(now=now)
    except RecallError as error:
        return None, iter((*who, refused("memories", error)))
    return state.embedder, iter((*who, *on_jobs(state, now), *on_memories(state, now)))


def _asked(found: Finding, areas: Collection[str]) -> bool:
    """Whether it is of one of these, or keeps one of these from being looked at."""
    upkeep = not {"roles", "jobs", "memories"}.isdisjoint(areas)
    blocks = upkeep and found.level == "fail" and found.area in ("server", "schema")
    return found.area in areas or blocks


def _show(findings: list[Finding]) -> None:
    terminal = output()
    before: Area | None = None
    for found in findings:
        area = found.area if found.area != before else ""
        before = found.area
        level = (f"{found.level:<4}", _STYLES[found.level])
        terminal.print(f"{area:<9} ", level, f"  {found.said}", soft_wrap=True)
        if found.fix:
            terminal.print((f"{'':16}→ {found.fix}", "dim"), soft_wrap=True)
