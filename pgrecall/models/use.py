"""The use of a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

AccessKind = Literal["write", "read", "reference", "used", "retrieval"]


@dataclass(frozen=True, slots=True)
class Access:
    """One use of a memory at one moment. ``at`` None means now, on the database's clock."""

    memory: int | str
    kind: AccessKind = "read"
    at: datetime | None = None
    session_id: str | None = None
    idempotency_key: str | None = None
