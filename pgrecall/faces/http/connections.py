"""Connections of clients, before and after they have shown a key, so that nobody uses up all of them.

A process can have only so many open files. Each connection takes one, also of a client without a key. So
there may be few that wait for a request and have had none with a key. One more displaces another, that of the
address which has the most: nobody is kept out by old connections that do nothing.
"""

from __future__ import annotations

import ipaddress
import resource
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from time import monotonic
from typing import Protocol

MAX_WAITING_OF_ADDRESS = 100
"""Connections of one address that wait for a request without having had one with a key."""

MANY_WAITING = 500
"""Connections of all addresses together up to which that limit does not count: there is room, and a client
that opens some hundred at once may take long to send its requests if its machine is busy."""

MAX_WAITING = 1_000
"""The same of all addresses."""

GRACE_SECONDS = 3.0
"""Seconds in which a connection is not displaced by others that wait: so many clients may begin at once, and
a client on a busy machine sends its request only a second or two after it has connected."""

MAX_CONNECTIONS = 10_000
"""Connections together; fewer where the process may open fewer files."""

KEPT_FILES = 200
"""Open files that are left for Postgres, models and uploads."""

_FILES = MAX_CONNECTIONS + KEPT_FILES


class Connection(Protocol):
    """A connection of a client."""

    network: str

    @property
    def is_known(self) -> bool:
        """Whether a request of it has had a key, or needed none."""

    @property
    def has_unread(self) -> bool:
        """Whether it has sent something that this process, being busy, has not read yet."""

    def displace(self) -> None:
        """Closes it at once."""


class Connections:
    """All connections of a service.

    Args:
        limit: how many there may be together.
    """

    def __init__(self, limit: int = MAX_CONNECTIONS, clock: Callable[[], float] = monotonic) -> None:
        self.displaced = 0
        self._limit = limit
        self._clock = clock
        self._all: dict[Connection, None] = {}
        # Those without a request, with the time from which they wait, the oldest first.
        self._waiting: dict[str, dict[Connection, float]] = {}
        self._idle: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def opened(self, connection: Connection) -> None:
        """Notes a new connection; closes others where there are too many."""
        self._all[connection] = None
        self.waits(connection)
        if len(self._all) > self._limit:
            self._displace(self._least_needed())

    def waits(self, connection: Connection) -> None:
        """Notes that a connection has no request any more, or not yet."""
        if connection not in self._all:  # it was just displaced
            return
        self.works(connection)
        if connection.is_known:
            self._idle[connection] = None
            return
        own = self._waiting.setdefault(connection.network, {})
        own[connection] = self._clock()
        while (
            len(own) > MAX_WAITING_OF_ADDRESS
            and self._waiting_together() > MANY_WAITING
            and (idle := self._idle_among(own))
        ):
            self._displace(idle)
        while self._waiting_together() > MAX_WAITING and (idle := self._idle_among(self._most())):
            self._displace(idle)

    def _waiting_together(self) -> int:
        return sum(map(len, self._waiting.values()))

    def works(self, connection: Connection) -> None:
        """Notes that a request of a connection has begun."""
        self._idle.pop(connection, None)
        if (own := self._waiting.get(connection.network)) is not None:
            own.pop(connection, None)
            if not own:
                del self._waiting[connection.network]

    def closed(self, connection: Connection) -> None:
        """Notes the end of a connection."""
        self.works(connection)
        self._all.pop(connection, None)

    def _displace(self, connection: Connection) -> None:
        self.displaced += 1
        self.closed(connection)
        connection.displace()

    def _idle_among(self, waiting: Mapping[Connection, float]) -> Connection | None:
        """The one that has waited longest, if that is long enough. One whose request is there does not wait
        for its client but for this process: closed now, it would look like a broken service."""
        latest = self._clock() - GRACE_SECONDS
        old = takewhile(lambda each: waiting[each] <= latest, waiting)
        return next((each for each in old if not each.has_unread), None)

    def _least_needed(self) -> Connection:
        """One that waits, else one whose request has shown no key yet, else an idle one, else the newest."""
        if self._waiting:
            return next(iter(self._most()))
        without_key = (one for one in self._all if one not in self._idle and not one.is_known)
        return _first(without_key) or _first(self._idle) or next(reversed(self._all))

    def _most(self) -> Mapping[Connection, float]:
        return max(self._waiting.values(), key=len)


def _first(connections: Iterable[Connection]) -> Connection | None:
    return next(iter(connections), None)


def network_of(peer: object) -> str:
    """The address of a client, or the network of one that has a whole network of IPv6 to choose from."""
    host = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # a socket of this machine
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return address.packed[:8].hex()
    return str(getattr(address, "ipv4_mapped", None) or address)


def connection_limit() -> int:
    """How many connections this process may have. Raises its limit of open files as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # some systems have a lower limit than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    files = _FILES if soft == resource.RLIM_INFINITY else soft
    return max(KEPT_FILES, min(MAX_CONNECTIONS, files - KEPT_FILES)) if files > KEPT_FILES else files // 2
