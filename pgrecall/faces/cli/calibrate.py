"""The command calibrate: probabilities fitted to judged queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pgrecall.errors import InvalidInput
from pgrecall.faces.charts.plots_style import LIGHT, drawing, require_drawable, write
from pgrecall.faces.cli.base import DONE, NOTHING_FOUND, AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.progress import Progress
from pgrecall.faces.cli.rendering.calibration import show_calibration
from pgrecall.faces.cli.values import text
from pgrecall.importers.qrels import read_qrels
from pgrecall.models.calibration import Calibration


def calibrate(
    context: Context,
    qrels: Annotated[
        Path | None, Argument(help="Judged queries, JSONL: {query, relevant: [key, ...]} a line.")
    ] = None,
    profile: Annotated[str, Option(help="Whose coefficients, as `search --profile`.")] = "balanced",
    reranker: Annotated[
        bool, Option("--reranker", help="Fit how the configured reranker's score is read instead.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Fit and compare, store nothing.")] = False,
    force: Annotated[bool, Option("--force", help="Store even what does not predict better.")] = False,
    reset: Annotated[bool, Option("--reset", help="Go back to the coefficients that ship.")] = False,
    plot: Annotated[
        Path | None, Option(metavar="FILE", help="Also draw predicted against observed: .png or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit relevance to judged queries, so that a probability is one. Stores what predicts better.

    Better means: a lower log loss on queries that were held out. Exit code 1 when nothing is better, or
    with --reset when there was nothing to take away.
    """
    name = text(profile, "--profile")
    if reset:
        _require_alone(qrels, dry_run, force, plot)
        _reset(context, name, reranker)
    if qrels is None:
        raise InvalidInput("Judged queries are missing.", hint="Give a JSONL file, or --reset.")
    form = None if plot is None else require_drawable(plot)
    judged = read_qrels(qrels)
    bar = Progress("searching", "queries", len(judged))
    with globals_of(context).opened(embeds=True) as memory, bar:
        count = _Count(bar)
        done = memory.calibration.fit(
            judged, name, reranker=reranker, dry_run=dry_run, force=force, progress=count.add
        )
    _report(done, dry_run, as_json)
    if plot is not None and form is not None:
        _draw(done, plot, form)
    raise Exit(DONE if done.stored or done.better else NOTHING_FOUND)


class _Count:
    """How many queries were searched, shown."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._count = 0

    def add(self, more: int) -> None:
        self._count += more
        self._bar.reached(self._count)


def _require_alone(qrels: Path | None, dry_run: bool, force: bool, plot: Path | None) -> None:
    if qrels is not None or dry_run or force or plot is not None:
        raise InvalidInput("--reset takes coefficients away and fits none.", hint="Give it alone.")


def _reset(context: Context, profile: str, reranker: bool) -> None:
    with globals_of(context).opened() as memory:
        reset = memory.calibration.reset(profile, reranker=reranker)
    if not reset:
        notes().print("The coefficients in force are those that ship; there is nothing to take away.")
        raise Exit(NOTHING_FOUND)
    output().print("The coefficients that ship are in force again.")
    raise Exit(DONE)


def _report(done: Calibration, dry_run: bool, as_json: bool) -> None:
    if as_json:
        output().out(to_text(plain(done) | {"better": done.better}))
    else:
        show_calibration(output(), done)
    if done.stored:
        notes().print(f"Stored: these coefficients of {done.name} are in force for this tenant now.")
    elif dry_run:
        notes().print("Nothing was stored: this was a dry run.")
    else:
        notes().print("Nothing was stored: on queries it has not seen this predicts no better than now.")


def _draw(done: Calibration, file: Path, form: str) -> None:
    from pgrecall.faces.charts.plots_reliability import reliability_figure

    with drawing(LIGHT):
        write(reliability_figure(done, LIGHT), file, form)
    notes().print(f"The picture is in {file}.")
