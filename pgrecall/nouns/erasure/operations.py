"""Planning, applying and reading erasures."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime

from pgrecall.encoding import MAX_ID, require_text
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.erasure.models import Erasure, ErasureSummary, Subject
from pgrecall.nouns.operation import NOW, Operation, read_bool, read_int

BATCH = 500
"""Number of memories to delete in a transaction."""


def plan_erasure(subject: Subject, asked_by: str, now: datetime | None) -> Operation[int]:
    """Stores which memories belong to the subject and deletes nothing; returns the id of the erasure."""
    given = {name: text for name, text in asdict(subject).items() if text is not None}
    for name, text in given.items():
        require_text(text, f"The {name} of the subject")
    require_text(asked_by, "The name of the person who asked")
    return Operation(
        f"SELECT recall.plan_erasure(%(subject)s::jsonb, %(asked_by)s, {NOW})",
        {"subject": json.dumps(given), "asked_by": asked_by, "now": now},
        read_int,
    )


def get_erasure(erasure: int, sample: int) -> Operation[Erasure]:
    """Reads an erasure, with up to ``sample`` of its remaining memories."""
    return Operation(
        "SELECT recall.get_erasure(%(erasure)s, %(sample)s) AS erasure",
        {"erasure": _known(erasure), "sample": sample},
        lambda rows: Erasure.from_document(rows[0]["erasure"]),
        repeatable=True,
    )


def erasures(limit: int) -> Operation[tuple[ErasureSummary, ...]]:
    """Lists the newest erasures, newest first."""
    return Operation(
        "SELECT * FROM recall.erasures(%(limit)s)",
        {"limit": limit},
        lambda rows: tuple(
            read_as(ErasureSummary, {**row, "subject": read_as(Subject, row["subject"])}) for row in rows
        ),
        repeatable=True,
    )


def apply_erasure(erasure: int, signed_by: str, limit: int, now: datetime | None) -> Operation[Erasure]:
    """Deletes up to ``limit`` memories of an erasure in one transaction; completes it after the last one."""
    require_text(signed_by, "The name of the person who signs")
    return Operation(
        f"SELECT recall.apply_erasure(%(erasure)s, %(signed_by)s, %(limit)s, {NOW}) AS erasure",
        {"erasure": _known(erasure), "signed_by": signed_by, "limit": limit, "now": now},
        lambda rows: Erasure.from_document(rows[0]["erasure"]),
        repeatable=True,
    )


def drop_erasure(erasure: int) -> Operation[bool]:
    """Deletes an erasure that has not begun; returns whether there was one."""
    return Operation(
        "SELECT recall.drop_erasure(%(erasure)s)",
        {"erasure": _known(erasure)},
        read_bool,
    )


def _known(erasure: int) -> int:
    """Returns the id; raises InvalidInput for an impossible one."""
    if not 0 < erasure <= MAX_ID:
        raise InvalidInput(
            f"There is no erasure {erasure} in this tenant.", hint="List them with `pgrecall erasure list`."
        )
    return erasure
