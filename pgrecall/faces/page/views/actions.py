"""Actions on one memory, from pinning to forgetting, each with its undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from pgrecall.encoding import MAX_ID, memory_reference
from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import (
    checkbox,
    float_field,
    int_field,
    text_field,
)
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.templating import url
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.nouns.search.models import Hit

RELATIONS = ("links_to", "mentions", "supports", "contradicts", "implies", "part_of", "next", "derived_from")
"""The relations that the form offers; superseding has a separate form."""

_Problem = InvalidInput | MemoryNotFound | None
_CHOICES = 8
_LISTED_LINKS = 30


@dataclass(frozen=True, slots=True)
class Undo:
    """A form that undoes the last action: its address, and its fields besides the token."""

    path: str
    fields: tuple[tuple[str, str], ...] = ()


def undo_of(memory: StoredMemory, done: dict[str, str]) -> Undo | None:
    """Returns the undo of the action that the address of a memory names; None if there is none."""
    other, relation = done.get("other", ""), done.get("relation", "")
    end = (("other", other), ("relation", relation))
    match done.get("done"):
        case "pinned":
            return Undo(f"/unpin/{memory.id}")
        case "unpinned":
            return Undo(f"/pin/{memory.id}")
        case "archived":
            return Undo(f"/unarchive/{memory.id}")
        case "added" | "restored":
            return Undo(f"/archive/{memory.id}")
        case "edited" | "returned":
            return _undo_of_edit(memory, done)
        case "linked" if other.isdigit():
            return Undo(f"/unlink/{memory.id}", end)
        case "unlinked" if other.isdigit() and relation in RELATIONS:
            return Undo(f"/link/{memory.id}", (*end, ("weight", done.get("weight", ""))))
        case "unlinked" if other.isdigit() and relation == "supersedes":
            return Undo(f"/supersede/{other}", (("other", str(memory.id)),))
        case "superseded" if other.isdigit():
            return Undo(f"/unlink/{other}", (("other", str(memory.id)), ("relation", "supersedes")))
    return None


def _undo_of_edit(memory: StoredMemory, done: dict[str, str]) -> Undo | None:
    """Returns the undo of an edit: the stored version, and the fields that versions do not have."""
    version, expected = done.get("version", ""), ("expected", memory.updated_at.isoformat())
    unversioned = tuple((name, done[name]) for name in ("layer", "expires_at") if done.get(name))
    if version.isdigit():
        return Undo(f"/restore/{memory.id}", (("version", version), expected, *unversioned))
    return Undo(f"/edit/{memory.id}", (expected, *unversioned)) if unversioned else None


async def pin(request: PageRequest) -> Response:
    changed = await request.memory.pin(request.path_id("memory"), True)
    return _back(request, "pinned" if changed else "nothing")


async def unpin(request: PageRequest) -> Response:
    changed = await request.memory.pin(request.path_id("memory"), False)
    return _back(request, "unpinned" if changed else "nothing")


async def archive(request: PageRequest) -> Response:
    changed = await request.memory.forget(request.path_id("memory"))
    return _back(request, "archived" if changed else "nothing")


async def unarchive(request: PageRequest) -> Response:
    changed = await request.memory.unarchive(request.path_id("memory"))
    return _back(request, "restored" if changed else "nothing")


async def link_form(request: PageRequest) -> Response:
    """Memories to link to, found by a question or named by id or key."""
    return await _choose(request, "link")


async def link(request: PageRequest) -> Response:
    relation, weight = request.form.get("relation", "links_to"), float_field(request.form, "weight")
    if relation not in RELATIONS:
        raise InvalidInput(f"The relation {relation!r:.40} is unknown.", hint="Choose one of the list.")
    try:
        other = await _other(request)
        new = await request.memory.link(
            request.path_id("memory"), other, relation, weight=1.0 if weight is None else weight
        )
    except (InvalidInput, MemoryNotFound) as error:
        return await _choose(request, "link", error)
    return _back(request, "linked" if new else "nothing", other=other, relation=relation)


async def unlink(request: PageRequest) -> Response:
    other = int_field(request.form, "other", 0, low=1, high=MAX_ID)
    relation, number = request.form.get("relation", ""), request.path_id("memory")
    stored = await request.memory.get(number, now=request.now)
    gone = [
        link for link in stored.links if link.outgoing and (link.other, link.relation) == (other, relation)
    ]
    removed = await request.memory.unlink(number, other, relation or None)
    details = {"other": other, "relation": relation, "weight": gone[0].weight if gone else None}
    return _back(request, "unlinked" if removed else "nothing", **details)


async def supersede_form(request: PageRequest) -> Response:
    """Memories that may supersede this one."""
    return await _choose(request, "supersede")


async def supersede(request: PageRequest) -> Response:
    try:
        other = await _other(request)
        new = await request.memory.supersede(request.path_id("memory"), other)
    except (InvalidInput, MemoryNotFound) as error:
        return await _choose(request, "supersede", error)
    return _back(request, "superseded" if new else "nothing", other=other)


async def merge_form(request: PageRequest) -> Response:
    """Memories that may be merged with this one."""
    return await _choose(request, "merge")


async def merge(request: PageRequest) -> Response:
    """Plans the merge of two memories; the plan shows what it does before anything is merged."""
    try:
        pair = (request.path_id("memory"), await _other(request))
        keeper, goes = pair if request.form.get("stays") != "other" else pair[::-1]
        plan = await request.memory.plans.merge(keeper, [goes])
    except (InvalidInput, MemoryNotFound) as error:
        return await _choose(request, "merge", error)
    return redirect(f"/plans/{plan.id}")


async def forget_form(request: PageRequest) -> Response:
    """The plan of a deletion: everything that would be deleted with the memory."""
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    return await _forget_plan(request, stored)


async def forget(request: PageRequest) -> Response:
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    if not checkbox(request.form, "sure"):
        unsure = InvalidInput("Nothing was deleted.", hint="Tick the box to confirm, and send it again.")
        return await _forget_plan(request, stored, unsure)
    if request.form.get("expected", "") != stored.updated_at.isoformat():
        changed = InvalidInput("This memory was changed since the plan, so nothing was deleted.")
        return await _forget_plan(request, stored, changed)
    await request.memory.forget(stored.id, hard=True)
    return redirect(url("/", {"done": "forgotten"}))


async def _forget_plan(
    request: PageRequest, stored: StoredMemory, problem: InvalidInput | None = None
) -> Response:
    return await request.render(
        "forget.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        memory=stored,
        links=stored.links[:_LISTED_LINKS],
        holding_again=[link for link in stored.links if link.outgoing and link.relation == "supersedes"],
        expected=stored.updated_at.isoformat(),
        problem=problem,
    )


async def _choose(request: PageRequest, purpose: str, problem: _Problem = None) -> Response:
    """A search for the other memory, and the form that sends the one that was chosen."""
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    query = request.query.get("q", request.form.get("q", "")).strip()
    asked = query or (stored.title or stored.body)[:200]
    values: dict[str, Any] = {"problem": problem, "hits": ()}
    try:
        values["hits"] = await _similar(request, stored, asked)
    except InvalidInput as error:
        values["problem"] = problem or error
    shown: _Problem = values["problem"]
    return await request.render(
        "choose.html.j2",
        status=200 if shown is None else problem_type(shown).status,
        purpose=purpose,
        memory=stored,
        query=query,
        relations=RELATIONS,
        **values,
    )


async def _similar(request: PageRequest, stored: StoredMemory, asked: str) -> tuple[Hit, ...]:
    found = await request.memory.search(
        asked, k=_CHOICES + 1, explain=False, plan=False, rerank=False, log=False
    )
    return tuple(hit for hit in found.hits if hit.id != stored.id)[:_CHOICES]


async def _other(request: PageRequest) -> int:
    """The id of the memory that was chosen or named."""
    reference = text_field(request.form, "named") or text_field(request.form, "other")
    if reference is None:
        raise InvalidInput("No memory was chosen.", hint="Choose one, or write its id or key.")
    return (await request.memory.get(memory_reference(reference), now=request.now)).id


def _back(request: PageRequest, done: str, **details: object) -> Response:
    """Redirects to the memory, whose page reports the action."""
    return redirect(url(f"/memories/{request.path_id('memory')}", {"done": done, **details}))
