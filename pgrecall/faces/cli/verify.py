"""The command verify: whether what is stored agrees with itself."""

from __future__ import annotations

from typing import Annotated

from pgrecall.faces.cli.base import DONE, AsJson, globals_of, output
from pgrecall.faces.cli.command_line import Context, Exit, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.rendering.jobs import show_verified
from pgrecall.faces.cli.values import parse_moment

WRONG = 1


def verify(
    context: Context,
    all_tenants: Annotated[
        bool, Option("--all-tenants", help="Every tenant, not only the one of --tenant.")
    ] = False,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="The moment to verify for.")] = None,
) -> None:
    """Check that what is stored agrees with itself: summaries, links, names, plans, histories.

    Nothing is changed and nobody waits for it. What breaks is counted, with five examples and what mends it.
    Exit code 1 when something does.
    """
    from pgrecall.operations.jobs import tenants

    moment = parse_moment(now, "--now")
    with globals_of(context).opened() as memory:
        whom = memory.jobs.runner().fetch(tenants()) if all_tenants else (memory.tenant,)
        verified = {tenant: memory.for_tenant(tenant).maintenance.verify(now=moment) for tenant in whom}
    problems = sum(check.problems for checks in verified.values() for check in checks)
    if as_json:
        told = [{"tenant": tenant, "checks": plain(checks)} for tenant, checks in verified.items()]
        output().out(to_text({"problems": problems, "tenants": told}))
    else:
        show_verified(output(), verified)
    raise Exit(WRONG if problems else DONE)
