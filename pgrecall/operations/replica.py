"""Questions about how far a primary and its standby are."""

from __future__ import annotations

from pgrecall.database.positions import PRIMARY, REPLICA, Server, server_of
from pgrecall.operations.operation import Operation


def primary_position() -> Operation[Server]:
    """Asks a primary where its log ends: before that is all that was committed. A standby has no answer."""
    return Operation(PRIMARY, {}, server_of, repeatable=True, reads=True)


def replica_position() -> Operation[Server]:
    """Asks a standby how much of its primary's log it has replayed; a primary has no answer."""
    return Operation(REPLICA, {}, server_of, repeatable=True, reads=True)
