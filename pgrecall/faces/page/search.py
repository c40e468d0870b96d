"""Searching: a question and its filters, and of each answer why it stands where it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, Response

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.rendering.snippets import snippet
from pgrecall.faces.cli.values import parse_metadata
from pgrecall.faces.http.problems import kind_of
from pgrecall.faces.page.form_fields import LARGEST_ID, Fields, moment, ticked, whole, word
from pgrecall.faces.page.request_handling import Visit, elsewhere
from pgrecall.faces.page.score_steps import Why, reasons
from pgrecall.faces.page.sessions import asked_from_here
from pgrecall.faces.page.templating import address
from pgrecall.models.search import Hit, SearchResult

PLACES = (10, 20, 50)
_ASKED = ("q", "layer", "source", "metadata", "as_of", "archived", "superseded", "profile", "rerank", "k")
_VERDICTS = ("used", "rejected")
_MOST_VERDICTS = 60
_LETTERS = 280


@dataclass(frozen=True, slots=True)
class Answer:
    """A hit as it is shown: its snippet in pieces, each with whether it matches, and what was said of it."""

    hit: Hit
    pieces: tuple[tuple[str, bool], ...]
    why: Why
    verdict: str | None


async def search(visit: Visit) -> Response:
    """The form and, where something is asked, its answers."""
    asked = {name: visit.query.get(name, "").strip() for name in _ASKED}
    values: dict[str, Any] = {
        "asked": asked,
        "layers": await visit.memory.layers(),
        "profiles": sorted({model.profile for model in await visit.memory.relevance_models()}),
        "can_rerank": visit.memory.reranker is not None,
        "places": PLACES,
        "result": None,
        "problem": None,
    }
    if not asked["q"]:
        return await visit.page("search.html.j2", **values)
    try:
        result, search_id = await _asked(visit)
    except InvalidInput as error:
        values["problem"] = error
        return await visit.page("search.html.j2", status=kind_of(error).status, **values)
    values |= {"result": result, "search_id": search_id, "answers": _answers(result, visit.query)}
    values |= {"back": address("", _kept(visit.query, search_id))}
    return await visit.page("search.html.j2", **values)


async def feedback(visit: Visit) -> Response:
    """Says that an answer was used, or that it was none, and shows the answers again, as they were."""
    search_id = whole(visit.form, "search", 0, low=1, high=LARGEST_ID)
    number = whole(visit.form, "memory", 0, low=1, high=LARGEST_ID)
    verdict = visit.form.get("verdict", "")
    if verdict not in _VERDICTS:
        raise InvalidInput(f"There is no verdict {verdict!r:.40}.", hint="It is used or rejected.")
    say = visit.memory.used if verdict == "used" else visit.memory.rejected
    await say(search_id, number)
    if "application/json" in visit.request.headers.get("accept", ""):
        return JSONResponse({"verdict": verdict})
    before = QueryParams(parse_qsl(visit.form.get("back", "").removeprefix("?"), max_num_fields=200))
    kept = _kept(before, search_id)
    for other in _VERDICTS:
        kept[other] = [each for each in kept[other] if each != str(number)]
    kept[verdict].append(str(number))
    return elsewhere(f"{address('/', kept)}#hit-{number}")


async def _asked(visit: Visit) -> tuple[SearchResult, int | None]:
    """The answers, and the logged search that showed them: an earlier one, where its answers are judged."""
    query = visit.query
    earlier = whole(query, "search", 0, low=0, high=LARGEST_ID)
    layer, source, metadata = word(query, "layer"), word(query, "source"), word(query, "metadata")
    result = await visit.memory.search(
        word(query, "q") or "",
        k=whole(query, "k", PLACES[0], low=1, high=100),
        layers=None if layer is None else (layer,),
        sources=None if source is None else (source,),
        metadata=parse_metadata([metadata] if metadata else None),
        include_archived=ticked(query, "archived"),
        include_superseded=ticked(query, "superseded"),
        profile=word(query, "profile"),
        rerank=ticked(query, "rerank"),
        as_of=moment(query, "as_of"),
        log=not earlier and asked_from_here(visit.request),
    )
    visit.service.metrics.searched(result, rerank=ticked(query, "rerank"))
    visit.service.tracing.searched(result.timings)
    return result, earlier or result.search_id


def _answers(result: SearchResult, query: QueryParams) -> tuple[Answer, ...]:
    said = {number: verdict for verdict in _VERDICTS for number in query.getlist(verdict)[:_MOST_VERDICTS]}
    return tuple(
        Answer(hit, _pieces(hit), why, said.get(str(hit.id)))
        for hit, why in zip(result.hits, reasons(result.hits), strict=True)
    )


def _pieces(hit: Hit) -> tuple[tuple[str, bool], ...]:
    words = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    text, spans = snippet(hit.body, words, _LETTERS)
    pieces, reached = [], 0
    for begin, end in spans:
        pieces += [(text[reached:begin], False), (text[begin:end], True)]
        reached = end
    return (*pieces, (text[reached:], False))


def _kept(query: QueryParams | Fields, search_id: int | None) -> dict[str, Any]:
    """What a link back to these answers has to hold."""
    kept: dict[str, Any] = {name: query.get(name, "") for name in _ASKED}
    kept |= {name: list(query.getlist(name)[:_MOST_VERDICTS]) for name in _VERDICTS}
    return {**kept, "search": search_id}
