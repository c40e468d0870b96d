"""Who may use the service, and which tenants' keys it has seen."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass

MAX_KNOWN = 200
"""Keys and cookies of each tenant that are known."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Who may use the service.

    Attributes:
        needs_key: every request must have a key; else those without one act for the service's own tenant.
        allowed_hosts: host names that requests may use; None allows any. A service without keys restricts
            them, so that no web page reaches it through a domain that resolves to this machine.
        one_tenant: keys of one tenant only count, because the role of the service is bound to it.
    """

    needs_key: bool
    allowed_hosts: frozenset[str] | None = None
    one_tenant: bool = False

    @property
    def several_tenants(self) -> bool:
        """Whether callers may act for several tenants, which then share the slots."""
        return self.needs_key and not self.one_tenant


class KnownTenants:
    """The tenants of keys and cookies seen before, by which the queue knows the tenant of a request while its
    key is looked up.

    This grants no rights: a revoked key stays known. Their number is limited for each tenant, so that one
    tenant cannot displace others.
    """

    def __init__(self) -> None:
        self._tenants: dict[bytes, str] = {}
        self._of: dict[str, deque[bytes]] = {}

    def of(self, secret: str) -> str | None:
        """The tenant of a key or cookie; None if it is not known."""
        return self._tenants.get(_digest(secret))

    def note(self, secret: str, tenant: str) -> None:
        """Keeps the tenant of a key or cookie that was accepted."""
        digest = _digest(secret)
        if digest in self._tenants:
            return
        kept = self._of.setdefault(tenant, deque())
        if len(kept) >= MAX_KNOWN:
            self._tenants.pop(kept.popleft(), None)
        kept.append(digest)
        self._tenants[digest] = tenant


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
