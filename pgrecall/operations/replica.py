"""The positions of a primary and of its standby in the log."""

from __future__ import annotations

from pgrecall.database.log_positions import PRIMARY, REPLICA, Server, server_of
from pgrecall.operations.operation import Operation


def primary_position() -> Operation[Server]:
    """Asks a primary where its log ends; everything committed lies before. A standby has no answer."""
    return Operation(PRIMARY, {}, server_of, repeatable=True, reads=True)


def replica_position() -> Operation[Server]:
    """Asks a standby how much of its primary's log it has replayed; a primary has no answer."""
    return Operation(REPLICA, {}, server_of, repeatable=True, reads=True)
