"""What the docstring of a dataclass says of it and of each of its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from inspect import getdoc

_ATTRIBUTE = re.compile(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", re.M)


def summary_of(shape: type) -> str:
    """The docstring without its list of attributes."""
    return _plain(_documented(shape)[0])


@cache
def attributes_of(shape: type) -> Mapping[str, str]:
    """What the docstring's ``Attributes`` say of each field that they name."""
    described: dict[str, str] = {}
    for part in reversed(shape.__mro__):
        for names, text in _ATTRIBUTE.findall(_documented(part)[1]):
            described |= {name.strip(): _sentence(text) for name in names.split(",")}
    return described


def _documented(shape: type) -> tuple[str, str]:
    summary, _, attributes = (getdoc(shape) or "").partition("\nAttributes:\n")
    return summary.strip(), attributes


def _sentence(text: str) -> str:
    words = _plain(" ".join(text.split()))
    return words[:1].upper() + words[1:]


def _plain(text: str) -> str:
    """Code between single backticks, as Markdown has it; roles of reStructuredText without their names."""
    return re.sub(r":\w+:`", "`", text).replace("``", "`")
