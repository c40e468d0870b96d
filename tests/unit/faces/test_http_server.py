"""The socket of the service."""

from __future__ import annotations

import socket

from pgrecall.faces.http.server import listening_socket


def test_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    with listening_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
