"""Readers of a shared tenant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Reader:
    """A tenant that may read this one, and since when."""

    reader: str
    since: datetime
