"""Who says something in a conversation; apart from memories, since a search needs to know of it alone."""

from __future__ import annotations

from typing import Literal

Role = Literal["user", "assistant", "system", "tool"]
