"""The view of a redact plan: where secrets are and of what kind, or its outcome."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response

from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.faces.plan_words import secret_place, secrets_summary
from pgrecall.nouns.plans.redact import RedactPlan

PAGE_SIZE = 50
_FURTHEST = 1_000_000


async def show_redact_plan(request: PageRequest, number: int) -> Response:
    """A redact plan with the places of secrets, page by page, or its outcome."""
    first = int_field(request.query, "after", 0, low=0, high=_FURTHEST)
    plan = cast(RedactPlan, await request.memory.plans.get(number, limit=PAGE_SIZE, offset=first))
    newest = await request.memory.plans.list(kind="redact")
    return await request.render(
        "redact_plan.html.j2",
        plan=plan,
        lead=secrets_summary(plan.report),
        summary=next((one for one in newest if one.id == plan.id), None),
        items=[(item, [secret_place(found) for found in item.findings]) for item in plan.items],
        before=max(first - PAGE_SIZE, 0) if first else None,
        after=first + PAGE_SIZE if first + PAGE_SIZE < plan.report.planned else None,
    )
