"""Sentences about plans that several faces show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.faces.wording import counted, moment, percent, shortened

if TYPE_CHECKING:
    from pgrecall.nouns.plans.models import Plan
    from pgrecall.nouns.plans.prune import PlanKeptBack, PlanOptions, PlanReport, PrunePlan
    from pgrecall.nouns.plans.redact import RedactReport, SecretFound


def state_words(plan: Plan) -> str:
    """Describes the state of a plan."""
    if plan.state == "planned":
        return "Nothing has been changed yet."
    applied = f"Applied on {moment(plan.applied_at)}" if plan.applied_at else "Applied"
    if plan.state == "applied":
        return f"{applied}."
    undone = f"undone on {moment(plan.undone_at)}" if plan.undone_at else "undone"
    return f"{applied}, {undone}."


def secrets_summary(report: RedactReport) -> str:
    """What a redact plan found, and what of it remains."""
    if not report.secrets:
        return "No secrets are found."
    kinds = ", ".join(f"{kind}: {count:,}" for kind, count in sorted(report.kinds.items()))
    holding = counted(report.planned, "memory", "memories")
    remains = f" {report.remains}" if report.remains else ""
    return f"{counted(report.secrets, 'secret')} in {holding} ({kinds}).{remains}"


def secret_place(found: SecretFound) -> str:
    """``Secret in the body of version 3, 2 times``."""
    version = "" if found.version is None else f" of version {found.version}"
    field = found.field.removesuffix("_id")
    times = "" if found.count == 1 else f", {found.count:,} times"
    return f"{found.kind} in the {field}{version}{times}"


def options_words(options: PlanOptions) -> tuple[str, ...]:
    """Describes the options of a plan, a sentence for each."""
    share = f"{100 * options.max_share:g} %"
    layers = options.layers
    return (
        f"At most {counted(options.max_count, 'memory', 'memories')}, and at most {share} of the live ones.",
        _spared("was stored or used", options.grace_days),
        _spared("gained a link", options.revival_days),
        "All layers." if layers is None else f"Only {_listed([shortened(name, 40) for name in layers])}.",
    )


def would_be(planned: bool, count: int) -> str:
    """The verb for what a plan is about, before and after it was applied."""
    return "would be" if planned else "was to be" if count == 1 else "were to be"


def summary(plan: PrunePlan) -> str:
    """The plan in one sentence."""
    report, planned = plan.report, plan.state == "planned"
    if not report.live:
        return "There are no live memories."
    whole = counted(report.live, "live memory", "live memories")
    if not report.planned:
        parts = [f"None of {whole} {'would be' if planned else 'was to be'} archived"]
    else:
        share = percent(report.planned, report.live)
        parts = [f"{report.planned:,} of {whole} ({share}) {would_be(planned, report.planned)} archived"]
    if kept := kept_count(report):
        holding = "it holds" if kept == 1 else "they hold"
        parts.append(f"{kept:,} kept back because {holding} others together")
    if report.planned:
        ends = "would end" if planned else "was to end" if report.links_ending == 1 else "were to end"
        parts.append(f"{counted(report.links_ending, 'link')} {ends}")
    return f"{'; '.join(parts)}."


def remarks(plan: PrunePlan) -> tuple[str, ...]:
    """Returns further sentences: the outcome of the plan, what was left out, what would have been
    disconnected."""
    report = plan.report
    parts = [] if plan.state == "planned" else [outcome_words(plan)]
    if report.capped:
        verb = "was" if report.capped == 1 else "were"
        parts.append(
            f"{counted(report.eligible, 'memory', 'memories')} may go by vitality and age; "
            f"{report.capped:,} of them {verb} left out by a limit."
        )
    if report.would_cut_off:
        parts.append(
            f"Had nothing been kept back, {counted(report.would_cut_off, 'live memory', 'live memories')} "
            "would have been cut off from the others."
        )
    if len(plan.items) < report.planned:
        parts.append(f"This report lists {len(plan.items):,} of the {report.planned:,} planned memories.")
    return tuple(parts)


def outcome_words(plan: PrunePlan) -> str:
    """Describes the outcome of applying a plan, and whether it was undone."""
    archived = sum(item.outcome == "archived" for item in plan.items)
    skipped = sum(item.outcome == "skipped" for item in plan.items)
    words = f"{counted(archived, 'memory was', 'memories were')} archived"
    if skipped:
        words += (
            f", and {counted(skipped, 'memory was', 'memories were')} skipped because of what happened since"
        )
    return f"{words}{'; undoing the plan restored them' if plan.state == 'undone' else ''}."


def kept_count(report: PlanReport) -> int:
    """How many candidates were kept back; the report names the first 1,000 of them."""
    return max(report.eligible - report.capped - report.planned, len(report.kept_back))


def held_words(kept: PlanKeptBack) -> str:
    """Describes what would be disconnected without a memory that was kept back."""
    if not kept.cut_size:
        return "memories would be disconnected without it and others of the plan"
    return f"without it {counted(kept.cut_size, 'memory', 'memories')} would be disconnected"


def _spared(what: str, days: float) -> str:
    """Describes which memories a plan leaves out because of recent events."""
    if not days:
        return f"Even what {what} a moment ago."
    return f"Nothing that {what} in the last {_days(days)}."


def _days(days: float) -> str:
    return f"{days:g} {'day' if days == 1 else 'days'}"


def _listed(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names) or "no layer"
    return f"{', '.join(names[:-1])} and {names[-1]}"
