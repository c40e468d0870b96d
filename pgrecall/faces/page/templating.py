"""The Jinja environment, which escapes everything, and the filters that all views share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse

from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.charts.plan_report import FILTERS
from pgrecall.faces.printable import printable
from pgrecall.faces.snippets import snippet
from pgrecall.faces.wording import duration_words, rights_words
from pgrecall.nouns.history.models import DiffRun, WordChange
from pgrecall.vitality.parameters import ZoneThresholds

if TYPE_CHECKING:
    from jinja2 import Environment


_BLANK_LINES = re.compile(r"\n\s*\n\s*\n")


def render(template: str, values: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
    """Renders a template as a response."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def relative_time(time: datetime, now: datetime) -> str:
    """A time relative to now: ``3 days ago``, ``in 2 hours``."""
    length = time - now
    return f"in {duration_words(length)}" if length > timedelta(0) else f"{duration_words(length)} ago"


def url(path: str, fields: Mapping[str, Any]) -> str:
    """A path with a query string; empty fields are left out."""
    present = [(name, value) for name, value in fields.items() if value not in (None, "", False)]
    query = urlencode([(name, "1" if value is True else value) for name, value in present], doseq=True)
    return f"{path}?{query}" if query else path


def per_cent(chance: float) -> str:
    """A chance from 0 to 1 in per cent, as a number: to a tenth below ten, ``<0.1`` for less."""
    share = 100 * chance
    if 0 < share < 0.05:
        return "<0.1"
    return f"{share:.1f}" if share < 9.95 else f"{share:.0f}"


def signed_per_cent(change: float) -> str:
    """A change of a chance in percentage points, with its sign."""
    digits = f"{abs(100 * change):.1f}"
    return f"{'−' if change < 0 and digits != '0.0' else '+'}{digits}"


def kept_at(zone: str, vitality: float, bounds: ZoneThresholds | None) -> bool:
    """Whether a floor holds a memory in this zone, because its vitality would give a lower one."""
    return bounds is not None and bounds.zone(vitality) != zone


def excerpt(text: str, max_length: int) -> str:
    """A text without more than one blank line at a time, and with the middle left out of a long one."""
    text = _BLANK_LINES.sub("\n\n", text)
    if len(text) <= max_length:
        return printable(text)
    half = max_length // 2
    return printable(f"{text[:half].rstrip()} … {text[-half:].lstrip()}")


def beginning(text: str, max_length: int) -> str:
    """How a text begins, on one line and without Markdown."""
    return snippet(text[: 4 * max_length], {}, max_length)[0]


def readable_runs(difference: Iterable[DiffRun]) -> list[tuple[WordChange, str]]:
    """A difference for people: what differs in space alone counts as the same."""
    runs: list[tuple[WordChange, str]] = []
    for run in difference:
        if run.change == "removed" and not run.text.strip():
            continue
        change: WordChange = "same" if not run.text.strip() else run.change
        if runs and runs[-1][0] == change == "same":
            runs[-1] = (change, runs[-1][1] + run.text)
        else:
            runs.append((change, run.text))
    return runs


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "beginning": beginning,
    "clean": printable,
    "excerpt": excerpt,
    "days": lambda count: timedelta(days=count),
    "iso": datetime.isoformat,
    "per_cent": per_cent,
    "readable_runs": readable_runs,
    "rights": rights_words,
    "signed_per_cent": signed_per_cent,
    "when": relative_time,
}


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        # The report of a prune plan shows its charts and tables with the same templates.
        loader=ChoiceLoader([PackageLoader("pgrecall.faces.page"), PackageLoader("pgrecall.faces.charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.filters.update(_FILTERS)
    environment.globals.update(zone_names=ZONES, url=url, kept_at=kept_at)
    return environment
