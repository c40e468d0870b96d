"""The front page, and the list of memories without a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import (
    FILTER_FIELDS,
    read_filters,
    require_confirmed,
    shown_filters,
    text_field,
)
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.templating import url
from pgrecall.faces.wording import named
from pgrecall.nouns.charts.models import OverviewList
from pgrecall.nouns.memories.models import ListedMemory, ListOrder

SHOWN, PAGE, QUESTIONS = 5, 50, 4
_ENDS = ".!?…。！？"
"""Endings of sentences; a title with one is a sentence, from which no question is made."""

_LISTS: tuple[OverviewList, ...] = ("alive", "leaving")
_ORDERS: Mapping[str, ListOrder] = {"newest": "newest", "vitality": "vitality"}


async def front(request: PageRequest, values: Mapping[str, Any]) -> Response:
    """Shows counts, the head of each list and example questions, or how to add something to an empty
    tenant."""
    found = await request.memory.charts.overview(_LISTS, limit=SHOWN, bins=2, now=request.now)
    recent = await request.memory.list(limit=SHOWN, now=request.now)
    live = sum(layer.memories for layer in found.layers)
    archived = () if live else await request.memory.list(limit=1, include_archived=True, now=request.now)
    totals = {zone: sum(layer.zones.get(zone, 0) for layer in found.layers) for zone in ZONES}
    return await request.render(
        "front.html.j2",
        **values,
        memories=live,
        archived=bool(archived),
        totals=totals,
        lists=found.lists,
        recent=recent,
        questions=_questions([item.title for item in found.lists["alive"].items], recent),
        done=request.done,
    )


async def browse(request: PageRequest) -> Response:
    """All memories that pass the filters, page by page; a query goes to the search, with them."""
    fields = {name: request.query.get(name, "").strip() for name in FILTER_FIELDS}
    if query := request.query.get("q", "").strip():
        return redirect(url("/", {"q": query, **fields}))
    order = _ORDERS.get(request.query.get("order", ""), "newest")
    session = text_field(request.query, "session")
    fields["session"] = session or ""
    values: dict[str, Any] = {
        "fields": {**fields, "q": "", "order": order},
        "layers": await request.memory.layers.list(),
        "narrowed": [*shown_filters(fields), *(["session"] if session else [])],
        "problem": None,
        "items": (),
        "after": None,
        "forgettable": 0,
        "done": request.done,
    }
    values["bounds"] = {layer.name: layer.rates.zones for layer in values["layers"]}
    try:
        list_after = partial(
            request.memory.list,
            order=order,
            session_id=session,
            now=request.now,
            **read_filters(request.query),
        )
        items = await list_after(after=text_field(request.query, "after"), limit=PAGE)
        if session and request.may_write:
            values["forgettable"] = await request.memory.forget_session(session, dry_run=True)
    except InvalidInput as error:
        status = problem_type(error).status
        return await request.render("browse.html.j2", status=status, **{**values, "problem": error})
    # A page may end before its limit, by the size of its texts.
    if items and await list_after(after=items[-1].cursor, limit=1):
        values["after"] = url("/memories", {**fields, "order": order, "after": items[-1].cursor})
    return await request.render("browse.html.j2", **{**values, "items": items})


async def forget_session(request: PageRequest) -> Response:
    """Archives the memories of a session, and returns to its list."""
    session = text_field(request.form, "session")
    if session is None:
        raise InvalidInput("No session was named.", hint="Open the list of a session.")
    require_confirmed(request.form, "Nothing was archived.")
    archived = await request.memory.forget_session(session)
    return redirect(url("/memories", {"session": session, "archived": "1", "done": archived}))


async def unarchive_session(request: PageRequest) -> Response:
    """Restores what forgetting a session archived, and returns to its list."""
    session = text_field(request.form, "session") or ""
    await request.memory.unarchive_session(session)
    return redirect(url("/memories", {"session": session}))


def _questions(titles: Sequence[str], recent: Sequence[ListedMemory]) -> list[str]:
    """Returns questions that have an answer, made from the titles of new memories and of those with the
    highest vitality."""
    names = [*titles, *(named(memory.title, None, memory.id) for memory in recent if memory.title)]
    short = [name for name in dict.fromkeys(names) if name and len(name) <= 60 and name[-1] not in _ENDS]
    return [question(name) for name in short][:QUESTIONS]


def question(name: str) -> str:
    """A question about a name; a name without Latin letters is used as it is."""
    if not any("a" <= letter <= "z" for letter in name.lower()):
        return name
    begins = name[:1].lower() if name.partition(" ")[0] in ("The", "A", "An") else name[:1]
    return f"What about {begins}{name[1:]}?"
