"""How pictures look: two palettes, one manner of drawing axes, and how a picture becomes a file.

The colours of the zones lie apart in lightness as well as in hue, so that they are told apart with any
kind of colour vision and in print; blue to grey is alive to archived.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pgrecall.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ZONES = ("active", "stale", "fading", "archived")
FORMATS = ("png", "svg")
_DPI = 150
_LETTERS_AN_INCH = 13.5


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours: of the page, of text and lesser text, of rules and of wires, of a highlight, of each zone."""

    page: str
    ink: str
    soft: str
    rule: str
    wire: str
    mark: str
    zones: Mapping[str, str]


LIGHT = Theme(
    page="#fcfbf9",
    ink="#201d19",
    soft="#635c53",
    rule="#e6e1d8",
    wire="#9d958b",
    mark="#b3461c",
    zones=MappingProxyType(
        {"active": "#0b4f8a", "stale": "#3d9bd6", "fading": "#eba42f", "archived": "#c9c3b8"}
    ),
)
DARK = Theme(
    page="#171512",
    ink="#ebe6de",
    soft="#aba398",
    rule="#37332d",
    wire="#7d756a",
    mark="#f28d5f",
    zones=MappingProxyType(
        {"active": "#cfe6fb", "stale": "#57a8e6", "fading": "#d98a1b", "archived": "#5c564e"}
    ),
)


def theme_of(*, dark: bool) -> Theme:
    """The palette for a dark page or a light one."""
    return DARK if dark else LIGHT


def require_drawable(file: Path) -> str:
    """The format a file's name asks for; nothing is drawn or written.

    Raises:
        InvalidInput: the name ends in neither .png nor .svg, or there is no such folder.
        MissingExtra: matplotlib is not installed.
    """
    form = file.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise InvalidInput(
            f"{str(file)!r} names no kind of picture.", hint="Let its name end in .png or in .svg."
        )
    if not file.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(file.parent)!r}.", hint="Make it, or write elsewhere.")
    if find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "plots")
    return form


@contextmanager
def drawing(theme: Theme) -> Iterator[None]:
    """Within, everything that is made has the colours of a theme, and a $ is a $ and begins no formula."""
    from matplotlib import rc_context

    style: dict[Any, Any] = {
        "figure.facecolor": theme.page,
        "savefig.facecolor": theme.page,
        "axes.facecolor": theme.page,
        "axes.edgecolor": theme.wire,
        "axes.labelcolor": theme.soft,
        "axes.titlecolor": theme.ink,
        "text.color": theme.ink,
        "xtick.color": theme.soft,
        "ytick.color": theme.soft,
        "grid.color": theme.rule,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5,
        "axes.labelsize": 9.5,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "text.parse_math": False,
        "svg.hashsalt": "pgrecall",
    }
    with rc_context(style):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that needs no display and that nothing keeps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def entitle(figure: Figure, theme: Theme, title: str, *, about: str = "") -> None:
    """A title over the whole figure, and in smaller letters what one sees."""
    figure.suptitle(title, x=0.012, ha="left", fontsize=14, fontweight="bold")
    if about:
        lines = wrap(about, width=round(_LETTERS_AN_INCH * figure.get_figwidth()))
        figure.supxlabel("\n".join(lines), x=0.012, ha="left", fontsize=9, color=theme.soft)


def only_rules(axes: Any, direction: Any) -> None:
    """Rules across the picture instead of a frame around it: ``direction`` is the axis they mark."""
    axes.grid(visible=True, axis=direction, linewidth=0.8)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def date_ticks(axes: Any) -> None:
    """A few dates beneath the picture, none longer than it has to be."""
    dates: Any = import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def write(figure: Figure, file: Path, form: str) -> None:
    """Writes the picture; the same figure always makes the same file.

    Raises:
        InvalidInput: the file cannot be written.
    """
    stamp: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
    try:
        with warnings.catch_warnings():
            # A title may have letters that the font has not; they are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(file, format=form, dpi=_DPI, metadata=stamp)
    except OSError as error:
        raise InvalidInput(
            f"{str(file)!r} cannot be written: {error.strerror}.", hint="Write it elsewhere."
        ) from error
