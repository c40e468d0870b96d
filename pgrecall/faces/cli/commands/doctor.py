"""The commands doctor and verify: what is wrong with an installation, or with the stored data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from pgrecall.errors import CellUnavailable, RecallError
from pgrecall.faces.cli.commands.cells import fleet_of
from pgrecall.faces.cli.invocation import DONE, FAILED, GlobalOptions, is_fresh, pass_globals
from pgrecall.faces.cli.options import all_tenants_option, current_time, json_option, now_option
from pgrecall.faces.cli.rendering.console import (
    Progress,
    SafeConsole,
    notes,
    output,
    plain,
    print_json,
    styled,
    table,
)
from pgrecall.nouns.maintenance.models import Check

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.cells.fleet import Fleet
    from pgrecall.faces.doctor import Finding
    from pgrecall.schema.roles import AccessProblem
    from pgrecall.schema.state import SchemaState
    from pgrecall.settings import Settings

AREAS = ("server", "cells", "schema", "roles", "embedder", "reranker", "llm", "jobs", "memories")
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command("doctor")
@click.option("--only", type=click.Choice(AREAS), multiple=True, help="Check only this; may be repeated.")
@click.option("--strict", is_flag=True, help="Treat warnings as failures.")
@json_option
@pass_globals
def doctor(given: GlobalOptions, only: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Check server, schema, roles, models, jobs and memories; show what is wrong and how to fix it.

    Changes nothing. Exit code 1 when a check fails.
    """
    areas = only or AREAS
    findings = [found for found in _findings(given, areas) if _is_wanted(found, areas)]
    bad = ("fail", "warn") if strict else ("fail",)
    failed = any(found.level in bad for found in findings)
    if as_json:
        print_json({"healthy": not failed, "findings": findings})
    else:
        _show(findings)
    raise Exit(FAILED if failed else DONE)


def _findings(given: GlobalOptions, areas: Collection[str]) -> Iterator[Finding]:
    """All findings, in the order in which one area depends on another."""
    from pgrecall.faces import doctor as checks
    from pgrecall.faces import model_checks
    from pgrecall.schema import state as schema
    from pgrecall.schema.roles import examine, rights

    settings = given.settings()
    state: SchemaState | None = None
    problems: Sequence[AccessProblem] = ()
    known: str | None = None
    maintenance: Iterator[Finding] = iter(())
    fleet = fleet_of(given)
    if fleet is not None:
        try:
            yield from checks.check_cells(fleet.check())
        except RecallError as error:
            yield checks.failed("cells", error)
    elif is_fresh(settings):
        where = settings.data_dir
        absent = f"There is no embedded Postgres in {where}."
        yield checks.Finding("server", "warn", absent, "pgrecall init")
    else:
        try:
            with given.located() as (url, _, _):
                examined = examine(url, timeout=settings.connect_timeout)
                yield from checks.check_server(examined)
                yield from checks.check_pooler(examined, settings)
                state = schema.inspect(url, timeout=settings.connect_timeout)
                yield checks.check_schema(state)
                if checks.check_schema(state).level == "ok":
                    problems = rights(url, timeout=settings.connect_timeout)
        except RecallError as error:
            yield checks.failed("server", error)
    usable = state is not None and checks.check_schema(state).level == "ok"
    if usable or (fleet is not None and _has_place(fleet, settings.tenant)):
        known, maintenance = _maintenance(settings, problems)
    if "embedder" in areas:
        yield from model_checks.check_embedder(settings, state.dimensions if state else None, known)
    if "reranker" in areas:
        yield model_checks.check_reranker(settings)
    if "llm" in areas:
        yield model_checks.check_language_model(settings)
    yield from maintenance


def _has_place(fleet: Fleet, tenant: str) -> bool:
    """Whether a tenant lives in a cell already: to ask for its state would place it in one."""
    try:
        return fleet.directory.find(tenant) is not None
    except RecallError:  # what is wrong with the directory is a finding already
        return False


def _maintenance(
    settings: Settings, problems: Sequence[AccessProblem]
) -> tuple[str | None, Iterator[Finding]]:
    """The name of the embedder of the stored embeddings, and the findings on roles, jobs and memories."""
    from pgrecall import Memory
    from pgrecall.faces.doctor import (
        check_caller,
        check_cell,
        check_jobs,
        check_memories,
        check_replica,
        check_rights,
        failed,
    )

    now = current_time()
    roles: list[Finding] = []
    try:
        with Memory(settings=replace(settings, embedder="none", reranker="none", llm_url=None)) as memory:
            roles += [
                check_caller(memory.service.caller(), allowed=settings.allow_superuser),
                *check_rights(problems),
            ]
            state = memory.status(now=now)
    except RecallError as error:
        return None, iter((*roles, failed("memories", error)))
    found = (
        *check_cell(state),
        *check_replica(state),
        *roles,
        *check_jobs(state, now),
        *check_memories(state, now),
    )
    return state.embedder, iter(found)


def _is_wanted(found: Finding, areas: Collection[str]) -> bool:
    """Whether the finding is of one of the areas, or keeps one of them from being checked."""
    needs_schema = not {"roles", "jobs", "memories"}.isdisjoint(areas)
    blocks = needs_schema and found.level == "fail" and found.area in ("server", "schema")
    return found.area in areas or blocks


def _show(findings: list[Finding]) -> None:
    before = ""
    for found in findings:
        area = found.area if found.area != before else ""
        before = found.area
        level = (f"{found.level:<4}", _STYLES[found.level])
        output().print(styled(f"{area:<9} ", level, f"  {found.message}"))
        if found.fix:
            output().print(styled((f"{'':16}→ {found.fix}", "dim")))


@click.command("verify")
@all_tenants_option
@json_option
@now_option
@pass_globals
def verify(given: GlobalOptions, all_tenants: bool, as_json: bool, now: datetime | None) -> None:
    """Verify that the stored data is consistent: summaries, links, names, plans, histories.

    Changes nothing and blocks no other call. Each failed check is shown with five examples and its fix.
    Exit code 1 when a check fails.
    """
    with given.opened() as memory:
        names = _tenants(given, memory) if all_tenants else (memory.tenant,)
        verified, left = {}, {}
        with Progress("verifying", "tenants", len(names)) as bar:
            for tenant in names:
                try:
                    verified[tenant] = memory.for_tenant(tenant).maintenance.verify(now=now)
                except CellUnavailable as error:
                    if not all_tenants:
                        raise
                    left[tenant] = error.message
                bar.add(1)
    problems = sum(check.problems for checks in verified.values() for check in checks)
    if as_json:
        found = [{"tenant": tenant, "checks": plain(checks)} for tenant, checks in verified.items()]
        print_json({"problems": problems, "tenants": found, "left": left})
    else:
        show_verified(output(), verified)
    for tenant, reason in left.items():
        notes().print(f"Error: Tenant {tenant} is not verified: {reason}")
    raise Exit(FAILED if problems or left else DONE)


def _tenants(given: GlobalOptions, memory: Memory) -> tuple[str, ...]:
    """Every tenant of the database, or of all cells."""
    from pgrecall.nouns.jobs.operations import tenants

    if (fleet := fleet_of(given)) is not None:
        return tuple(place.tenant for place in fleet.directory.places())
    return memory.jobs.runner().fetch(tenants())


def show_verified(console: SafeConsole, verified: Mapping[str, Sequence[Check]]) -> None:
    """A table of failed checks for each tenant; a line where none fails."""
    for tenant, checks in verified.items():
        if broken := [check for check in checks if check.problems]:
            rows = table("check", "problems", "examples", "rule")
            for check in broken:
                some = ", ".join(check.examples)
                rows.add_row(check.name, f"{check.problems:,}", some, check.about)
            console.print(f"{tenant}: {len(broken)} of {len(checks)} checks fail.")
            console.print(rows)
        else:
            console.print(f"{tenant}: {len(checks)} checks, no problem.")
    if not verified:
        console.print("There is no tenant to verify.")
