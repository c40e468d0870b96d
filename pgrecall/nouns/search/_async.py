"""The steps of a search, from a query to its hits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.reads import AsyncSearchReads
from pgrecall.encoding import require_searchable
from pgrecall.errors import DatabaseError, SchemaMismatch
from pgrecall.importers.secrets import secrets_in
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.memories.operations import list_memories
from pgrecall.nouns.search._async_log import UNLOGGED, log_hits, loggable
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search._async_vectors import embedded, query_vectors, without_names
from pgrecall.nouns.search.found import Found
from pgrecall.nouns.search.models import Hit, SearchFilter, SearchRequest, SearchResult
from pgrecall.nouns.search.operations import (
    completed_query,
    directives,
    find,
    projects,
    search_and_log,
)
from pgrecall.nouns.search.plan import Need, sum_of_uses
from pgrecall.search.conversations import with_turns
from pgrecall.search.observers import search_ended
from pgrecall.search.rerank.blending import best, confidence, most_relevant, rescore, text_to_read
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome

_LONG = 240
"""Characters above which a directive may be shown in part."""


async def search(
    connection: AsyncConnection, request: SearchRequest, run: SearchRun | None = None
) -> SearchResult:
    """Plans, embeds the queries without the names in them, finds and scores candidates, and reranks.

    If no embedding is available, words and names answer. If the reranker fails, the fused order remains.
    """
    run = run or SearchRun(AsyncSearchReads(connection))
    request = with_turns(request)
    require_searchable(request)
    if request.project is not None or request.project_only:
        from pgrecall.search.projects import within_project

        request = within_project(request)
    usual = connection.resources.settings
    if request.plan or (request.plan is None and usual.search_plan and request.query.strip()):
        return await _search_by_plan(connection, request, run)
    rerank = usual.search_rerank and bool(request.asked) if request.rerank is None else request.rerank
    if request.conversation and request.query.strip():
        execute = run.reading.execute if run.reading.asks_replica else connection.execute
        query = await execute(completed_query(request.query, loggable(request.conversation)))
        run.completed_query = None if query == request.query else query
        request = replace(request, query=query)
    if rerank and connection.reranker is None:
        run.skipped.append("reranking: no reranker is configured")
    request = replace(request, rerank=rerank and connection.reranker is not None)
    if request.rerank or (request.project is not None and request.asked):
        result = await _rescored(connection, request, run)
    else:
        found = await _answer(connection, request, run, partial(_found, connection, request, run))
        result = run.result(found, found.hits)
    if not result.hits and (notice := await _no_memories(connection, run)):
        result = replace(result, skipped=(*result.skipped, notice))
    result = await _with_sentences(result, run)
    search_ended(result, rerank=rerank)
    return result


async def _search_by_plan(
    connection: AsyncConnection, request: SearchRequest, run: SearchRun
) -> SearchResult:
    """The result of the request with its plan. Without one, the request is searched as it is.

    A plan that leaves out every hit is followed without its roles and its period.
    """
    from pgrecall.nouns.search._async_planning import make_plan
    from pgrecall.search.needs import with_plan

    plan = run.plan = await make_plan(connection, request, run)
    request = replace(request, plan=False)
    if plan is None:
        return await search(connection, request, run)
    noted = len(run.skipped)
    result = await search(connection, with_plan(request, plan), run)
    if result.hits or not plan.narrows:
        return result
    run.skipped[noted:] = ["planning: nothing matches its roles and period, so they do not count"]
    run.model_uses, asked = [], run.model_uses  # they are counted
    again = await search(connection, with_plan(request, plan, narrow=False), run)
    return replace(again, model_use=sum_of_uses([*asked, *run.model_uses]))


async def _with_sentences(result: SearchResult, run: SearchRun) -> SearchResult:
    """The result, each long directive with its sentence for whoever cuts it; earlier versions tell none."""
    long = [hit for hit in result.hits if hit.is_directive and len(hit.body) > _LONG]
    if not long:
        return result
    try:
        found = await run.reading.execute(directives([hit.id for hit in long]))
    except SchemaMismatch:
        return result
    told = {hit.id: sentence for hit in long if (sentence := found.get(hit.id)) and sentence in hit.body}
    return replace(result, hits=tuple(replace(hit, directive=told.get(hit.id)) for hit in result.hits))


async def _no_memories(connection: AsyncConnection, run: SearchRun) -> str | None:
    """A sentence about a tenant that has no memories in its cell: its entry in the directory may be wrong, so
    that it begins anew in another cell than that which has them."""
    place = None if connection.finder is None else connection.finder.known(connection.tenant)
    if place is None:
        return None
    everything = SearchFilter(include_archived=True)
    try:
        held = await run.reading.execute(
            list_memories(everything, order="newest", after=None, limit=1, now=None)
        )
    except DatabaseError:  # the search itself was answered, perhaps by a replica alone
        return None
    if held:
        return None
    return (
        f"memories: tenant {connection.tenant} has none in cell {place.cell}, where the directory places it; "
        "if it should have some, `pgrecall cell check` says where they are"
    )


Ask = Callable[[list[Embedded] | None, bool], Awaitable[Found]]
"""Asks the database, given the vectors of the queries and whether it must find no name in them."""


async def _answer(connection: AsyncConnection, request: SearchRequest, run: SearchRun, ask: Ask) -> Found:
    """What is found with the vectors of the queries without the names in them.

    Names are looked up first. If the tenant's last query had none, that round trip is saved: the query
    is embedded as it is, and the search reports if it contains a name after all.
    """
    nameless = connection.resources.nameless
    queries = nameless.queries(connection.tenant, request.asked) if connection.embedder else None
    if queries is None:
        vectors = await query_vectors(connection, request, run)
    else:
        vectors = await embedded(connection, queries, run)
    unless_named = queries is not None and vectors is not None
    with run.timed("database"):
        found = await ask(vectors, unless_named)
    if found.named:
        vectors = await without_names(connection, found.named, run)
        with run.timed("database"):
            found = await ask(vectors, False)
    return found


async def _found(
    connection: AsyncConnection,
    request: SearchRequest,
    run: SearchRun,
    vectors: Sequence[Embedded] | None,
    unless_named: bool,
) -> Found:
    """The result, logged as shown if the request asks for it and the database can be written to."""
    reading = run.reading
    # A secret in a query is left out of the log, which is then a call of its own.
    if reading.asks_replica or (request.logged and any(map(secrets_in, request.asked))):
        found = await reading.execute(find(request, vectors, unless_named=unless_named))
        return found if found.named else await _logged(connection, request, found, found.hits, run)
    if not request.logged:
        return await connection.execute(find(request, vectors, unless_named=unless_named))
    try:
        return await connection.execute(search_and_log(request, vectors, unless_named=unless_named))
    except DatabaseError as error:
        if error.sqlstate not in UNLOGGED:
            raise
        run.skipped.append(UNLOGGED[error.sqlstate])
    return await connection.execute(find(request, vectors, unless_named=unless_named))


async def _rescored(connection: AsyncConnection, request: SearchRequest, run: SearchRun) -> SearchResult:
    """Weighs the best candidates again: by a reranker, by their projects, or both.

    Keeps the best k, and logs only these as shown.
    """
    pairs = connection.resources.settings.reranker_pairs
    reranker = connection.reranker.name if request.rerank and connection.reranker is not None else None
    gathered = replace(request, min_relevance=0.0, require_answer=False)

    async def gather(vectors: Sequence[Embedded] | None, unless_named: bool) -> Found:
        operation = find(gathered, vectors, pool=pairs, reranker=reranker, unless_named=unless_named)
        return await run.reading.execute(operation)

    found = await _answer(connection, request, run, gather)
    outcome = RerankOutcome()
    if reranker is not None:
        with run.asking("reranking"):
            needs = run.plan.needs if run.plan else ()
            outcome = await _reread_candidates(connection, request, found, pairs, needs)
        if outcome.reason:
            run.skipped.append(f"reranking: {outcome.reason}")
    known, lost = await _other_projects(request, found, run)
    assert found.weighing is not None, "find always returns its weights"
    rescored = rescore(found.candidates, outcome, found.weighing, reranker or "", lost)
    raised = found.weighing.raised
    if found.confidence_terms is not None:
        found = replace(found, confidence=confidence(found.candidates, rescored, found.confidence_terms))
    hits = best(rescored, k=request.k, min_relevance=request.min_relevance, raised=raised)
    if request.require_answer and not found.confident:
        hits = ()
    if lost:
        from pgrecall.search.projects import explained

        hits = explained(hits, known, lost)
    found = await _logged(connection, request, found, hits, run)
    return run.result(found, hits, reranked=bool(outcome.scores))


async def _other_projects(
    request: SearchRequest, found: Found, run: SearchRun
) -> tuple[dict[int, str], dict[int, float]]:
    """The projects of the candidates, and what those of others than the request's lose."""
    if request.project is None or not request.asked or not found.candidates:
        return {}, {}
    from pgrecall.search.projects import handicaps

    with run.timed("projects"):
        known = await run.reading.execute(projects([one.hit.id for one in found.candidates]))
    return known, handicaps(found.candidates, known, request.project)


async def _logged(
    connection: AsyncConnection,
    request: SearchRequest,
    found: Found,
    hits: Sequence[Hit],
    run: SearchRun,
) -> Found:
    """The result, with the id of the logged search if it is logged."""
    if not request.logged:
        return found
    asked = replace(request, profile=found.profile)
    run.experiment = found.experiment
    return replace(found, search_id=await log_hits(connection, asked, hits, run))


async def _reread_candidates(
    connection: AsyncConnection, request: SearchRequest, found: Found, pairs: int, needs: Sequence[Need]
) -> RerankOutcome:
    """What the reranker makes of the most relevant candidates."""
    query = request.query if request.query.strip() else "; ".join(request.queries or ())
    read = most_relevant(found.candidates, pairs)
    if not query or not read:
        return RerankOutcome()
    candidates = tuple(RerankCandidate(one.hit.id, text_to_read(one.hit)) for one in read)
    usual = connection.resources.settings.reranking_seconds
    deadline = usual if request.deadline is None else request.deadline
    return await connection.rerank(query, candidates, deadline, request.conversation or (), needs)
