"""Types of settings: how a value is parsed from an environment variable or an argument, and validated.

``parse`` returns the value or raises a ValueError that says what is expected. The message never repeats the
value, which may be a password. ``description`` is the type as the reference shows it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit


class SettingType(Protocol):
    """Parses the value of one setting."""

    @property
    def description(self) -> str: ...

    def parse(self, given: Any) -> Any: ...


_RUN = 8
"""Characters of a secret in a row that give a part of it away."""


class Secret:
    """A string that is not shown in reprs and logs; ``get_secret_value`` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """The text itself."""
        return self._value

    def removed_from(self, text: str) -> str:
        """A text with ``***`` in place of the secret and of each run of eight characters of it."""
        if not self._value:
            return text
        if len(self._value) < _RUN:
            return text.replace(self._value, "***")
        parts = {self._value[place : place + _RUN] for place in range(len(self._value) - _RUN + 1)}
        hidden = {
            place + step
            for place in range(len(text) - _RUN + 1)
            if text[place : place + _RUN] in parts
            for step in range(_RUN)
        }
        runs = groupby(range(len(text)), hidden.__contains__)
        return "".join("***" if out else "".join(text[place] for place in run) for out, run in runs)

    def __repr__(self) -> str:
        return "Secret('***')" if self._value else "Secret('')"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True)
class Text:
    """A text with limits of its length and forbidden characters."""

    shortest: int = 0
    longest: float = math.inf
    without: str = ""
    description = "text"

    def parse(self, given: Any) -> str:
        if not isinstance(given, str):
            raise ValueError("must be a text")
        if not self.shortest <= len(given) <= self.longest:
            few = "1 character" if self.shortest == 1 else f"{self.shortest} characters"
            raise ValueError(
                f"must have at least {few}" + f" and at most {self.longest}" * (self.longest < 1e9)
            )
        if any(character in given for character in self.without):
            raise ValueError(f"must not contain {', '.join(map(repr, self.without))}")
        return given


class Tenants:
    """Names of at most 10 tenants, each once, separated by commas."""

    description = "names"

    def parse(self, given: Any) -> tuple[str, ...]:
        named = given.split(",") if isinstance(given, str) else given
        if not isinstance(named, list | tuple):
            raise ValueError("must be names")
        one = Text(1, 200, without="\0*")
        names = tuple(one.parse(each.strip() if isinstance(each, str) else each) for each in named)
        if len(names) > 10 or len(set(names)) < len(names):
            raise ValueError("must be at most 10 tenants, each named once")
        return names


class SecretText:
    """A text that is not shown; any object with this method will do, such as pydantic's SecretStr."""

    description = "text"

    def parse(self, given: Any) -> Secret:
        found = given if isinstance(given, str) else getattr(given, "get_secret_value", lambda: None)()
        if not isinstance(found, str):
            raise ValueError("must be a text")
        return Secret(found)


LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))
"""Names of this machine, as hosts of a URL."""


class PublicUrl:
    """The address at which others reach a service: scheme, host and port; https, unless on this machine."""

    description = "URL"

    def parse(self, given: Any) -> str:
        try:
            parts = urlsplit(given)
            safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
            bare = f"{parts.scheme}://{parts.netloc}" == given.rstrip("/") and "@" not in given
            usable = safe and bare and bool(parts.hostname) and (parts.port or 1) > 0
        except (AttributeError, TypeError, ValueError):
            usable = False
        if not usable or not given.isascii() or not given.isprintable() or " " in given:
            raise ValueError(
                "must be https://HOST or https://HOST:PORT, without a path; http on this machine"
            )
        return str(given).rstrip("/").lower()


def expand_home(path: str | Path) -> Path:
    """Replaces a leading ``~`` or ``~name`` by the home directory.

    Raises:
        ValueError: there is no such home directory.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ValueError("names a home directory that does not exist") from None


class FolderPath:
    """A path, in which ``~`` stands for the home directory."""

    description = "path"

    def parse(self, given: Any) -> Path:
        if not isinstance(given, str | Path):
            raise ValueError("must be a path")
        return expand_home(given)


class FolderPaths:
    """Absolute paths, separated as in PATH, in which ``~`` stands for the home directory."""

    description = "paths"

    def parse(self, given: Any) -> tuple[Path, ...]:
        named = given.split(os.pathsep) if isinstance(given, str) else given
        if not isinstance(named, list | tuple):
            raise ValueError("must be paths")
        paths = tuple(FolderPath().parse(one) for one in named if one)
        for path in paths:
            if not path.is_absolute():  # a worker seldom begins where the person who wrote it was
                raise ValueError("must be absolute paths")
        return paths


class Boolean:
    """A truth value."""

    description = "yes or no"

    def parse(self, given: Any) -> bool:
        word = str(given).strip().lower()
        if word in ("1", "true", "t", "yes", "y", "on"):
            return True
        if word in ("0", "false", "f", "no", "n", "off"):
            return False
        raise ValueError("must be true or false")


@dataclass(frozen=True)
class Choice:
    """One of these words."""

    words: tuple[str, ...]

    @property
    def description(self) -> str:
        return ", ".join(f"`{word}`" for word in self.words)

    def parse(self, given: Any) -> str:
        for word in self.words:
            if given == word:
                return word
        raise ValueError(f"must be {', '.join(self.words[:-1])} or {self.words[-1]}")


@dataclass(frozen=True)
class Integer:
    """A whole number within bounds."""

    low: int
    high: int

    @property
    def description(self) -> str:
        return f"whole number (at least {self.low:,}, at most {self.high:,})"

    def parse(self, given: Any) -> int:
        try:
            number = int(given)
            exact = isinstance(given, str) or number == given
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact or not self.low <= number <= self.high:
            raise ValueError(f"must be a whole number from {self.low} to {self.high}")
        return number


@dataclass(frozen=True)
class Share:
    """A part of a whole."""

    description = "number (0 to 1)"

    def parse(self, given: Any) -> float:
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 <= number <= 1:
            raise ValueError("must be a number from 0 to 1")
        return number


@dataclass(frozen=True)
class PositiveNumber:
    """A number above zero."""

    high: float

    @property
    def description(self) -> str:
        return f"number (above 0, at most {self.high:,})"

    def parse(self, given: Any) -> float:
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number <= self.high:
            raise ValueError(f"must be a number above 0 and at most {self.high:g}")
        return number


_NEAR = 0.8
"""How much of two names is the same where one is the other misspelt, as `difflib` counts it."""


def misspelt(found: Collection[str], known: Collection[str]) -> list[str]:
    """Variables that nearly name a setting: ignored, they would leave another database or model in use.

    Others may be of another program or version.

    Args:
        found: names that are set; one of a setting is meant as it is.
        known: names of all settings.
    """
    if not (unknown := sorted(set(found) - set(known))):
        return []
    from difflib import get_close_matches  # a slow import for what is hardly ever needed

    unset = [name for name in known if name not in found]
    near = {name: get_close_matches(name, unset, 1, _NEAR) for name in unknown}
    return [
        f"PGRECALL_{name.upper()} (do you mean PGRECALL_{one[0].upper()}?)"
        for name, one in near.items()
        if one
    ]
