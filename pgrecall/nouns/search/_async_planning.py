"""Asking the configured language model for the plan of a search."""

from __future__ import annotations

from functools import partial

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import LanguageModelError
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.plan import SearchPlan


async def make_plan(connection: AsyncConnection, request: SearchRequest, run: SearchRun) -> SearchPlan | None:
    """The plan; None where there is none, with the reason among the skipped steps."""
    planner = connection.resources.planner
    if planner is None:
        run.skipped.append("planning: no language model is configured")
        return None
    if not request.query.strip():
        run.skipped.append("planning: there is no query")
        return None
    at = request.as_of or request.now
    ask = partial(planner.plan, request.query, request.conversation or (), None if at is None else at.date())
    try:
        with run.asking("planning"):
            return await connection.run(ask)
    except LanguageModelError as error:
        run.skipped.append(f"planning: {error}")
        return None
