"""The search view: the form with its filters, the hits with the steps of their scores, and feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, Response

from pgrecall.arguments import FilterOptions
from pgrecall.encoding import MAX_ID
from pgrecall.errors import InvalidInput
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.other_memories import async_names_of_others
from pgrecall.faces.page.form_fields import (
    FILTER_FIELDS,
    Fields,
    checkbox,
    int_field,
    read_filters,
    shown_filters,
    text_field,
    time_field,
    turns_field,
)
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.score_steps import ScoreSteps, score_steps
from pgrecall.faces.page.sessions import is_user_navigation
from pgrecall.faces.page.templating import url
from pgrecall.faces.page.views.front import front
from pgrecall.faces.snippets import matched_words, shown_text, snippet
from pgrecall.nouns.search.models import Hit, SearchResult

HIT_COUNTS = (10, 20, 50)
_FIELDS = ("q", *FILTER_FIELDS, "turns", "as_of", "profile", "rerank", "plan", "k", "nearest")
_OPTIONS = ("turns", "as_of", "profile")
_VERDICTS = ("used", "rejected")
_MAX_VERDICTS = 60
_SNIPPET_LENGTH = 280


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit for display: its snippet in pieces that match or do not, and its verdict."""

    hit: Hit
    pieces: tuple[tuple[str, bool], ...]
    score_steps: ScoreSteps
    verdict: str | None


async def search(request: PageRequest) -> Response:
    """The form and, with a query, its hits."""
    fields = {name: request.query.get(name, "").strip() for name in _FIELDS}
    choices = _choices(request)
    values: dict[str, Any] = {
        "fields": fields,
        "layers": await request.memory.layers.list(),
        "profiles": sorted({model.profile for model in await request.memory.quality.relevance_models()}),
        "choices": choices,
        "hit_counts": HIT_COUNTS,
        "result": None,
        "problem": None,
    }
    values["narrowed"] = [
        *shown_filters(fields),
        *(name for name in _OPTIONS if fields[name]),
        *(name for name, _, usual, ticked in choices if ticked != usual),
    ]
    values["bounds"] = {layer.name: layer.rates.zones for layer in values["layers"]}
    if not fields["q"]:
        if shown_filters(fields):
            return redirect(url("/memories", {name: fields[name] for name in FILTER_FIELDS}))
        return await front(request, values)
    try:
        result, search_id = await _search(request)
    except InvalidInput as error:
        values["problem"] = error
        return await request.render("search.html.j2", status=problem_type(error).status, **values)
    names = await async_names_of_others(request.memory, result.hits)
    values |= {
        "names": names,
        "result": result,
        "search_id": search_id,
        "hits": _shown_hits(result, request.query, names),
    }
    values |= {"back": url("", _back_fields(request.query, search_id))}
    values["nearest"] = url("/", {**fields, "nearest": "1"})
    return await request.render("search.html.j2", **values)


async def feedback(request: PageRequest) -> Response:
    """Records that a hit was used or rejected, and returns to the hits."""
    search_id = int_field(request.form, "search", 0, low=1, high=MAX_ID)
    number = int_field(request.form, "memory", 0, low=1, high=MAX_ID)
    verdict = request.form.get("verdict", "")
    if verdict not in _VERDICTS:
        raise InvalidInput(f"The verdict {verdict!r:.40} is unknown.", hint="Use used or rejected.")
    record = request.memory.used if verdict == "used" else request.memory.rejected
    await record(search_id, number)
    if "application/json" in request.request.headers.get("accept", ""):
        return JSONResponse({"verdict": verdict})
    query = QueryParams(parse_qsl(request.form.get("back", "").removeprefix("?"), max_num_fields=200))
    fields = _back_fields(query, search_id)
    for other in _VERDICTS:
        fields[other] = [each for each in fields[other] if each != str(number)]
    fields[verdict].append(str(number))
    return redirect(f"{url('/', fields)}#hit-{number}")


async def _search(request: PageRequest) -> tuple[SearchResult, int | None]:
    """The result and the id of its logged search: an earlier one when the query names it."""
    query = request.query
    earlier = int_field(query, "search", 0, low=0, high=MAX_ID)
    filters: FilterOptions = {**read_filters(query), "as_of": time_field(query, "as_of")}
    result = await request.memory.search(
        text_field(query, "q") or "",
        k=int_field(query, "k", HIT_COUNTS[0], low=1, high=100),
        **filters,
        conversation=turns_field(query, "turns"),
        profile=text_field(query, "profile"),
        rerank=_chosen(query, "rerank"),
        plan=_chosen(query, "plan"),
        require_answer=not checkbox(query, "nearest"),
        log=not earlier and request.may_write and is_user_navigation(request.request),
    )
    return result, earlier or result.search_id


def _chosen(query: QueryParams, name: str) -> bool | None:
    """Whether a box is ticked; None where the address leaves it to the settings."""
    return checkbox(query, name) if query.get(name) else None


def _choices(request: PageRequest) -> list[tuple[str, str, bool, bool]]:
    """Boxes for the models that are there: name, label, ticked by the settings, and ticked now."""
    usual = request.memory.configuration
    boxes = (
        ("rerank", "rerank the best hits", usual.search_rerank, request.memory.reranker is not None),
        ("plan", "plan with the language model", usual.search_plan, request.memory.can_plan),
    )
    return [
        (name, label, on, on if (chosen := _chosen(request.query, name)) is None else chosen)
        for name, label, on, there in boxes
        if there
    ]


def _shown_hits(result: SearchResult, query: QueryParams, names: Mapping[int, str]) -> tuple[ShownHit, ...]:
    verdicts = {number: verdict for verdict in _VERDICTS for number in query.getlist(verdict)[:_MAX_VERDICTS]}
    return tuple(
        ShownHit(hit, _pieces(hit), steps, verdicts.get(str(hit.id)))
        for hit, steps in zip(result.hits, score_steps(result.hits, query.get("q", ""), names), strict=True)
    )


def _pieces(hit: Hit) -> tuple[tuple[str, bool], ...]:
    text, spans = snippet(shown_text(hit), matched_words(hit), _SNIPPET_LENGTH)
    pieces, reached = [], 0
    for begin, end in spans:
        pieces += [(text[reached:begin], False), (text[begin:end], True)]
        reached = end
    return (*pieces, (text[reached:], False))


def _back_fields(query: QueryParams | Fields, search_id: int | None) -> dict[str, Any]:
    """The query of the address that shows these hits again."""
    fields: dict[str, Any] = {name: query.get(name, "") for name in _FIELDS}
    fields |= {name: list(query.getlist(name)[:_MAX_VERDICTS]) for name in _VERDICTS}
    return {**fields, "search": search_id}
