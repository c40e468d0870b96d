"""Tools that change: remember, used, link, supersede, forget, prune_plan."""

from __future__ import annotations

from datetime import datetime

from pgrecall.arguments import DraftFields
from pgrecall.models.access import Access
from pgrecall.models.memories import DraftLink, Remembered
from pgrecall.models.prune import PrunePlan
from pgrecall.tools.arguments import (
    ForgetArguments,
    LinkArguments,
    PrunePlanArguments,
    RememberArguments,
    SupersedeArguments,
    UsedArguments,
)
from pgrecall.tools.results import Forgotten, Linked, Planned, PlannedMemory, Recorded, Stored, Superseded
from pgrecall.tools.times import end, moment
from pgrecall.tools.tool import Client, Maybe, Tool


def _remember(memory: Client, given: RememberArguments, now: datetime) -> Maybe[Remembered]:
    fields: DraftFields = {
        "title": given.title, "key": given.key, "layer": given.layer, "role": given.role,
        "author": given.author, "context": given.context, "source": given.source,
        "tags": tuple(given.tags or ()), "aliases": tuple(given.aliases or ()),
        "metadata": given.metadata or {}, "pinned": given.pinned,
        "occurred_at": moment(given.occurred_at, "occurred_at", now),
        "valid_until": end(given.valid_until, "valid_until", now),
        "links": tuple(DraftLink(link.target, link.relation, link.weight) for link in given.links or ()),
    }  # fmt: skip
    return memory.remember(given.body, **fields)


def _used(memory: Client, given: UsedArguments, _now: datetime) -> Maybe[int]:
    if given.search_id is None:
        return memory.record_accesses(Access(one, "used") for one in given.memories)
    return memory.used(given.search_id, given.memories)


def _link(memory: Client, given: LinkArguments, _now: datetime) -> Maybe[bool]:
    return memory.link(given.source, given.target, given.relation, weight=given.weight)


def _supersede(memory: Client, given: SupersedeArguments, _now: datetime) -> Maybe[bool]:
    return memory.supersede(given.old, given.new)


def _forget(memory: Client, given: ForgetArguments, _now: datetime) -> Maybe[bool]:
    return memory.forget(given.memory)


def _plan(memory: Client, given: PrunePlanArguments, _now: datetime) -> Maybe[PrunePlan]:
    return memory.prune.plan(
        max_count=given.max_count, max_share=given.max_share, grace_days=given.grace_days, layers=given.layers
    )


def _planned(given: PrunePlanArguments, plan: PrunePlan) -> Planned:
    report = plan.report
    shown = tuple(
        PlannedMemory(
            id=item.id,
            key=item.key,
            title=item.title,
            layer=item.layer,
            vitality=item.vitality,
            reason=item.reason,
        )
        for item in plan.items[: given.show]
    )
    step = (
        f"Nothing was archived. A person can look at the plan with `pgrecall prune show {plan.id}`, archive "
        f"these with `pgrecall prune apply {plan.id}`, and take it back with `pgrecall prune undo {plan.id}`."
    )
    return Planned(
        plan=plan.id, live=report.live, planned=report.planned, kept_back=report.staying,
        capped=report.capped, links_ending=report.links_ending, memories=shown,
        next_step=step if report.planned else "Nothing has faded enough to be archived.",
    )  # fmt: skip


REMEMBER = Tool(
    name="remember",
    title="Remember",
    description=(
        "Store one memory: a fact, decision, preference, event or note worth knowing in a later "
        "conversation. Write it so that it is understood alone: names instead of pronouns, dates instead of "
        "'yesterday'. One call for each memory. When it corrects an earlier one, call `supersede` "
        "afterwards. Give a `key` to what you will update: the same key replaces the text. Do not store "
        "secrets, or what is in the project's files anyway."
    ),
    arguments=RememberArguments,
    result=Stored,
    ask=_remember,
    tell=lambda _given, stored: Stored(id=stored.id, key=stored.key, outcome=stored.outcome),
    destroys=True,  # with the key of another memory it replaces that one's text
)
USED = Tool(
    name="used",
    title="Say what was used",
    description=(
        "Say which memories your answer or action relied on, with the search_id of the search or context "
        "that showed them. Call it once after such an answer. It keeps those memories alive and teaches the "
        "ranking; name only what mattered, not everything that was shown."
    ),
    arguments=UsedArguments,
    result=Recorded,
    ask=_used,
    tell=lambda _given, recorded: Recorded(recorded=recorded),
)
LINK = Tool(
    name="link",
    title="Link memories",
    description=(
        "Link two memories that belong together: links_to, mentions, supports, contradicts, implies, "
        "part_of, next. Linked memories help to find and to keep each other. For a replacement use "
        "`supersede`."
    ),
    arguments=LinkArguments,
    result=Linked,
    ask=_link,
    tell=lambda _given, new: Linked(new=new),
    repeatable=True,
)
SUPERSEDE = Tool(
    name="supersede",
    title="Replace a memory",
    description=(
        "Say that one memory replaces another that is no longer so: `remember` the new one first. Search "
        "then shows the new one; the old one is kept and can be asked for with include_superseded."
    ),
    arguments=SupersedeArguments,
    result=Superseded,
    ask=_supersede,
    tell=lambda _given, new: Superseded(new=new),
    repeatable=True,
)
FORGET = Tool(
    name="forget",
    title="Archive a memory",
    description=(
        "Archive a memory that is wrong or unwanted: search leaves it out from now on. It is not deleted: "
        "include_archived still finds it, and only a person can delete for good. For what has merely changed "
        "use `supersede`."
    ),
    arguments=ForgetArguments,
    result=Forgotten,
    ask=_forget,
    tell=lambda _given, archived: Forgotten(archived=archived),
    destroys=True,
    repeatable=True,
)
PRUNE_PLAN = Tool(
    name="prune_plan",
    title="Plan what to archive",
    description=(
        "A dry run: which memories have faded so far that they could be archived, and what that would do to "
        "the links. It archives nothing; show the plan to a person, who reviews and applies it. Only when "
        "asked to tidy up the memory."
    ),
    arguments=PrunePlanArguments,
    result=Planned,
    ask=_plan,
    tell=_planned,
)
