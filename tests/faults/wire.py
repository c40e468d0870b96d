"""A wire between a client and Postgres that can be cut, go dead or fall silent: a TCP proxy on this machine.

A dead wire is a real half-open connection: a filter in the kernel drops what arrives, so that nothing is
acknowledged any more, and no end says goodbye, as after a power cut or behind a router that forgot.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.waiting import PATIENCE

QUICKLY = " keepalives_idle=1 keepalives_interval=1 keepalives_count=2 tcp_user_timeout=2000"
"""For a URL: a dead wire is noticed as by default, in seconds instead of a minute."""

SO_ATTACH_FILTER = 26
DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # BPF: return 0 bytes of each packet


def deafen(end: socket.socket) -> None:
    """From now on the kernel drops every packet for this socket, acknowledging none."""
    program = ctypes.create_string_buffer(DROP_EVERYTHING)
    end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", 1, ctypes.addressof(program)))


@dataclass
class Line:
    """One connection through the wire."""

    client: socket.socket
    server: socket.socket
    flowing: threading.Event = field(default_factory=threading.Event)
    answers: bool = True

    def carry(self) -> None:
        self.flowing.set()
        for source, sink, answering in ((self.client, self.server, False), (self.server, self.client, True)):
            threading.Thread(target=self._carry, args=(source, sink, answering), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, answering: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.flowing.wait()
                if answering and not self.answers:
                    break
                sink.sendall(data)
        if self.answers or answering:
            self.hang_up()

    def hang_up(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Wire:
    """Connections to the server at ``url`` go through it, from ``url`` of its own."""

    def __init__(self, url: str) -> None:
        self._there = conninfo_to_dict(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = make_conninfo(
            url, host="127.0.0.1", port=self._listener.getsockname()[1], sslmode="disable"
        )
        self.lines: list[Line] = []
        self.accepted = threading.Semaphore(0)
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = self._reached()
                except OSError:  # there is no server at this moment
                    client.close()
                    continue
                self.lines.append(line := Line(client, server))
                line.carry()

    def _reached(self) -> socket.socket:
        host, port = str(self._there["host"]), int(str(self._there["port"]))
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def cut(self) -> None:
        """Ends every connection, as a restart of a router does; new ones can be made."""
        for line in self.lines:
            line.hang_up()

    def go_dead(self) -> None:
        """Every connection is half-open from now on; new ones can be made."""
        for line in self.lines:
            line.flowing.clear()
            deafen(line.client)
            if line.server.family == socket.AF_INET:
                deafen(line.server)

    def stall(self) -> None:
        """Nothing passes any more, though what is sent is taken."""
        for line in self.lines:
            line.flowing.clear()

    def lose_answers(self) -> None:
        """What is asked from now on reaches the server; instead of the answer the connection ends."""
        for line in self.lines:
            line.answers = False

    def close(self) -> None:
        # Closed alone, it would take one connection more, which nobody ends.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listening.join(PATIENCE)
        self._listener.close()
        for line in self.lines:
            line.answers = True
            line.flowing.set()
            line.hang_up()
            line.client.close()
            line.server.close()


@contextmanager
def wire(url: str) -> Iterator[Wire]:
    """A wire to this server, torn down at the end."""
    made = Wire(url)
    try:
        yield made
    finally:
        made.close()
