"""Fields of the records of other people and programs.

A value that fits becomes a field of the draft. Any other stays under its own name in what is left, which
becomes metadata, and is counted. So one field never costs a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, get_args

from pgrecall.importers.dates import parse_time, worded_moment
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import RELATIONS, DraftLink, Role, SpeechAct

MAX_TITLE_LENGTH = 1_000
MAX_KEY_LENGTH = 1_000
MAX_TARGET_LENGTH = 1_000
INDEXED_BYTES = 2_000
MAX_SESSION_BYTES = 1_000
MAX_LIST_BYTES = 20_000
"""Of all tags, or all aliases, of a memory as JSON."""

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0", "")
_FIRST, _LAST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
_AHEAD = timedelta(days=1)
_DEEPEST_LIST = 20


@dataclass(frozen=True, slots=True)
class Rules:
    """What an importer is told, since it uses neither clock nor database.

    Attributes:
        now: an event later than a day from now has not occurred; None: the database decides.
        layers: the layers of the tenant; None: the database decides.
    """

    now: datetime | None = None
    layers: frozenset[str] | None = None


ANY = Rules()


class Keep(NamedTuple):
    """What is kept of chats, though it is left out or replaced otherwise.

    Attributes:
        tools: tool calls, their results, and the turns of sub-agents.
        secrets: passwords, keys and tokens.
    """

    tools: bool = False
    secrets: bool = False


NOTHING = Keep()


class Unfit(ValueError):
    """A value that a field cannot have; ``usable`` is the part of it that it can."""

    def __init__(self, usable: Any = None) -> None:
        super().__init__("the value does not fit")
        self.usable = usable


class Fields:
    """The fields of one record, taken one by one.

    Attributes:
        left: the fields that nobody took, and those that do not fit.
        unfit: the names of those that do not fit.
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        rules: Rules = ANY,
        *,
        left: Mapping[str, Any] | None = None,
        named: Callable[[str], str] = lambda name: name,
    ) -> None:
        """Args: the values to read, those to keep in ``left`` if they are others, and how names compare."""
        self._given = given
        self._rules = rules
        self._own: dict[str, str] = {}
        for name in given:
            self._own.setdefault(named(name), name)
        self.left = dict(given if left is None else left)
        self.unfit: list[str] = []

    def take(self, field: str, *names: str) -> Any:
        """The first value under these names, or that of the field, that it can have in a draft; else None."""
        found = None
        for name in names or (field,):
            own = self._own.get(name)
            if own is None or (found is not None and self._given[own] is not None):
                continue
            try:
                found = self._read(field, self._given[own], found)
            except Unfit as unfit:
                self.unfit.append(own)
                usable = unfit.usable
                found = None if usable is None or not fits(field, usable, self._rules) else usable
            else:
                self.left.pop(own, None)
        return found

    def _read(self, field: str, value: Any, otherwise: Any) -> Any:
        reader: Callable[[Any], Any] = _READERS.get(field, one_text)
        read = None if value is None else reader(value)
        if read is None:
            return otherwise
        if not fits(field, read, self._rules):
            raise Unfit
        return read

    def notices(self, place: str) -> Iterator[Skipped]:
        """What did not fit, to be counted."""
        for name in self.unfit:
            yield kept_as_metadata(name, place)


def kept_as_metadata(name: str, place: str) -> Skipped:
    """The notice of a value that does not fit a field."""
    return Skipped(unfit_values(name), 1, (place,))


def unfit_values(name: str) -> str:
    """What values of a field are called that do not fit it."""
    return f"values of {name[:40]!r} that do not fit, kept as metadata"


def add_metadata(metadata: dict[str, Any], name: str, value: Any) -> None:
    """Adds a value under its name, or under a numbered one if there is another."""
    free, number = name, 1
    while free in metadata:
        number += 1
        free = f"{name} {number}"
    metadata[free] = value


def fits(field: str, value: Any, rules: Rules) -> bool:
    """Whether a draft's field can have a value of its type."""
    match field:
        case "occurred_at":
            return bool(_FIRST <= value < _LAST) and not lies_ahead(value, rules)
        case "valid_from" | "valid_until" | "expires_at":
            return bool(_FIRST <= value < _LAST)
        case "layer":
            return bool(value) and (rules.layers is None or value in rules.layers)
        case "title":
            return len(value) <= MAX_TITLE_LENGTH
        case "key":
            return 0 < len(value) <= MAX_KEY_LENGTH and _size(value) <= INDEXED_BYTES
        case "author" | "source":
            return _size(value) <= INDEXED_BYTES
        case "session_id":
            return _size(value) <= MAX_SESSION_BYTES
        case "tags" | "aliases":
            return not value or _size(json.dumps(list(value), ensure_ascii=False)) <= MAX_LIST_BYTES
    return True


def lies_ahead(moment: datetime, rules: Rules) -> bool:
    """Whether a moment is later than the clocks of the world can differ."""
    return rules.now is not None and moment > rules.now + _AHEAD


def link_fits(link: DraftLink) -> bool:
    """Whether a link can be stored."""
    length = len(link.target)
    known = link.relation in RELATIONS and 0 < link.weight <= 100
    return known and 1 <= length <= MAX_TARGET_LENGTH and _size(link.target) <= INDEXED_BYTES


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def one_text(value: Any) -> str | None:
    """A text, a number as text, or a list of one."""
    texts = list(_flat(value))
    if len(texts) > 1 or None in texts:
        raise Unfit
    return texts[0] if texts else None


def _flat(value: Any, depth: int = 0) -> Iterator[str | None]:
    """The texts in a list of lists; None for anything that is neither text nor number."""
    if isinstance(value, list) and depth < _DEEPEST_LIST:
        for item in value:
            yield from _flat(item, depth + 1) if item is not None else ()
    elif isinstance(value, str):
        yield value
    else:
        yield str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: Any) -> tuple[str, ...]:
    """The texts of a list, or of one text divided at commas."""
    if isinstance(value, str):
        return tuple(part for text in value.split(",") if (part := text.strip()))
    found = list(_flat(value))
    texts = tuple(text for text in found if text is not None)
    if len(texts) < len(found):
        raise Unfit(texts)
    return texts


def _moment(value: Any) -> datetime | None:
    text = one_text(value)
    try:
        return parse_time(text) if text and text.strip() else None
    except ValueError as error:
        raise Unfit(worded_moment(str(text))) from error


def _role(value: Any) -> str | None:
    role = (one_text(value) or "").strip().casefold()
    if role and role not in get_args(Role):
        raise Unfit
    return role or None


def _speech_act(value: Any) -> str | None:
    act = (one_text(value) or "").strip().casefold()
    if act and act not in get_args(SpeechAct):
        raise Unfit
    return act or None


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = (one_text(value) or "").strip().casefold()
    if word not in _TRUE + _FALSE:
        raise Unfit
    return word in _TRUE


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit
    return value


def _links(value: Any) -> tuple[DraftLink, ...]:
    """Links as texts or as objects with target, relation and weight."""
    given: Sequence[Any] = value if isinstance(value, list) else [value]
    links = tuple(link for entry in given if (link := _link(entry)) is not None)
    if len(links) < len(given):
        raise Unfit(links)
    return links


def _link(entry: Any) -> DraftLink | None:
    parts = {"target": entry} if isinstance(entry, str) else entry
    if not isinstance(parts, dict) or parts.keys() - {"target", "relation", "weight"}:
        return None
    target, relation = parts.get("target"), parts.get("relation", "links_to")
    weight = parts.get("weight", 1.0)
    if not isinstance(target, str) or not isinstance(relation, str):
        return None
    if type(weight) not in (int, float) or not 0 < weight <= 100:
        return None
    link = DraftLink(target, relation, float(weight))
    return link if link_fits(link) else None


def _body(value: Any) -> str:
    """A text, and nothing else: a memory must say what was written, not what we make of it."""
    if not isinstance(value, str):
        raise Unfit
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "body": _body,
    "role": _role,
    "speech_act": _speech_act,
    "pinned": _flag,
    "tags": _texts,
    "aliases": _texts,
    "metadata": _mapping,
    "links": _links,
    **dict.fromkeys(("occurred_at", "valid_from", "valid_until", "expires_at", "moment"), _moment),
}
