"""What feedback adds up to, by memory and by rank."""

from __future__ import annotations

from datetime import datetime

from pgrecall.models.feedback import Feedback
from pgrecall.operations import feedback as steps
from pgrecall.workflows.base import Flow


def feedback(*, limit: int, unused: bool, since: datetime | None) -> Flow[Feedback]:
    """Both reports of the same searches."""
    memories = yield steps.feedback_by_memory(limit, unused, since)
    ranks = yield steps.feedback_by_rank(since)
    return Feedback(memories, ranks)
