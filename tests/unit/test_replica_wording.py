"""What `status` and `doctor` say of a replica."""

from __future__ import annotations

import pytest

from pgrecall.faces.wording import about_replica
from pgrecall.nouns.status.models import ReplicaStatus


@pytest.mark.parametrize(
    ("replica", "said"),
    [
        (
            ReplicaStatus(10, behind=1200, staleness=0.31),
            "A replica answers searches, at most 0.3 s behind; it has 1,200 bytes to replay.",
        ),
        (ReplicaStatus(10, behind=1), "A replica answers searches; it has 1 byte to replay."),
        (
            ReplicaStatus(10, problem="replica: it lags 12 s"),
            "Searches go to the primary: it lags 12 s.",
        ),
    ],
)
def test_what_is_said_of_a_replica(replica: ReplicaStatus, said: str) -> None:
    assert about_replica(replica) == said
