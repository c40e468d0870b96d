"""Values become HTML: one environment, which escapes everything, and the words that all views share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse

from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.charts.plan_report import FILTERS
from pgrecall.faces.charts.wording import span
from pgrecall.faces.cli.rendering.snippets import printable

if TYPE_CHECKING:
    from jinja2 import Environment


def drawn(template: str, values: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
    """A page from its template."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def when(at: datetime, now: datetime) -> str:
    """A moment as people say it: ``3 days ago``, ``in 2 hours``."""
    length = at - now
    return f"in {span(length)}" if length > timedelta(0) else f"{span(length)} ago"


def days(many: float) -> timedelta:
    """So many days, as a length of time."""
    return timedelta(days=many)


def machine(at: datetime) -> str:
    """A moment for programs, as a ``time`` element has it."""
    return at.isoformat()


def signed(value: float) -> str:
    """A number with its sign, a true minus among them."""
    told = f"{abs(value):.2f}"
    return f"{'−' if value < 0 and told != '0.00' else '+'}{told}"


def address(path: str, fields: Mapping[str, Any]) -> str:
    """An address with what is asked for; what is empty is left out."""
    given = [(name, value) for name, value in fields.items() if value not in (None, "", False)]
    asked = urlencode([(name, "1" if value is True else value) for name, value in given], doseq=True)
    return f"{path}?{asked}" if asked else path


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "clean": printable,
    "days": days,
    "machine": machine,
    "signed": signed,
    "span": span,
    "when": when,
}


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        # The report of a plan shows its charts and tables with templates that serve here too.
        loader=ChoiceLoader([PackageLoader("pgrecall.faces.page"), PackageLoader("pgrecall.faces.charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.filters.update(_FILTERS)
    environment.globals.update(zone_names=ZONES, address=address)
    return environment
