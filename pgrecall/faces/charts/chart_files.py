"""Charts as files: self-contained SVG, and PNG rendered from it.

The colours of the zones differ in lightness as well as in hue, so that they can be distinguished with any
kind of colour vision and in print; blue to grey means active to dormant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.charts.svg import Chart, element, joined, number, text
from pgrecall.faces.wording import shortened

FORMATS = ("png", "svg")
_MARGIN, _TITLE, _LINE = 24.0, 52.0, 18.0
_LETTER, _TITLE_LETTER = 6.3, 10.0
_NARROWEST = 560.0
_PIXELS_A_UNIT = 2


def require_drawable(file: Path) -> str:
    """Checks that a chart can be written to a file; draws and writes nothing.

    Returns:
        The format that the file name ends in: png or svg.

    Raises:
        InvalidInput: the name ends in neither .png nor .svg, or the folder does not exist.
        MissingExtra: the format is png and resvg-py is not installed.
    """
    form = file.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise InvalidInput(
            f"{str(file)!r} does not end in .png or .svg.", hint="Choose a name that ends in .png or .svg."
        )
    if not file.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(file.parent)!r}.", hint="Create it, or choose another.")
    if form == "png" and find_spec("resvg_py") is None:
        raise MissingExtra("resvg-py", "charts")
    return form


def require_layout() -> None:
    """Checks that link graphs can be laid out and reports written.

    Raises:
        MissingExtra: pgrecall[charts] is not installed.
    """
    for module in ("networkx", "numpy", "jinja2"):
        if find_spec(module) is None:
            raise MissingExtra(module, "charts")


def write_chart(chart: Chart, file: Path, form: str, *, dark: bool = False) -> None:
    """Writes a chart to a file. Deterministic.

    Raises:
        InvalidInput: the file cannot be written, or the machine has no font for a PNG.
    """
    document = chart_document(chart, dark=dark)
    try:
        file.write_bytes(_png(document) if form == "png" else document.encode())
    except OSError as error:
        raise InvalidInput(
            f"{str(file)!r} cannot be written: {error.strerror}.", hint="Choose another file."
        ) from error


def chart_document(chart: Chart, *, dark: bool) -> str:
    """Returns a chart as an SVG document with its title, caption and style."""
    width = max(chart.width, _NARROWEST)
    left = (width - chart.width) / 2 - chart.left
    lines = wrap(chart.caption, int(width / _LETTER))
    below = _TITLE + chart.height + _LINE
    height = below + len(lines) * _LINE + _MARGIN / 2
    size = {"width": number(width + 2 * _MARGIN), "height": number(height)}
    return element(
        "svg",
        element("title", chart.title),
        element("desc", chart.about),
        element("style", style(dark=dark)),
        element("rect", class_="paper", **size),
        text(shortened(chart.title, int(width / _TITLE_LETTER)), _MARGIN, 32, "heading title"),
        element(
            "g", chart.body, transform=f"translate({number(_MARGIN + left)} {number(_TITLE - chart.top)})"
        ),
        joined(text(words, _MARGIN, below + row * _LINE) for row, words in enumerate(lines)),
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        viewBox=f"0 0 {size['width']} {size['height']}",
        **size,
    )


def colours(*, dark: bool) -> Mapping[str, str]:
    """Returns the values of the CSS variables of charts, for a light or a dark background."""
    light_block, dark_block = (
        re.findall(r"--(\w+): ([^;]+);", block) for block in _style()[0].split("@media")
    )
    return dict(light_block) | (dict(dark_block) if dark else {})


def style(*, dark: bool) -> str:
    """Returns the style of charts with each variable replaced by its value, for programs without CSS
    variables."""
    values = colours(dark=dark)
    rules = re.sub(r"var\(--(\w+)\)", lambda found: values[found[1]].replace('"', "'"), _style()[1])
    return f"{rules}.chart .title {{ font-size: 18px; }}"


@cache
def _style() -> tuple[str, str]:
    """Reads the variables and the rules of the style sheet."""
    sheet = files("pgrecall.faces.charts").joinpath("styles/charts.css").read_text(encoding="utf-8")
    variables, _, rules = sheet.partition(
        "/* From here on also in files, where each variable is replaced by its value. */"
    )
    return variables, rules


def _png(document: str) -> bytes:
    from resvg_py import svg_to_bytes

    sample = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
    words = "<text y='9' font-family='DejaVu Sans, Liberation Sans, Arial, sans-serif'>M</text>"
    if svg_to_bytes(svg_string=sample.format(words)) == svg_to_bytes(svg_string=sample.format("")):
        raise InvalidInput(
            "This machine has no font for a PNG.",
            hint="Install one, such as the package fonts-dejavu-core, or write an .svg.",
        )
    return bytes(svg_to_bytes(svg_string=document, zoom=_PIXELS_A_UNIT))
