"""Methods of the client in words and types, as their docstrings and signatures have them."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pgrecall.nouns.declared import Bounds

REQUIRED = inspect.Parameter.empty
REFERENCE = int | str
"""The type of a memory's id or key."""

_NAMED = re.compile(r"^    (\w[\w, ]*): (.*(?:\n {8}.*)*)", re.M)
_SECTIONS = re.compile(r"\n*^(Args|Attributes|Returns|Raises):\n", re.M)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a method, or a field of its ``**fields``.

    Attributes:
        type: without None and without its bounds.
        positional: whether it may be given without its name.
        optional: whether it may be None.
        default: ``REQUIRED`` if it has none.
        about: a sentence.
    """

    name: str
    type: Any
    optional: bool
    bounds: Bounds | None
    default: Any
    about: str
    positional: bool


@dataclass(frozen=True, slots=True)
class Described:
    """A method.

    Attributes:
        group: the attribute of the client that has it; None for the client itself.
        about: what it does, in the imperative and in Markdown.
        result: its type.
        returns: what that is, as a sentence.
    """

    name: str
    group: str | None
    about: str
    parameters: tuple[Parameter, ...]
    result: Any
    returns: str

    def bound(self, client: object) -> Callable[..., Any]:
        """The method of this client."""
        owner = client if self.group is None else getattr(client, self.group)
        method: Callable[..., Any] = getattr(owner, self.name)
        return method


@cache
def described(method: Callable[..., Any]) -> Described:
    """Reads the docstring and the signature of a method."""
    hints, text = get_type_hints(method, include_extras=True), inspect.getdoc(method) or ""
    owner, _, name = method.__qualname__.rpartition(".")
    group = owner.removeprefix("Async").removesuffix("Group").lower() if owner.endswith("Group") else None
    about = re.sub(r"^(>>>|\.\.\.).*\n*", "", section(text, ""), flags=re.M)
    parameters = tuple(_parameters(method, hints, named(section(text, "Args"))))
    returns = as_sentence(section(text, "Returns"))
    return Described(name, group, markdown(imperative(about.strip())), parameters, hints["return"], returns)


def _parameters(
    method: Callable[..., Any], hints: Mapping[str, Any], about: Mapping[str, str]
) -> Iterator[Parameter]:
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            fields = get_args(hints[name])[0]
            words = named(section(inspect.getdoc(fields) or "", "Attributes"))
            for field, hint in get_type_hints(fields, include_extras=True).items():
                yield _parameter(field, hint, None, words.get(field, ""), positional=False)
        else:
            positional = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            yield _parameter(name, hints[name], parameter.default, about.get(name, ""), positional=positional)


def _parameter(name: str, hint: Any, default: Any, about: str, *, positional: bool) -> Parameter:
    optional = NoneType in get_args(hint)
    if optional:
        hint = reduce(operator.or_, (each for each in get_args(hint) if each is not NoneType))
    bounds = None
    if get_origin(hint) is Annotated:
        hint, bounds = get_args(hint)
    return Parameter(name, hint, optional, bounds, default, about, positional)


def section(text: str, name: str) -> str:
    """A section of a docstring; without a name what is above the first."""
    first, *rest = _SECTIONS.split(text)
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}.get(name, "").strip("\n")


def named(text: str) -> dict[str, str]:
    """The sentence about each name that a section explains."""
    return {
        name.strip(): as_sentence(about) for names, about in _NAMED.findall(text) for name in names.split(",")
    }


def as_sentence(text: str) -> str:
    words = markdown(" ".join(text.split()))
    return words[:1].upper() + words[1:]


def markdown(text: str) -> str:
    """reStructuredText code and roles as Markdown code."""
    return re.sub(r":\w+:`", "`", text).replace("``", "`")


def imperative(text: str) -> str:
    """A text that begins with a verb: ``Lists layers`` becomes ``List layers``, ``Applies`` ``Apply``."""
    verb, space, rest = text.partition(" ")
    if verb.endswith("ies"):
        verb = f"{verb[:-3]}y"
    elif verb.endswith(("ches", "shes", "sses", "oes")):
        verb = verb[:-2]
    return verb.removesuffix("s") + space + rest if not verb.endswith("ss") else verb + space + rest
