"""The tools that write: remember, used, link, supersede, forget, and the plans of prune and dedupe."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from pgrecall.arguments import DraftFields
from pgrecall.nouns.memories.models import Access, DraftLink, Remembered
from pgrecall.nouns.plans.dedupe import DedupePlan
from pgrecall.nouns.plans.prune import PrunePlan
from pgrecall.tools.arguments import (
    DedupePlanArguments,
    ForgetArguments,
    LinkArguments,
    PrunePlanArguments,
    RememberArguments,
    SupersedeArguments,
    UsedArguments,
    parse_end,
    parse_time,
)
from pgrecall.tools.results import (
    DedupePlanResult,
    ForgetResult,
    PlannedCluster,
    PlannedDuplicate,
    PlannedMemory,
    ProposedLink,
    PrunePlanResult,
    RememberResult,
    SimilarResult,
    UsedResult,
    WhetherNew,
)
from pgrecall.tools.tool import Client, MaybeAwaitable, Tool


def _remember(memory: Client, arguments: RememberArguments, now: datetime) -> MaybeAwaitable[Remembered]:
    given = {name: value for name in _PLAIN if (value := getattr(arguments, name)) is not None}
    if arguments.links is not None:
        given["links"] = tuple(DraftLink(link.target, link.relation, link.weight) for link in arguments.links)
    for name, parse in (("occurred_at", parse_time), ("valid_until", parse_end)):
        if (time := getattr(arguments, name)) is not None:
            given[name] = time and parse(time, name, now)  # an empty one clears it, in SQL too
    return memory.remember(arguments.body, **cast(DraftFields, given))


_PLAIN = (
    "title", "key", "layer", "tags", "author", "role", "context", "source", "aliases", "metadata", "pinned",
    "speech_act",
)  # fmt: skip
"""The arguments of remember that are stored as they are given."""


def _remember_result(_arguments: RememberArguments, stored: Remembered) -> RememberResult:
    similar = stored.similar and SimilarResult.from_value(stored.similar)
    return RememberResult.from_value(stored, similar=similar)


def _used(memory: Client, arguments: UsedArguments, _now: datetime) -> MaybeAwaitable[int]:
    if arguments.search_id is None:
        return memory.record_accesses(Access(reference, "used") for reference in arguments.memories)
    return memory.used(arguments.search_id, arguments.memories)


def _link(memory: Client, arguments: LinkArguments, _now: datetime) -> MaybeAwaitable[bool]:
    return memory.link(arguments.source, arguments.target, arguments.relation, weight=arguments.weight)


def _supersede(memory: Client, arguments: SupersedeArguments, _now: datetime) -> MaybeAwaitable[bool]:
    return memory.supersede(arguments.old, arguments.new)


def _forget(memory: Client, arguments: ForgetArguments, _now: datetime) -> MaybeAwaitable[bool]:
    return memory.forget(arguments.memory)


def _plan(memory: Client, arguments: PrunePlanArguments, _now: datetime) -> MaybeAwaitable[PrunePlan]:
    return memory.plans.prune(
        max_count=arguments.max_count,
        max_share=arguments.max_share,
        grace_days=arguments.grace_days,
        layers=arguments.layers,
        limit=arguments.show,
    )


def _plan_result(arguments: PrunePlanArguments, plan: PrunePlan) -> PrunePlanResult:
    report = plan.report
    return PrunePlanResult(
        plan=plan.id, live=report.live, planned=report.planned, kept_back=report.staying,
        capped=report.capped, links_ending=report.links_ending,
        memories=tuple(PlannedMemory.from_value(item) for item in plan.items[: arguments.show]),
        next_step=_review(plan.id) if report.planned else "No memory has faded enough to be archived.",
    )  # fmt: skip


def _dedupe(memory: Client, arguments: DedupePlanArguments, _now: datetime) -> MaybeAwaitable[DedupePlan]:
    return memory.plans.dedupe(
        min_similarity=arguments.min_similarity,
        max_count=arguments.max_count,
        layers=arguments.layers,
        limit=arguments.show,
    )


def _dedupe_result(arguments: DedupePlanArguments, plan: DedupePlan) -> DedupePlanResult:
    report = plan.report
    return DedupePlanResult(
        plan=plan.id, live=report.live, planned=report.planned, capped=report.capped,
        clusters=tuple(
            PlannedCluster(
                cluster=cluster.cluster, keeper=cluster.keeper.id, title=cluster.keeper.title,
                reason=cluster.keeper.reason,
                merged=tuple(
                    PlannedDuplicate(id=member.id, key=member.key, title=member.title, reason=member.reason)
                    for member in cluster.members
                ),
            )
            for cluster in plan.clusters[: arguments.show]
        ),
        contradictions=tuple(
            ProposedLink(src=pair.src, dst=pair.dst, reason=pair.reason)
            for pair in report.contradictions[: arguments.show]
        ),
        next_step=_review(plan.id) if report.planned else "No memory is a duplicate of another one.",
    )  # fmt: skip


def _review(plan: int) -> str:
    return (
        f"Nothing was changed. A person can review the plan with `pgrecall plan show {plan}`, apply it with "
        f"`pgrecall plan apply {plan}` and undo it with `pgrecall plan undo {plan}`."
    )


REMEMBER = Tool(
    name="remember",
    title="Remember",
    description=(
        "Store one memory: a fact, decision, preference, event or note worth knowing in a later "
        "conversation. Make it understandable on its own: names instead of pronouns, dates instead of "
        "'yesterday'. One call per memory. If it corrects an earlier memory, call `supersede` afterwards. "
        "Give a `key` to what you will update: with the same key, what you give changes and the rest stays. "
        "Do not store secrets or what is in the project's files anyway."
    ),
    arguments=RememberArguments,
    result=RememberResult,
    request=_remember,
    respond=_remember_result,
    destructive=True,  # with the key of a memory it changes that one
)
USED = Tool(
    name="used",
    title="Report used memories",
    description=(
        "Report which memories your answer or action relied on, with the search_id of the search or context "
        "that returned them. Call it once after such an answer. It keeps those memories active and improves "
        "the ranking; name only memories that mattered, not every hit."
    ),
    arguments=UsedArguments,
    result=UsedResult,
    request=_used,
    respond=lambda _arguments, recorded: UsedResult(recorded=recorded),
)
LINK = Tool(
    name="link",
    title="Link memories",
    description=(
        "Link two related memories, or a summary with each memory it is derived_from. "
        "Linked memories help to find and to keep each other. For a replacement use `supersede`."
    ),
    arguments=LinkArguments,
    result=WhetherNew,
    request=_link,
    respond=lambda _arguments, new: WhetherNew(new=new),
    idempotent=True,
)
SUPERSEDE = Tool(
    name="supersede",
    title="Replace a memory",
    description=(
        "Replace a memory that no longer holds with another: `remember` the new one first. Search then "
        "returns the new one; the old one is kept and can be found with include_superseded."
    ),
    arguments=SupersedeArguments,
    result=WhetherNew,
    request=_supersede,
    respond=lambda _arguments, new: WhetherNew(new=new),
    idempotent=True,
)
FORGET = Tool(
    name="forget",
    title="Archive a memory",
    description=(
        "Archive a memory that is wrong or unwanted: search leaves it out from now on. It is not deleted: "
        "include_archived still finds it, and only a person can delete it for good. If it has merely "
        "changed, use `supersede`."
    ),
    arguments=ForgetArguments,
    result=ForgetResult,
    request=_forget,
    respond=lambda _arguments, archived: ForgetResult(archived=archived),
    destructive=True,
    idempotent=True,
)
PRUNE_PLAN = Tool(
    name="prune_plan",
    title="Plan what to archive",
    description=(
        "Plan which faded memories could be archived, and the effect on links. It archives nothing: show the "
        "plan to a person, who reviews and applies it. Use it only when asked to tidy up the memory."
    ),
    arguments=PrunePlanArguments,
    result=PrunePlanResult,
    request=_plan,
    respond=_plan_result,
)
DEDUPE_PLAN = Tool(
    name="dedupe_plan",
    title="Plan what to merge",
    description=(
        "Plan which duplicates could be merged into one, and which pairs may contradict each "
        "other. It merges and links nothing: show the plan to a person, who reviews and applies it. Use it "
        "only when asked to tidy up the memory."
    ),
    arguments=DedupePlanArguments,
    result=DedupePlanResult,
    request=_dedupe,
    respond=_dedupe_result,
)
