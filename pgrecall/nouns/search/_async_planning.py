"""A search that the configured language model plans first."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import LanguageModelError
from pgrecall.nouns.search._async import Progress, search
from pgrecall.nouns.search.models import SearchRequest, SearchResult
from pgrecall.nouns.search.plan import SearchPlan
from pgrecall.search.planning import with_plan


async def search_by_plan(
    connection: AsyncConnection, request: SearchRequest, progress: Progress
) -> SearchResult:
    """The result of the request with its plan. Without one, the request is searched as it is.

    A plan that leaves out every hit is followed without its roles and its period.
    """
    plan = progress.plan = await _plan(connection, request, progress)
    request = replace(request, plan=False)
    if plan is None:
        return await search(connection, request, progress)
    noted = len(progress.skipped)
    result = await search(connection, with_plan(request, plan), progress)
    if result.hits or not plan.narrows:
        return result
    progress.skipped[noted:] = ["planning: nothing matches its roles and period, so they do not count"]
    return await search(connection, with_plan(request, plan, narrow=False), progress)


async def _plan(connection: AsyncConnection, request: SearchRequest, progress: Progress) -> SearchPlan | None:
    """The plan; None where there is none, with the reason among the skipped steps."""
    planner = connection.resources.planner
    if planner is None:
        progress.skipped.append("planning: no language model is configured")
        return None
    if not request.query.strip():
        progress.skipped.append("planning: there is no query")
        return None
    at = request.as_of or request.now
    ask = partial(planner.plan, request.query, request.conversation or (), None if at is None else at.date())
    try:
        with progress.timed("planning"):
            return await connection.run(ask)
    except LanguageModelError as error:
        progress.skipped.append(f"planning: {error}")
        return None
