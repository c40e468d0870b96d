"""Output of a dedupe plan: its clusters, how their texts differ, and possible contradictions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pgrecall.faces import wording
from pgrecall.faces.cli.rendering.console import SafeConsole, say, say_more, styled
from pgrecall.faces.cli.rendering.prune import OUTCOME_STYLES
from pgrecall.faces.plan_words import would_be
from pgrecall.nouns.history.models import DiffRun
from pgrecall.nouns.plans.dedupe import DedupeCluster, DedupeKeeper, DedupeMember, DedupeMoves, DedupePlan

SHOWN_CLUSTERS = 30
SHOWN_MEMBERS = 10
SHOWN_CONTRADICTIONS = 10
SHOWN_WORDS = 12
_CHANGE_STYLES = {"same": "dim", "removed": "red strike", "added": "green"}


def show_clusters(console: SafeConsole, plan: DedupePlan) -> None:
    """What a dedupe plan merges and why, how the texts differ, and what may contradict each other."""
    say(console, _summary(plan))
    for cluster in plan.clusters[:SHOWN_CLUSTERS]:
        console.print()
        _show_cluster(console, cluster)
    say_more(console, plan.report.clusters - SHOWN_CLUSTERS, f"pgrecall plan show {plan.id} --json")
    _show_contradictions(console, plan)


def _summary(plan: DedupePlan) -> str:
    report = plan.report
    live = wording.counted(report.live, "live memory", "live memories")
    would = would_be(plan.state == "planned", report.planned)
    say = "says" if report.clusters == 1 else "say"
    if not report.planned:
        return f"None of {live} is a duplicate of another one."
    parts = [
        f"{report.planned:,} of {live} {would} merged into {wording.counted(report.clusters, 'other')} "
        + ("that you named" if plan.options.chosen else f"that {say} the same")
    ]
    if report.capped:
        parts.append(f"{report.capped:,} more were left out by the limit")
    if report.uncompared:
        parts.append(f"{report.uncompared:,} were not compared yet")
    return f"{'; '.join(parts)}."


def _show_cluster(console: SafeConsole, cluster: DedupeCluster) -> None:
    keeper = cluster.keeper
    console.print(
        styled((f"{cluster.cluster}. ", ""), (_name(keeper), "bold"), (f" stays. {keeper.reason}", "dim"))
    )
    if keeper.outcome:
        _outcome(console, keeper)
    for member in cluster.members[:SHOWN_MEMBERS]:
        near = "" if member.similarity is None else f" Similarity {member.similarity:.3f}."
        say(console, f"   {_name(member)}: {member.reason}{near}")
        console.print(styled(("     ", ""), *_difference(member.difference)))
        if member.outcome:
            _outcome(console, member)
    say_more(console, len(cluster.members) - SHOWN_MEMBERS)
    if keeper.outcome is None:
        say(console, f"   {_moves(cluster.moves)}", style="dim")


def _outcome(console: SafeConsole, item: DedupeKeeper | DedupeMember) -> None:
    outcome = item.outcome or "skipped"
    note = f": {item.note}" if item.note else ""
    say(console, f"     {outcome}{note}", style=OUTCOME_STYLES[outcome])


def _difference(changes: Sequence[DiffRun]) -> list[tuple[str, str]]:
    """Formats both texts as one: removed words as [-...-], words that only the keeper has as {+...+}."""
    pieces = []
    for change in changes:
        text = _shortened(change)
        marked = {"same": text, "removed": f"[-{text}-]", "added": f"{{+{text}+}}"}[change.change]
        pieces.append((marked, _CHANGE_STYLES[change.change]))
    return pieces


def _shortened(change: DiffRun) -> str:
    """Returns the words on one line; of a long run that both texts have, only its beginning and end."""
    text = " ".join(re.split(r"\s+", change.text))
    listed = text.split(" ")
    if change.change == "same" and len(listed) > SHOWN_WORDS:
        half = SHOWN_WORDS // 2
        return f"{' '.join(listed[:half])} … {' '.join(listed[-half:])}"
    return text if len(text) <= 400 else wording.shortened(text, 400)


def _moves(moves: DedupeMoves) -> str:
    parts = [wording.counted(moves.accesses, "access", "accesses"), wording.counted(moves.links, "link")]
    if moves.tags:
        parts.append(f"the tags {', '.join(wording.shortened(tag, 40) for tag in moves.tags)}")
    if moves.aliases:
        parts.append(f"the aliases {', '.join(wording.shortened(alias, 40) for alias in moves.aliases)}")
    return f"Merging moves {', '.join(parts)}."


def _show_contradictions(console: SafeConsole, plan: DedupePlan) -> None:
    proposed = plan.report.contradictions
    if not proposed:
        return
    console.print()
    console.print(styled((f"May contradict each other, {len(proposed):,}; a plan makes no link:", "bold")))
    for pair in proposed[:SHOWN_CONTRADICTIONS]:
        one = wording.named(pair.src_title, pair.src_key, pair.src)
        other = wording.named(pair.dst_title, pair.dst_key, pair.dst)
        say(console, f"  {one} / {other}: {wording.shortened(pair.reason, 200)}")
        say(console, f"    pgrecall link {pair.src} {pair.dst} --relation contradicts", style="dim")
    say_more(console, len(proposed) - SHOWN_CONTRADICTIONS, f"pgrecall plan show {plan.id} --json")


def _name(item: DedupeKeeper | DedupeMember) -> str:
    return wording.named(item.title, item.key, item.id)
