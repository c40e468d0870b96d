"""Whom a service may act as: no role that row security does not bind, unless it is told to."""

from __future__ import annotations

from pgrecall.errors import DatabaseUnsuitable
from pgrecall.faces.cli.base import notes
from pgrecall.models.service import Caller


def say_who_serves(caller: Caller, *, allowed: bool) -> None:
    """Refuses as :func:`require_unprivileged` does, and says what it has to say on standard error."""
    if said := require_unprivileged(caller, allowed=allowed):
        notes().print(f"Note: {said}")


def require_unprivileged(caller: Caller, *, allowed: bool) -> str | None:
    """A sentence to say where the role may do more than it needs, and None where it may not.

    Raises:
        DatabaseUnsuitable: it is a superuser or bypasses row security, and that is not ``allowed``.
    """
    power = "is a superuser" if caller.superuser else "bypasses row security" if caller.bypasses else None
    if power and not allowed:
        raise DatabaseUnsuitable(
            f"Role {caller.role} {power}: whatever goes wrong here could reach all tenants and the server.",
            hint="Serve as a role of its own (`pgrecall role create NAME --any-tenant`), or say "
            "--allow-superuser (PGRECALL_ALLOW_SUPERUSER=1).",
        )
    if caller.administers and not power:
        return (
            f"Role {caller.role} may act as {caller.owner}, the owner of all memories; "
            "`pgrecall role create NAME --any-tenant` makes one that may not."
        )
    return None
