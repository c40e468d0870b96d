"""Stands in for a process that another one is forked for. It imports as little as possible: 10 ms in all."""

import _signal
import _socket
import marshal
import posix
import sys

SIGNALS = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2)
STREAMS = (0, 1, 2)


def main() -> None:
    """Asks for the process, and is what it is until its end."""
    _, socket_path, *arguments = sys.argv
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(socket_path)
    for number in SIGNALS:
        _signal.signal(number, lambda number, _: server.send(bytes([number])))
    asked = marshal.dumps((arguments, posix.environ, posix.getcwdb()))
    # An array of C's int, which is what a message of descriptors consists of.
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in STREAMS)
    server.sendmsg([len(asked).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    while asked:
        asked = asked[server.send(asked) :]
    for number in STREAMS:  # from now on their ends are those of the process
        posix.close(number)
    said = b""
    while len(said) < 4:
        if not (part := server.recv(4)):
            posix._exit(1)
        said += part
    end(int.from_bytes(said, "big", signed=True))


def end(code: int) -> None:
    """Ends as the process did: with its exit code, or by its signal."""
    if code < 0:
        _signal.signal(-code, _signal.SIG_DFL) if -code != _signal.SIGKILL else None
        posix.kill(posix.getpid(), -code)
    posix._exit(code)


main()
