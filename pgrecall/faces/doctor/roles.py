"""What the doctor says of roles: who speaks, whose memories it reaches, and rights not as declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgrecall.faces.doctor.findings import Finding, Level
from pgrecall.models.service import Caller
from pgrecall.schema.ownership import AccessProblem

OF_ITS_OWN = "give the service a role of its own: pgrecall role create NAME --any-tenant"


def on_caller(caller: Caller, *, allowed: bool) -> Finding:
    """The role of this connection; a warning where it may do more than it needs, unless ``allowed``."""
    level: Level = "ok" if allowed else "warn"
    fix = "" if allowed else OF_ITS_OWN
    if caller.superuser or caller.bypasses:
        power = "is a superuser" if caller.superuser else "bypasses row security"
        said = f"Role {caller.role} {power}: nothing keeps tenants apart for it."
        return Finding("roles", level, said, fix)
    if caller.administers:
        said = f"Role {caller.role} may act as {caller.owner}, the owner of all memories."
        return Finding("roles", level, said, fix)
    if caller.tenant is None:
        said = f"Role {caller.role} is bound to no tenant and may not name one."
        return Finding("roles", "fail", said, f"as an administrator: pgrecall role bind {caller.role} TENANT")
    whose = "may name any tenant" if caller.tenant == "*" else f"acts for tenant {caller.tenant} alone"
    return Finding("roles", "ok", f"Role {caller.role} ({caller.may}) {whose}.")


def on_rights(problems: Sequence[AccessProblem]) -> Iterator[Finding]:
    """Owners, rights, row security and policies that are not as declared, each with the SQL that mends it."""
    for found in problems:
        yield Finding("roles", "fail" if found.grave else "warn", f"{found.problem}.", f"{found.fix};")
