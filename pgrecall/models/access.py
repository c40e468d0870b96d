"""The use of a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

AccessKind = Literal["write", "read", "reference", "used", "retrieval"]


@dataclass(frozen=True, slots=True)
class Access:
    """One use of a memory at one moment.

    Attributes:
        memory: its id or key.
        kind: how it was used; a ``retrieval`` was merely shown, and counts a tenth.
        at: None means now, on the database's clock.
        session_id: memories used in one session are associated.
        idempotency_key: a key that was seen before makes this no use.
    """

    memory: int | str
    kind: AccessKind = "read"
    at: datetime | None = None
    session_id: str | None = None
    idempotency_key: str | None = None
