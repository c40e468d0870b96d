"""Commands about calibration: probabilities fitted to judged queries."""

from __future__ import annotations

from pathlib import Path

import click
from click.exceptions import Exit

from pgrecall.faces.charts.chart_files import require_drawable, write_chart
from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import (
    Progress,
    SafeConsole,
    notes,
    output,
    plain,
    print_json,
    table,
)
from pgrecall.importers.qrels import read_qrels
from pgrecall.nouns.calibration.models import Calibration

_FIGURES = (("log loss", "log_loss"), ("Brier score", "brier"), ("calibration error", "ece"), ("MRR", "mrr"))

profile_option = click.option(
    "--profile", type=TEXT, default="balanced", help="Profile of the coefficients, as in `pgrecall search`."
)


@click.group("calibration", cls=CommandGroup)
def calibration() -> None:
    """Fit relevance to judged queries, or restore the shipped coefficients."""


@calibration.command("fit")
@click.argument(
    "qrels",
    type=click.Path(path_type=Path),
    help="Judged queries, JSONL: {query, relevant: [key, ...]} a line.",
)
@profile_option
@click.option("--reranker", is_flag=True, help="Fit the scores of the configured reranker instead.")
@click.option("--dry-run", is_flag=True, help="Fit and compare, but store nothing.")
@click.option("--force", is_flag=True, help="Store the result even if it does not predict better.")
@click.option(
    "--chart",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw predicted against observed relevance: .png or .svg.",
)
@json_option
@pass_globals
def fit(
    given: GlobalOptions,
    qrels: Path,
    profile: str,
    reranker: bool,
    dry_run: bool,
    force: bool,
    chart: Path | None,
    as_json: bool,
) -> None:
    """Fit relevance to judged queries, so that it is a probability. Stores the result if it is better.

    Better means a lower log loss on held-out queries. Exit code 1 when the result is not better.
    """
    form = None if chart is None else require_drawable(chart)
    judged = read_qrels(qrels)
    with given.opened(embeds=True) as memory, Progress("searching", "queries", len(judged)) as bar:
        done = memory.quality.calibrate(
            judged, profile, reranker=reranker, dry_run=dry_run, force=force, progress=bar.add
        )
    _report(done, dry_run, as_json)
    if chart is not None and form is not None:
        _draw(done, chart, form)
    raise Exit(DONE if done.stored or done.better else NOTHING_FOUND)


@calibration.command("reset")
@profile_option
@click.option("--reranker", is_flag=True, help="Reset the coefficients of the configured reranker instead.")
@pass_globals
def reset(given: GlobalOptions, profile: str, reranker: bool) -> None:
    """Restore the shipped coefficients. Exit code 1 when they are already in force."""
    with given.opened() as memory:
        changed = memory.quality.reset_calibration(profile, reranker=reranker)
    if not changed:
        notes().print("The shipped coefficients are already in force.")
        raise Exit(NOTHING_FOUND)
    output().print("The shipped coefficients are in force again.")


def _report(done: Calibration, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(plain(done) | {"better": done.better})
    else:
        show_calibration(output(), done)
    if done.stored:
        notes().print(f"Stored: these coefficients of {done.name} are in force for this tenant now.")
    elif dry_run:
        notes().print("Nothing was stored: this was a dry run.")
    else:
        notes().print("Nothing was stored: on held-out queries this does not predict better.")


def _draw(done: Calibration, file: Path, form: str) -> None:
    from pgrecall.faces.charts.reliability import reliability_chart

    write_chart(reliability_chart(done), file, form)
    notes().print(f"The chart is in {file}.")


def show_calibration(console: SafeConsole, done: Calibration) -> None:
    """The number of judgements, the figures before and after, and the coefficients."""
    missed = f"; {done.missed:,} more were not found by search" if done.missed else ""
    console.print(
        f"{done.queries:,} queries, {done.candidates:,} candidates, {done.relevant:,} relevant{missed}",
    )
    if done.left_out:
        console.print(f"{done.left_out:,} queries without words were left out")
    figures = table(done.name, "now", "held out")
    for label, name in _FIGURES:
        figures.add_row(label, f"{getattr(done.before, name):.4f}", f"{getattr(done.after, name):.4f}")
    console.print(figures)
    verdict = "falls" if done.better else "does not fall"
    console.print(
        f"The log loss {verdict}: by {done.gain:.4f} "
        f"(95 % from {done.gain_low:.4f} to {done.gain_high:.4f}).\n"
    )
    coefficients = table("coefficient", "now", "fitted")
    for name, value in done.coefficients.items():
        held = "  held at 0" if name in done.held_at_zero else ""
        coefficients.add_row(name, f"{done.current[name]:.2f}", f"{value:.2f}{held}")
    console.print(coefficients)
